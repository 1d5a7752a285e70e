"""Pregão: B3 market data from the wire to books and tables."""

__version__ = "0.1.0"
