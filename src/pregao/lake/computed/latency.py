"""Latency per minute, channel and feed, from packets of the incremental stream.

- event to send: from the time of the packet's first event to its sendingTime; both are the exchange's
  clock.
- send to receive: from sendingTime to capture; two clocks, so only its changes mean something unless
  they are synchronised.
- behind the other feed: capture time here less capture time there, of packets that came on both.
- skew: the clock of this feed's capture less that of the other's, estimated as the difference of their
  shortest ways in the minute. Captures that share a clock show the difference of the ways instead.

Clocks that differ by more than a tenth of a second, which no way does, are a finding of `quality`.

Tasks count values in histograms (`lake.latency_histograms`), and only those are put together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pregao.lake.latency_histograms import PACKET_COLUMNS, Minutes
from pregao.lake.reading.arrow import dataset, naming_damage
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.messages import PACKETS
from pregao.lake.tables.table import UnitKey

_EVENT_KINDS: Final = pa.array(["ENTRY", "TRANSACT"])
_BATCH_ROWS: Final = 1 << 17
_GROUP_ROWS: Final = 1_000_000
_MINUTE_NS: Final = 60_000_000_000
_MOST_SKEW_NS: Final = 100_000_000
_OF_PACKET: Final = (
    "ts_send", "seq_version", "seq_num", "ts_event", "ts_event_kind", "ts_recv_a", "ts_recv_b"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PacketFiles:
    key: UnitKey
    files: list[LiveFile]


def count_packets(packets: PacketFiles, location: Location) -> list[Any]:
    """Histograms of their minutes, as record batches that `Minutes` merges."""
    minutes, field = Minutes(), ds.field
    told = field("ts_event_kind").isin(_EVENT_KINDS)
    wanted = {name: field(name) for name in PACKET_COLUMNS}
    wanted["ts_event"] = pc.if_else(told, field("ts_event"), pa.scalar(None, pa.int64()))
    with naming_damage(location, {PACKETS.name: packets.files}):
        batches = dataset(location, PACKETS, packets.files).to_batches(
            columns=wanted, batch_size=_BATCH_ROWS, use_threads=False,
            filter=(field("stream") == "INCREMENTAL") & field("ts_send").is_valid(),
        )  # fmt: skip
        for batch in batches:
            minutes.add(batch)
    return list(minutes.partial())


def packet_groups(key: UnitKey, files: Sequence[LiveFile]) -> list[PacketFiles]:
    """Files that one task counts: a streamed day has many small ones."""
    groups: list[list[LiveFile]] = []
    rows = _GROUP_ROWS
    for file in files:
        if rows >= _GROUP_ROWS:
            groups.append([])
            rows = 0
        groups[-1].append(file)
        rows += file.rows
    return [PacketFiles(key, group) for group in groups]


def latencies(counted: Sequence[Any]) -> Any:
    """Rows of the table, from what all tasks of a unit counted."""
    minutes = Minutes()
    if counted:
        minutes.merge(pa.Table.from_batches(list(counted)))
    rows = minutes.rows()
    return rows.append_column("ts_event_kind", pa.repeat(pa.scalar("TRANSACT"), rows.num_rows))


def skew_findings(minutes: Any) -> Any:
    """Of rows of the table: one row, where the captures of both feeds had clocks of their own."""
    wrong = [
        row
        for row in minutes.to_pylist()
        if row["feed"] == "B" and row["skew"] is not None and abs(row["skew"]) > _MOST_SKEW_NS
    ]
    if not wrong:
        return pa.Table.from_pylist([], schema=_SKEW)
    skews, starts = sorted(row["skew"] for row in wrong), [row["ts_minute"] for row in wrong]
    last = max(wrong, key=lambda row: (row["ts_send"], row["seq_version"], row["seq_num"]))
    finding = {
        "finding": "CLOCK_SKEW", "severity": "WARNING", "feed": "B", "stream": "INCREMENTAL",
        "ts_from": min(starts), "ts_to": max(starts) + _MINUTE_NS, "count": len(wrong), "expected": "0",
        "found": str(skews[(len(skews) - 1) // 2]),
        "detail": "ns that the clock of B's capture is ahead of A's, by minutes",
        **{name: last[name] for name in _OF_PACKET},
    }  # fmt: skip
    return pa.Table.from_pylist([finding], schema=_SKEW)


_NUMBERS: Final = ("ts_from", "ts_to", "count", *(name for name in _OF_PACKET if name != "ts_event_kind"))
_TEXTS: Final = ("finding", "severity", "feed", "stream", "expected", "found", "detail", "ts_event_kind")
_SKEW: Final = pa.schema(
    [*((name, pa.int64()) for name in _NUMBERS), *((name, pa.string()) for name in _TEXTS)]
)
