"""Bars of any length. Prices are of trades that set the price, in the order of the stream; volume, amount
and VWAP count every trade, also crosses, legs and those out of sequence (13.8, 17). An interval without
trades has no bar; one whose trades set no price has volume and no prices."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.places import (
    INSTRUMENT,
    all_doubts,
    conform,
    lineage_by_rank,
    ranked,
    with_lineage,
)

SECOND_NS: Final = 1_000_000_000
MINUTE_NS: Final = 60 * SECOND_NS
DAY_NS: Final = 86_400 * SECOND_NS
USUAL: Final = (SECOND_NS, MINUTE_NS, DAY_NS)


def bars(trades_clean: DataFrame, intervals: Sequence[int] = USUAL, build_id: str = "") -> DataFrame:
    """`intervals` in nanoseconds. A bar starts at a multiple of its length since 1970; the bar of a day at
    00:00 UTC of its trade date, whatever the hours."""
    lengths = F.explode(F.array(*(F.lit(interval).cast("bigint") for interval in dict.fromkeys(intervals))))
    rows = ranked(trades_clean).select("*", lengths.alias("interval")).withColumn("ts_start", _start())
    made = rows.groupBy(*INSTRUMENT, "interval", "ts_start").agg(
        *price_figures(),
        *volume_figures(),
        F.count(F.when(F.col("in_volume") & F.col("auction"), F.lit(1))).alias("auction_trades"),
        F.max_by("phase", "rank").alias("phase"),
        F.max_by("state", "rank").alias("state"),
        lineage_by_rank(),
        all_doubts(),
    )
    made = made.withColumns({"close": F.col("last"), "vwap": average()})
    return conform(with_lineage(made), "bars", build_id)


def _start() -> Column:
    date_ns = F.unix_date("trade_date").cast("bigint") * F.lit(DAY_NS)
    return F.when(F.col("interval") == DAY_NS, date_ns).otherwise(
        F.col("ts_event") - F.pmod(F.col("ts_event"), F.col("interval"))
    )


def price_figures() -> list[Column]:
    """open, high, low and last of a group of clean, ranked trades."""
    sets = F.col("sets_price")
    rank = F.when(sets, F.col("rank"))
    return [
        F.min_by("price", rank).alias("open"),
        F.max(F.when(sets, F.col("price"))).alias("high"),
        F.min(F.when(sets, F.col("price"))).alias("low"),
        F.max_by("price", rank).alias("last"),
    ]


def volume_figures() -> list[Column]:
    """volume, amount and trades of a group of clean trades."""
    counts = F.col("in_volume")
    amount = F.col("price") * F.col("size").cast("decimal(19,0)")
    return [
        F.sum(F.when(counts, F.col("size"))).alias("volume"),
        F.sum(F.when(counts, amount)).cast("decimal(38,4)").alias("amount"),
        F.count(F.when(counts, F.lit(1))).alias("trades"),
    ]


def average() -> Column:
    """amount / volume to eight places. The types are such that Spark keeps fourteen before it rounds; a
    price that no table can hold is null instead of the end of a build."""
    volume = F.nullif(F.col("volume"), F.lit(0)).cast("decimal(18,0)")
    return (F.col("amount").try_cast("decimal(28,4)") / volume).try_cast("decimal(18,8)")
