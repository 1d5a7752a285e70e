"""Slices by kernel: feeds merged, snapshots read, rows applied to books, quotes and depth sampled."""
