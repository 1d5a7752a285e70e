"""Runs of packets in sequence, by kernel."""
