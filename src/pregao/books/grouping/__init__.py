"""Rows of one instrument after the other, by kernel."""
