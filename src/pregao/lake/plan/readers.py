"""Readers of this process: to make one takes a quarter of a second, so tasks share them.

A reader's rows are its own memory, so each use that may go on beside another has one for itself. It is of no
channel: whoever reads definitions says whose they are."""

from functools import lru_cache
from typing import Final

from pregao.feeds.port import Header, UnitReader
from pregao.feeds.registry import DEFAULT, load_system

_NO_CHANNEL: Final = 0


@lru_cache(maxsize=16)
def row_reader(use: str, system: str = DEFAULT) -> UnitReader:
    return load_system(system).reader(_NO_CHANNEL)


@lru_cache(maxsize=4)
def unit_headers(system: str = DEFAULT) -> Header:
    """Its units are to be done with before the next are read."""
    return load_system(system).headers(heartbeats=False)
