"""Latencies of a minute and feed, counted: what tasks find adds up to the same, however rows are spread.

Percentiles are by nearest rank over values cut to ten significant bits, which is below a fifth of a
percent. The least and the greatest are exact.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
_KEPT_BITS: Final = 10
_SLOTS: Final = 2 << _KEPT_BITS  # values of so many bits, and their negatives
_LAST: Final = ("ts_send", "seq_version", "seq_num", "ts_event", "ts_recv_a", "ts_recv_b")
_MOST_PIECES: Final = 32
_FAR: Final = (1 << 63) - 1

Numbers = npt.NDArray[np.int64]
Key = tuple[Any, int, int, int]  # date, channel, minute, feed


class _Minute:
    """One minute of one feed."""

    __slots__ = ("last", "most", "other_shortest", "packets", "pieces", "quality", "shortest")

    def __init__(self) -> None:
        self.pieces: list[list[tuple[Numbers, Numbers]]] = [[] for _ in WAYS]  # values and their counts
        self.most = [_NULL] * len(WAYS)
        self.packets = self.quality = 0
        self.shortest = self.other_shortest = _FAR
        self.last: tuple[int, ...] = (_NULL,)

    def count(self, way: int, values: Numbers) -> None:
        if len(values):
            self.most[way] = max(self.most[way], int(values.max()))
            self.add(way, *counted(values))

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


class Minutes:
    def __init__(self) -> None:
        self._minutes: dict[Key, _Minute] = {}

    def add(self, batch: Any) -> None:
        """A record batch of PACKET_COLUMNS."""
        columns = {name: _plain(batch.column(name)) for name in PACKET_COLUMNS[2:]}
        dates, channels = batch.column("trade_date"), _plain(batch.column("channel"))
        minutes = columns["ts_send"] // _MINUTE_NS
        days = _plain(dates.cast(pa.int32()))
        keys = np.stack((days, channels, minutes))
        # Packets of a minute stand together, so the edges between them are few.
        edges = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
        for start, stop in zip([0, *edges], [*edges, len(minutes)], strict=True):
            if stop > start:
                part = {name: column[start:stop] for name, column in columns.items()}
                key = dates[int(start)].as_py(), int(channels[start]), int(minutes[start]) * _MINUTE_NS
                for feed in range(len(FEEDS)):
                    self._add(key, feed, part)

    def _add(self, key: tuple[Any, int, int], feed: int, part: dict[str, Numbers]) -> None:
        received, other = part["ts_recv_a"], part["ts_recv_b"]
        if feed:
            received, other = other, received
        came = received != _NULL
        if not came.any():
            return
        sent, event = part["ts_send"][came], part["ts_event"][came]
        received, other = received[came], other[came]
        minute = self._minutes.setdefault((*key, feed), _Minute())
        both, told = other != _NULL, event != _NULL
        minute.count(0, (sent - event)[told])
        minute.count(1, received - sent)
        minute.count(2, (received - other)[both])
        minute.packets += len(sent)
        minute.quality |= int(np.bitwise_or.reduce(part["quality"][came]))
        if both.any():
            minute.shortest = min(minute.shortest, int((received - sent)[both].min()))
            minute.other_shortest = min(minute.other_shortest, int((other - sent)[both].min()))
        last = _last({name: column[came] for name, column in part.items()})
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


def counted(values: Numbers) -> tuple[Numbers, Numbers]:
    """Their first ten bits, each once, with its count: a minute has hundreds of different values then, not
    millions. Counted in a slot for each of them that can be, which is faster than sorting."""
    bits = np.frexp(np.abs(values).astype(np.float64))[1].astype(np.int64)
    dropped = np.maximum(bits - _KEPT_BITS, 0)
    counts = np.bincount(dropped * _SLOTS + (values >> dropped) + _SLOTS // 2)
    slots = np.flatnonzero(counts)
    return slots % _SLOTS - _SLOTS // 2 << slots // _SLOTS, counts[slots]


def _last(part: dict[str, Numbers]) -> tuple[int, ...]:
    """Of the packet that was sent last."""
    chosen = np.arange(len(part["ts_send"]))
    for name in _LAST[:3]:
        column = part[name][chosen]
        chosen = chosen[column == column.max()]
    return tuple(int(part[name][chosen[-1]]) for name in _LAST)


def _plain(column: Any) -> Numbers:
    filled = column.cast(pa.int64()).fill_null(_NULL)
    made: Numbers = filled.to_numpy(zero_copy_only=False)
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
    skew = None if minute.shortest == _FAR else minute.shortest - minute.other_shortest
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
