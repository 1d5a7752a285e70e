"""Latency per minute, channel and feed, from packets of the incremental stream.

- event to send: from the time of the packet's first event to its sendingTime; both are the exchange's
  clock.
- send to receive: from sendingTime to capture; two clocks, so only its changes mean something unless
  they are synchronised. The sendingTime is A's where A has the packet, for B too: a row of `packets` has one.
- behind the other feed: capture time here less capture time there, of packets that came on both.
- skew: the clock of this feed's capture less that of the other's, estimated as the difference of their
  shortest ways in the minute. Captures that share a clock show the difference of the ways instead.

A day has tens of millions of packets, and Spark's own exact percentiles took 100 s for one million. So
tasks count values in histograms (`histograms`), and only those are shuffled and put together.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from pregao.lake.analytics.places import UNIT, conform
from pregao.lake.computed.histograms import PACKET_COLUMNS, PARTIAL, ROWS, Minutes
from pregao.lake.tables.analytics import LATENCY


def latency(packets: DataFrame, build_id: str = "") -> DataFrame:
    told = F.col("ts_event_kind").isin("ENTRY", "TRANSACT")
    rows = packets.where((F.col("stream") == "INCREMENTAL") & F.col("ts_send").isNotNull())
    rows = rows.withColumn("ts_event", F.when(told, F.col("ts_event"))).select(*PACKET_COLUMNS)
    counted = rows.mapInArrow(_count, PARTIAL)
    made = counted.groupBy(*UNIT).applyInArrow(_put_together, ROWS)
    return conform(made.withColumn("ts_event_kind", F.lit("TRANSACT")), LATENCY, build_id)


def _count(batches: Iterator[Any]) -> Iterator[Any]:
    minutes = Minutes()
    for batch in batches:
        minutes.add(batch)
    yield from minutes.partial()


def _put_together(table: Any) -> Any:
    minutes = Minutes()
    minutes.merge(table)
    return minutes.rows()
