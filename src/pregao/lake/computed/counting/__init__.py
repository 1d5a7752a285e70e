"""Latencies counted, by kernel."""
