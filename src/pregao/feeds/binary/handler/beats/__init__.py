"""Runs of heartbeats, by kernel."""
