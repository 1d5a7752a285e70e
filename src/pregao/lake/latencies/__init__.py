"""Latencies of packets, counted: by whoever builds a slice, or from files that were written before."""
