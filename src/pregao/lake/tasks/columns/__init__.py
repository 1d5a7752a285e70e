"""Columns of tables from rows, samples and packets of a slice."""
