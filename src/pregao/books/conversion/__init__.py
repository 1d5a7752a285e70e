"""A side put in its other order, by kernel."""
