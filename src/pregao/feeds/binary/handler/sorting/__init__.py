"""Which packets of a batch are whose."""
