"""Kernels of PUMA Conflated: columns of FIX messages to rows."""
