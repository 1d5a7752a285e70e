"""Packets of Binary UMDF by kernel: `headers` into columns, `packets` framing and messages."""
