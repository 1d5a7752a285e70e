"""Latencies of a minute and feed, counted: what tasks find adds up to the same, however rows are spread.

Percentiles are by nearest rank over values cut to ten significant bits, which is below a fifth of a
percent, and never by more than a microsecond: where clocks differ by seconds, ten bits of a latency would say
nothing of the way. The least and the greatest are exact.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pregao.lake import kernels as k

WAYS: Final = ("event_to_send", "send_to_receive", "behind_other_feed")
SHARES: Final = (("p50", 0.5), ("p99", 0.99))
FEEDS: Final = ("A", "B")
PACKET_COLUMNS: Final = (
    "trade_date", "channel", "ts_send", "ts_event", "ts_recv_a", "ts_recv_b", "seq_version", "seq_num",
    "quality",
)  # fmt: skip
PARTIAL: Final = (
    "trade_date date, channel int, ts_minute bigint, feed int, way int, values array<bigint>,"
    " counts array<bigint>, most bigint, packets bigint, shortest bigint, other_shortest bigint,"
    " quality int, last array<bigint>"
)
_MINUTE_NS: Final = 60_000_000_000
_NULL: Final = -(1 << 63)
_LAST: Final = ("ts_send", "seq_version", "seq_num", "ts_event", "ts_recv_a", "ts_recv_b")
_MOST_PIECES: Final = 32

Numbers = npt.NDArray[np.int64]
Key = tuple[Any, int, int, int]  # date, channel, minute, feed


class _Minute:
    """One minute of one feed."""

    __slots__ = ("last", "most", "other_shortest", "packets", "pieces", "quality", "shortest")

    def __init__(self) -> None:
        self.pieces: list[list[tuple[Numbers, Numbers]]] = [[] for _ in WAYS]  # values and their counts
        self.most = [_NULL] * len(WAYS)
        self.packets = self.quality = 0
        self.shortest = self.other_shortest = k.FAR
        self.last: tuple[int, ...] = (_NULL,)

    def add(self, way: int, values: Any, counts: Any) -> None:
        mine = self.pieces[way]
        mine.append((np.asarray(values, np.int64), np.asarray(counts, np.int64)))
        if len(mine) > _MOST_PIECES:
            mine[:] = [self.histogram(way)]

    def histogram(self, way: int) -> tuple[Numbers, Numbers]:
        """Each value once, rising, with its count."""
        mine = self.pieces[way]
        if not mine:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        values, places = np.unique(np.concatenate([each for each, _ in mine]), return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate([each for _, each in mine]))
        return values, counts.astype(np.int64)

    def percentiles(self, way: int) -> list[int | None]:
        values, counts = self.histogram(way)
        if not len(values):
            return [None] * len(SHARES)
        reached = np.cumsum(counts)
        ranks = [max(int(np.ceil(share * reached[-1])), 1) for _, share in SHARES]
        return [int(values[place]) for place in np.searchsorted(reached, ranks)]


class _Counter:
    """Slots that the kernel counts in, empty between its calls."""

    def __init__(self) -> None:
        self._slots, self._used = (np.zeros((len(WAYS), k.ROOM), np.int64) for _ in range(2))
        self.figures = np.zeros(k.FIGURE_WORDS, np.int64)
        self._large = np.zeros((len(WAYS), 0), np.int64)

    def count(self, columns: dict[str, Numbers], start: int, stop: int) -> bool:
        """Whether the feed had any of these packets."""
        self.figures[:] = 0
        self.figures[k.MOST : k.MOST + len(WAYS)] = _NULL
        self._large = np.empty((len(WAYS), stop - start), np.int64)
        addresses = np.array([columns[name].ctypes.data for name in k.COLUMNS], np.int64)
        k.count_latencies(
            addresses.ctypes.data, start, stop, self._slots.ctypes.data, self._used.ctypes.data,
            self.figures.ctypes.data, self._large.ctypes.data,
        )  # fmt: skip
        return bool(self.figures[k.PACKETS])

    def taken(self, way: int) -> tuple[Numbers, Numbers]:
        """Values, rising within a number of bits, then those that have no slot, and how often each came."""
        slots = np.sort(self._used[way, : self.figures[k.USED + way]])
        counts = self._slots[way, slots]
        self._slots[way, slots] = 0
        values = slots % k.SLOTS - k.SLOTS // 2 << slots // k.SLOTS
        large = self._large[way, : self.figures[k.LARGE + way]] >> k.MOST_DROPPED << k.MOST_DROPPED
        if not len(large):
            return values, counts
        others, times = np.unique(large, return_counts=True)
        return np.concatenate([values, others]), np.concatenate([counts, times])


class Minutes:
    def __init__(self) -> None:
        self._minutes: dict[Key, _Minute] = {}
        self._counter = _Counter()

    def add(self, batch: Any) -> None:
        """A record batch of PACKET_COLUMNS."""
        columns = {name: _plain(batch.column(name)) for name in PACKET_COLUMNS[2:]}
        dates, channels = batch.column("trade_date"), _plain(batch.column("channel"))
        for start, stop in _runs(_plain(dates.cast(pa.int32())), channels):
            part = {name: column[start:stop] for name, column in columns.items()}
            self.add_packets(dates[start].as_py(), int(channels[start]), part)

    def add_packets(self, trade_date: Any, channel: int, columns: dict[str, Numbers]) -> None:
        """Of one unit, as numbers of 64 bits by column."""
        minutes = columns["ts_send"] // _MINUTE_NS
        # Packets of a minute stand together, so the edges between them are few.
        for start, stop in _runs(minutes):
            for feed, (mine, other) in enumerate((("a", "b"), ("b", "a"))):
                given = {
                    **columns, "received": columns[f"ts_recv_{mine}"], "other": columns[f"ts_recv_{other}"]
                }  # fmt: skip
                if self._counter.count(given, start, stop):
                    key = trade_date, channel, int(minutes[start]) * _MINUTE_NS, feed
                    self._take(self._minutes.setdefault(key, _Minute()), columns)

    def _take(self, minute: _Minute, columns: dict[str, Numbers]) -> None:
        figures = self._counter.figures.tolist()
        for way in range(len(WAYS)):
            minute.most[way] = max(minute.most[way], figures[k.MOST + way])
            minute.add(way, *self._counter.taken(way))
        minute.packets += figures[k.PACKETS]
        minute.quality |= figures[k.QUALITY]
        minute.shortest = min(minute.shortest, figures[k.SHORTEST])
        minute.other_shortest = min(minute.other_shortest, figures[k.OTHER_SHORTEST])
        last = tuple(int(columns[name][figures[k.LAST]]) for name in _LAST)
        minute.last = max(minute.last, last)

    def partial(self) -> Iterator[Any]:
        """What another `Minutes` merges, as record batches of PARTIAL."""
        rows = [row for key, minute in self._minutes.items() for row in _partial(key, minute)]
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=_PARTIAL_SCHEMA)

    def merge(self, table: Any) -> None:
        lists = [table.column(name).combine_chunks() for name in ("values", "counts")]
        names = [name for name in table.column_names if name not in ("values", "counts")]
        for place, row in enumerate(table.select(names).to_pylist()):
            key = row["trade_date"], row["channel"], row["ts_minute"], row["feed"]
            minute = self._minutes.setdefault(key, _Minute())
            way = row["way"]
            minute.add(way, *(column[place].values.to_numpy() for column in lists))
            minute.most[way] = max(minute.most[way], row["most"])
            minute.packets += row["packets"]
            minute.quality |= row["quality"]
            minute.shortest = min(minute.shortest, row["shortest"])
            minute.other_shortest = min(minute.other_shortest, row["other_shortest"])
            minute.last = max(minute.last, tuple(row["last"]))

    def rows(self) -> Any:
        """Rows of the table `latency`, but for what is the same in all of them."""
        return pa.Table.from_pylist([_row(*each) for each in sorted(self._minutes.items())], schema=_ROWS)


def _runs(*columns: Numbers) -> list[tuple[int, int]]:
    """Rows that have the same in all columns, as they stand together."""
    count = len(columns[0])
    edges = np.flatnonzero(np.any([column[1:] != column[:-1] for column in columns], axis=0)) + 1
    bounds = [0, *edges.tolist(), count]
    return [(start, stop) for start, stop in pairwise(bounds) if stop > start]


def _plain(column: Any) -> Numbers:
    filled = column.cast(pa.int64()).fill_null(_NULL)
    made: Numbers = np.ascontiguousarray(filled.to_numpy(zero_copy_only=False))
    return made


def _partial(key: Key, minute: _Minute) -> Iterator[dict[str, Any]]:
    """A row a way; what is not of a way stands in the first."""
    for way in range(len(WAYS)):
        (values, counts), first = minute.histogram(way), way == 0
        yield {
            "trade_date": key[0], "channel": key[1], "ts_minute": key[2], "feed": key[3], "way": way,
            "values": values, "counts": counts, "most": minute.most[way],
            "packets": minute.packets if first else 0, "quality": minute.quality,
            "shortest": minute.shortest, "other_shortest": minute.other_shortest, "last": list(minute.last),
        }  # fmt: skip


def _row(key: Key, minute: _Minute) -> dict[str, Any]:
    figures: dict[str, int | None] = {}
    for way, name in enumerate(WAYS):
        found = minute.percentiles(way)
        figures |= {f"{name}_{text}": value for (text, _), value in zip(SHARES, found, strict=True)}
        figures[f"{name}_max"] = None if minute.most[way] == _NULL else minute.most[way]
    skew = None if minute.shortest == k.FAR else minute.shortest - minute.other_shortest
    last = {name: None if value == _NULL else value for name, value in zip(_LAST, minute.last, strict=True)}
    return {
        "trade_date": key[0], "channel": key[1], "ts_minute": key[2], "feed": FEEDS[key[3]],
        "packets": minute.packets, **figures, "skew": skew, "quality": minute.quality, **last,
    }  # fmt: skip


def _schema(**types: Any) -> Any:
    return pa.schema(list(types.items()))


_LONGS: Final = pa.list_(pa.int64())
_PARTIAL_SCHEMA: Final = _schema(
    trade_date=pa.date32(), channel=pa.int32(), ts_minute=pa.int64(), feed=pa.int32(), way=pa.int32(),
    values=_LONGS, counts=_LONGS, most=pa.int64(), packets=pa.int64(), shortest=pa.int64(),
    other_shortest=pa.int64(), quality=pa.int32(), last=_LONGS,
)  # fmt: skip
_ROWS: Final = _schema(
    trade_date=pa.date32(), channel=pa.int32(), ts_minute=pa.int64(), feed=pa.string(), packets=pa.int64(),
    **{f"{way}_{text}": pa.int64() for way in WAYS for text in ("p50", "p99", "max")},
    skew=pa.int64(), quality=pa.int32(),
    **{name: pa.int32() if name == "seq_version" else pa.int64() for name in _LAST},
)  # fmt: skip
_SPARK: Final = {"date32[day]": "date", "int32": "int", "int64": "bigint", "string": "string"}
ROWS: Final = ", ".join(f"{field.name} {_SPARK[str(field.type)]}" for field in _ROWS)
