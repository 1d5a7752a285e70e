"""A block to a row: only the kernel is here."""
