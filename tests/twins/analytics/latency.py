"""Latency per minute, channel and feed, from packets of the incremental stream, one by one.

- event to send: from the time of the packet's first event to its sendingTime.
- send to receive: from sendingTime to capture.
- behind the other feed: capture time here less capture time there, of packets that came on both.
- skew: the shortest way on this feed less the shortest on the other, of packets that came on both.

Percentiles are by nearest rank, of values cut to their first ten bits, or to 1,024 ns if that is finer.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.places import UNIT, conform

MINUTE_NS = 60_000_000_000
FIGURES = [
    f"{way}_{share}"
    for way in ("event_to_send", "send_to_receive", "behind_other_feed")
    for share in ("p50", "p99", "max")
]
COLUMNS = (
    "system string, trade_date date, source string, channel int, ts_minute bigint, feed string,"
    " packets bigint, skew bigint, quality int,"
    " seq_version int, seq_num bigint, ts_send bigint, ts_event bigint, ts_recv_a bigint, ts_recv_b bigint,"
    f" ts_event_kind string, {', '.join(f'{name} bigint' for name in FIGURES)}"
)


def latency(packets: DataFrame, build_id: str = "") -> DataFrame:
    minutes: dict[Any, list[Any]] = defaultdict(list)
    for packet in packets.collect():
        if packet.stream != "INCREMENTAL" or packet.ts_send is None:
            continue
        for feed, received in (("A", packet.ts_recv_a), ("B", packet.ts_recv_b)):
            if received is not None:
                minute = packet.ts_send - packet.ts_send % MINUTE_NS
                unit = tuple(packet[name] for name in UNIT)
                minutes[*unit, minute, feed].append(packet)
    made = [_row(key, each) for key, each in minutes.items()]
    return conform(packets.sparkSession.createDataFrame(made, COLUMNS), "latency", build_id)


def clock_skews(minutes: DataFrame, build_id: str = "") -> DataFrame:
    """A row of `quality` for each unit whose captures of A and B had clocks that differ by over 100 ms."""
    wrong = minutes.where((F.col("feed") == "B") & (F.abs("skew") > 100_000_000))
    skews = F.sort_array(F.collect_list("skew"))
    lineage = ("ts_send", "seq_version", "seq_num", "ts_event", "ts_event_kind", "ts_recv_a", "ts_recv_b")
    found = wrong.groupBy(*UNIT).agg(
        F.min("ts_minute").alias("ts_from"),
        (F.max("ts_minute") + MINUTE_NS).alias("ts_to"),
        F.count(F.lit(1)).alias("count"),
        F.get(skews, F.floor((F.count(F.lit(1)) - 1) / 2).cast("int")).cast("string").alias("found"),
        F.max(F.struct(*lineage)).alias("last"),
    )
    words = {
        "finding": "CLOCK_SKEW", "severity": "WARNING", "feed": "B", "stream": "INCREMENTAL", "expected": "0",
        "detail": "ns that the clock of B's capture is ahead of A's, by minutes",
    }  # fmt: skip
    rows = found.select(
        "*",
        *(F.col(f"last.{name}").alias(name) for name in lineage),
        *(F.lit(text).alias(name) for name, text in words.items()),
    )
    return conform(rows, "quality", build_id)


def _row(key: Any, packets: list[Any]) -> dict[str, Any]:
    mine, other = ("ts_recv_a", "ts_recv_b") if key[-1] == "A" else ("ts_recv_b", "ts_recv_a")
    both = [packet for packet in packets if packet[other] is not None]
    ways = [
        [packet.ts_send - _event(packet) for packet in packets if _event(packet) is not None],
        [packet[mine] - packet.ts_send for packet in packets],
        [packet[mine] - packet[other] for packet in both],
    ]
    skew = min(packet[mine] - packet.ts_send for packet in both) if both else None
    if both:
        skew -= min(packet[other] - packet.ts_send for packet in both)
    last = max(packets, key=lambda packet: (packet.ts_send, packet.seq_version, packet.seq_num))
    quality = 0
    for packet in packets:
        quality |= packet.quality
    return {
        **dict(zip((*UNIT, "ts_minute", "feed"), key, strict=True)),
        "packets": len(packets), "skew": skew, "quality": quality, "ts_event": _event(last),
        **{name: last[name] for name in ("seq_version", "seq_num", "ts_send", "ts_recv_a", "ts_recv_b")},
        "ts_event_kind": "TRANSACT",
        **dict(zip(FIGURES, [figure for way in ways for figure in _figures(way)], strict=True)),
    }  # fmt: skip


def _event(packet: Any) -> int | None:
    """When it happened, where the packet says so: a heartbeat has only the time it was sent."""
    return packet.ts_event if packet.ts_event_kind in ("ENTRY", "TRANSACT") else None


def _figures(values: Sequence[int]) -> list[int | None]:
    """p50, p99 and the greatest."""
    if not values:
        return [None, None, None]
    cut = sorted(map(_cut, values))
    ranks = [-(-percent * len(cut) // 100) for percent in (50, 99)]
    return [*(cut[rank - 1] for rank in ranks), max(values)]


def _cut(value: int) -> int:
    dropped = min(max(abs(value).bit_length() - 10, 0), 10)
    return value >> dropped << dropped
