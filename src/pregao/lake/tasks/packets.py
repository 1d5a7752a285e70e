"""Packets of a slice as a table, and how long they took."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np

from pregao.lake.latency_histograms import Minutes
from pregao.lake.slices.feeds import Merged
from pregao.lake.slices.kernels.merging import ABSENT, CONFLICT, LATE, SECOND
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.arrays import PART_ROWS
from pregao.lake.tables.messages import PACKETS
from pregao.lake.tables.types import ARRIVALS, STREAMS
from pregao.lake.tasks.arrays import Array, record
from pregao.lake.tasks.kernels import SEND
from pregao.lake.tasks.lineage import Lineage, whose_time
from pregao.model.rows import NULL
from pregao.model.streams import Feed

_FIRST, _DUPLICATE, _LATE, _MISSING = (
    ARRIVALS.index(word) for word in ("FIRST", "DUPLICATE", "LATE", "MISSING")
)
_INCREMENTAL: Final = STREAMS.index("INCREMENTAL")


@dataclass(slots=True)
class PacketColumns:
    """Packets of the incremental stream that the slice emits. Their event is the first that they tell of."""

    merged: Merged
    numbers: slice  # in the slice, where they stand together: columns of them are no copies
    times: Array
    kinds: Array  # whose time it is
    quality: Array

    @classmethod
    def of(cls, merged: Merged, first_rows: Array, lineage: Lineage) -> "PacketColumns":
        slice_ = lineage.slice
        first, stop = np.searchsorted(merged.place, [slice_.start, slice_.stop]).tolist()
        first = max(first, merged.carried)  # those were told with the window before
        mine = slice(first, max(first, stop))
        told_ns, told_by = (np.ascontiguousarray(column) for column in first_rows[mine].T)
        times, kinds = lineage.times(told_ns, merged.sent[mine], whose_time(told_by, lineage.transacts_from))
        quality = np.where(merged.state_a[mine] & CONFLICT, int(Quality.FEEDS_DIFFER), 0)
        return cls(merged, mine, times, kinds, quality)


def packets_tables(packets: PacketColumns, messages: Array, lineage: Lineage) -> Iterator[Any]:
    """In parts, as a slice may have millions."""
    for first in range(0, len(packets.times), PART_ROWS):
        yield _table(packets, slice(first, first + PART_ROWS), messages, lineage)


def _table(packets: PacketColumns, part: slice, messages: Array, lineage: Lineage) -> Any:
    merged, count, begin = packets.merged, len(packets.times[part]), packets.numbers.start + part.start
    mine = slice(begin, begin + count)
    columns: dict[str, Any] = {
        **lineage.moments(packets.times[part], packets.kinds[part]), **lineage.places(merged.place[mine]),
        **lineage.packets(mine), **lineage.common(count),
        "stream": np.full(count, _INCREMENTAL, np.int8), "size": merged.length[mine],
        "messages": messages[mine], "quality": packets.quality[part],
    }  # fmt: skip
    for feed, states, copies in (
        (Feed.A, merged.state_a, merged.copies_a), (Feed.B, merged.state_b, merged.copies_b)
    ):  # fmt: skip
        if feed in lineage.slice.feeds:  # of a feed that nobody captured nothing is missing: it is null
            columns[f"state_{feed.name.lower()}"] = _arrivals(states[mine])
            columns[f"copies_{feed.name.lower()}"] = copies[mine]
    return record(PACKETS, columns, count)


def count_latencies(packets: PacketColumns, lineage: Lineage) -> list[Any]:
    """As `computed.latency` counts those of files."""
    events = np.where(packets.kinds == SEND, NULL, packets.times)
    columns = {
        **lineage.packets(packets.numbers), "ts_event": events,
        **lineage.places(packets.merged.place[packets.numbers]), "quality": packets.quality,
    }  # fmt: skip
    minutes = Minutes()
    if len(events):
        day = date.fromisoformat(lineage.slice.trade_date)
        wide = {name: np.ascontiguousarray(column, np.int64) for name, column in columns.items()}
        minutes.add_packets(day, lineage.slice.channel, wide)
    return list(minutes.partial())


def _arrivals(states: Array) -> Array:
    found = np.full(len(states), _FIRST, np.int8)
    found[states & SECOND != 0] = _DUPLICATE
    found[states & LATE != 0] = _LATE
    found[states & ABSENT != 0] = _MISSING
    return found
