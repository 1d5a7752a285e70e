"""Batches of packets by kernel: sorted by source, rows applied to books."""
