"""Typed arrays to Arrow: null bitmaps, decimals over their mantissas, strings from fixed bytes."""
