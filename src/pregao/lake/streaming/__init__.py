"""Captures to a lake while they grow: the same plan and tasks, a piece of the day at a time."""
