"""Orders of a side by price and id, by kernel."""
