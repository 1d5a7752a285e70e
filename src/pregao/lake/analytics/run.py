"""All that is computed from other tables, for whole units (trade date × channel)."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pregao.lake.analytics.auctions import auctions
from pregao.lake.analytics.bars import USUAL, bars
from pregao.lake.analytics.daily import daily
from pregao.lake.analytics.latency import latency
from pregao.lake.analytics.market_totals import market_totals
from pregao.lake.analytics.places import only_units
from pregao.lake.analytics.reconciliation import reconciliation
from pregao.lake.analytics.trades_clean import changed_late, trades_clean
from pregao.lake.reading.sparkframes import spark_schema
from pregao.lake.tables.catalogue import find_table

Unit = tuple[date, int]
INPUTS: Final = (
    "trades", "statistics", "states", "imbalances", "executions", "instruments", "packets", "quality"
)  # fmt: skip
# What changes when a trade of another date is busted or amended: all but what is read from packets.
FROM_TRADES: Final = ("trades_clean", "bars", "daily", "market_totals", "auctions", "quality")
_STALE: Final = ("STALE_SPAN", "HEAL")


def run(
    frames: Mapping[str, DataFrame],
    *,
    units: Sequence[Unit] | None = None,
    intervals: Sequence[int] = USUAL,
    build_id: str = "",
) -> dict[str, DataFrame]:
    """The tables of `units` (all that `frames` hold without any), lazily.

    `frames` are those of INPUTS of these units, a missing one counts as empty; `trades` must also hold
    the rows of other dates that speak of these (`of_date`). What comes back under `quality` are the rows
    of reconciliation alone. `trades_clean` is persisted, because most others are made of it: unpersist
    it when all is written."""
    spark = _session(frames)
    given = {name: frames[name] if name in frames else _empty(spark, name) for name in INPUTS}
    inside = {name: only_units(frame, units) for name, frame in given.items() if name != "trades"}
    clean = only_units(trades_clean(given["trades"], build_id), units).persist()
    stale = inside["quality"].where(F.col("finding").isin(*_STALE) & F.col("security_id").isNotNull())
    days = daily(clean, inside["statistics"], stale, build_id)
    return {
        "trades_clean": clean,
        "bars": bars(clean, intervals, build_id),
        "daily": days,
        "market_totals": market_totals(clean, inside["instruments"], build_id),
        "auctions": auctions(
            inside["states"], inside["instruments"], inside["statistics"], inside["imbalances"],
            inside["executions"], clean, build_id,
        ),
        "latency": latency(inside["packets"], build_id),
        "quality": reconciliation(days, changed_late(given["trades"]), build_id),
    }  # fmt: skip


def _session(frames: Mapping[str, DataFrame]) -> SparkSession:
    return next(iter(frames.values())).sparkSession


def _empty(spark: SparkSession, name: str) -> DataFrame:
    return spark.createDataFrame([], spark_schema(find_table(name)))
