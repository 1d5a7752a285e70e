"""Price levels of a side, by kernel."""
