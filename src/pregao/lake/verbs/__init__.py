"""Looking into a lake and after it: what the commands of the same names do."""
