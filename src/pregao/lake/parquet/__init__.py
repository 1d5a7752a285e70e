"""Parquet files of flat tables, written from memory by our own kernels."""
