"""Slow, obvious second implementations that the tests hold the real ones against."""
