"""Where the exchange's events end, for the live benchmark.

A market tells an event of the exchange when it is whole (4.2). Some are spread over many packets, and a row
of the first of them can be told no sooner than the last one is there. So the wait of an event of the library
has two parts: from its own packet to the one that ends the exchange's event, which is the exchange's, and
from there to the user's loop, which is ours.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.reading.rows import RowReader
from pregao.market.making import ALWAYS
from pregao.model.rows import FIRST_SPECIAL, Flag, Rows

from .live_day import LiveDay

ROW, QUOTE, OTHER = 0, 1, 2  # what an event of the library was made of
Array = np.ndarray
_PIECE: Final = 4_096
_TOLD: Final = np.array(sorted(map(int, ALWAYS)), np.uint8)


def event_ends(day: LiveDay) -> dict[int, list[int]]:
    """Of every packet, `channel << 32 | number`, whose rows become events: the packet that ends the
    exchange's event, for each of these rows in order."""
    ends: dict[int, list[int]] = {}
    for channel in day.channels:
        kinds, releases, keys = (np.concatenate(each) for each in zip(*_read(day, channel), strict=True))
        released = np.flatnonzero(releases)
        told = np.flatnonzero(np.isin(kinds, _TOLD))
        by = np.searchsorted(released, told)
        told, by = told[by < len(released)], by[by < len(released)]  # the last event may have no end
        for key, end in zip(keys[told].tolist(), keys[released[by]].tolist(), strict=True):
            ends.setdefault(key, []).append(end)
    return ends


def _read(day: LiveDay, channel: int) -> Iterator[tuple[Array, Array, Array]]:
    """Of the rows of a channel: kind, whether all before it can be told, packet."""
    reader = RowReader(load_builtin_schema())
    chosen = np.flatnonzero(day.incremental & (day.channel == channel))
    numbers = day.data[day.offset[chosen, None] + np.arange(4, 8)].view("<u4")[:, 0].astype(np.int64)
    for first in range(0, len(chosen), _PIECE):
        some, at = chosen[first : first + _PIECE], numbers[first : first + _PIECE]
        reading = reader.read(
            day.data.ctypes.data, np.ascontiguousarray(day.offset[some]),
            np.ascontiguousarray(day.length[some]), np.ascontiguousarray(at), np.zeros(len(some), np.uint16),
        )  # fmt: skip
        while True:
            yield _of_rows(reading.rows, channel)
            if reading.whole:
                break
            reading = reader.go_on()


def _of_rows(rows: Rows, channel: int) -> tuple[Array, Array, Array]:
    kinds = rows["kind"].copy()
    releases = (rows["flags"] & int(Flag.END_OF_EVENT) != 0) | (kinds >= FIRST_SPECIAL)
    return kinds, releases, rows["at"] | channel << 32


def ends_of(keys: Array, made_of: Array, ends: dict[int, list[int]]) -> Array:
    """The packet that ends the exchange's event of each event heard, given the packet of each and what it was
    made of; -1 where that cannot be told. A quote has the place of the end already."""
    found = np.full(len(keys), -1, np.int64)
    found[made_of == QUOTE] = keys[made_of == QUOTE]
    by_packet: dict[int, list[int]] = {}
    for place in np.flatnonzero(made_of == ROW).tolist():
        by_packet.setdefault(int(keys[place]), []).append(place)
    for key, places in by_packet.items():
        theirs = ends.get(key, [])
        if len(theirs) == len(places):  # told by halves at the beginning or at the end of listening
            found[places] = theirs
    return found
