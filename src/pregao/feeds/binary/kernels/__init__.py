"""Packets of Binary UMDF by kernel: `headers` and `packets` to columns, `rows` and `row_filling` to rows."""
