"""Captures to a plan: what is in each file, which units there are, where they can be cut."""
