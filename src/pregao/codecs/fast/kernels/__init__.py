"""The numba half of the FAST decoder."""
