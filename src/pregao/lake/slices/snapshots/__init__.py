"""Snapshots compared with books by kernel."""
