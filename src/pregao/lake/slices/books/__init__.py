"""Rows of a slice onto its books."""
