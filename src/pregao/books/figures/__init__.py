"""Statistics as the rows that told them, by kernel."""
