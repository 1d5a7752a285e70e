"""The lake built the plainest way: packets, slices and rows one by one, in Python."""
