"""Orders of a side by position, by kernel."""
