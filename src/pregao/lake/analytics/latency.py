"""Latency per minute, channel and feed, from packets of the incremental stream.

- event to send: from the time of the packet's first event to its sendingTime; both are the exchange's
  clock and the same for both feeds.
- send to receive: from sendingTime to capture; two clocks, so only its changes mean something unless
  they are synchronised.
- behind the other feed: capture time here less capture time there, of packets that came on both.
- skew: the clock of this feed's capture less that of the other's, estimated as the difference of their
  shortest ways in the minute. Captures that share a clock show the difference of the ways instead.

Percentiles are exact over values of ten significant bits: their error is below a thousandth, and the
result does not depend on how the rows were spread over tasks.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from pregao.lake.analytics.bars import MINUTE_NS
from pregao.lake.analytics.places import UNIT, all_doubts, conform, last_lineage, with_lineage
from pregao.lake.tables.analytics import LATENCY

_SHARES: Final = (("p50", 0.5), ("p99", 0.99))
_KEPT_BITS: Final = 10
_FEEDS: Final = (("A", "ts_recv_a", "ts_recv_b"), ("B", "ts_recv_b", "ts_recv_a"))


def latency(packets: DataFrame, build_id: str = "") -> DataFrame:
    rows = packets.where((F.col("stream") == "INCREMENTAL") & F.col("ts_send").isNotNull())
    each = F.explode(F.array(*(_of_feed(*feed) for feed in _FEEDS)))
    minute = F.col("ts_send") - F.pmod(F.col("ts_send"), F.lit(MINUTE_NS))
    told = F.when(F.col("ts_event_kind").isin("ENTRY", "TRANSACT"), F.col("ts_send") - F.col("ts_event"))
    rows = rows.withColumns({"ts_minute": minute, "event_to_send": told}).select("*", each.alias("of"))
    rows = rows.where(F.col("of.received").isNotNull()).select("*", "of.*")
    rows = rows.withColumns(
        {
            "send_to_receive": F.col("received") - F.col("ts_send"),
            "behind_other_feed": F.col("received") - F.col("other"),
            "way": F.when(F.col("other").isNotNull(), F.col("received") - F.col("ts_send")),
            "other_way": F.col("other") - F.col("ts_send"),
        }
    )
    made = rows.groupBy(*UNIT, "ts_minute", "feed").agg(
        F.count(F.lit(1)).alias("packets"),
        *_figures("event_to_send"), *_figures("send_to_receive"), *_figures("behind_other_feed"),
        (F.min("way") - F.min("other_way")).alias("skew"),
        last_lineage(),
        all_doubts(),
    )  # fmt: skip
    return conform(with_lineage(made), LATENCY, build_id)


def _of_feed(feed: str, received: str, other: str) -> Column:
    return F.struct(
        F.lit(feed).alias("feed"), F.col(received).alias("received"), F.col(other).alias("other")
    )


def _figures(what: str) -> list[Column]:
    shares = [F.round(F.percentile(_coarse(what), F.lit(share))).cast("bigint") for _, share in _SHARES]
    names = [f"{what}_{name}" for name, _ in _SHARES]
    return [
        *(column.alias(name) for column, name in zip(shares, names, strict=True)),
        F.max(what).alias(f"{what}_max"),
    ]


def _coarse(name: str) -> Column:
    """The first ten bits of a number: a minute has thousands of different values then, not millions."""
    value = F.abs(F.col(name))
    dropped = F.greatest(F.floor(F.log2(F.greatest(value, F.lit(1)))) - (_KEPT_BITS - 1), F.lit(0))
    unit = F.pow(F.lit(2.0), dropped).cast("bigint")
    return F.col(name) - F.pmod(F.col(name), unit)
