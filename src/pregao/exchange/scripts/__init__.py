"""Day scripts, as packaged files."""
