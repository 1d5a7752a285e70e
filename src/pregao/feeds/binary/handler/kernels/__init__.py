"""Batches of packets by kernel: sorted by source, heartbeats skipped, rows applied to books."""
