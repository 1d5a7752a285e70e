"""Row readers of this process: to make one takes a quarter of a second, so tasks share them.

A reader's rows are its own memory, so each use that may go on beside another has one for itself."""

from functools import lru_cache

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.reading.rows import RowReader


@lru_cache(maxsize=8)
def row_reader(use: str) -> RowReader:
    return RowReader(load_builtin_schema())
