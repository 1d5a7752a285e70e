"""Blocks of the arena, by kernel."""
