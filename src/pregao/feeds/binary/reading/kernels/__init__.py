"""Packets to rows by kernel: `packets` the framing, `filling` a block to a row."""
