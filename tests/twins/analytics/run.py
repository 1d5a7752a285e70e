"""All that is computed from other tables, for whole units (system × trade date × source)."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pregao.lake.tables.catalogue import find_table
from tests.twins.analytics.auctions import auctions
from tests.twins.analytics.bars import USUAL, bars
from tests.twins.analytics.daily import MORE, daily
from tests.twins.analytics.latency import clock_skews, latency
from tests.twins.analytics.market_totals import market_totals
from tests.twins.analytics.places import only_units, ranked
from tests.twins.analytics.reconciliation import reconciliation
from tests.twins.analytics.trades_clean import changed_late, trades_clean

Unit = tuple[str, date, str]
INPUTS: Final = (
    "trades", "statistics", "states", "imbalances", "executions", "instruments", "packets", "quality"
)  # fmt: skip
_STALE: Final = ("STALE_SPAN", "HEAL")


class Tables(dict[str, DataFrame]):
    """Frames by table."""

    def __init__(self, kept: Sequence[DataFrame], made: Mapping[str, DataFrame]) -> None:
        super().__init__(made)
        self._kept = kept

    def release(self) -> None:
        """Nothing is read from these frames any more."""
        for frame in self._kept:
            frame.unpersist()


def run(
    frames: Mapping[str, DataFrame],
    *,
    units: Sequence[Unit] | None = None,
    intervals: Sequence[int] = USUAL,
    build_id: str = "",
) -> Tables:
    """The tables of `units` (all that `frames` hold without any), lazily.

    `frames` are those of INPUTS of these units, a missing one counts as empty; `trades` must also hold
    the rows of other dates that speak of these (`of_date`). What comes back under `quality` are the rows
    of reconciliation alone. Clean trades and days are kept by Spark, because others are made of them:
    `release` what comes back when all is written."""
    spark = _session(frames)
    given = {name: frames[name] if name in frames else _empty(spark, name) for name in INPUTS}
    inside = {name: only_units(frame, units) for name, frame in given.items() if name != "trades"}
    clean = _kept(ranked(only_units(trades_clean(given["trades"], build_id), units)))
    stale = inside["quality"].where(F.col("finding").isin(*_STALE) & F.col("security_id").isNotNull())
    days = _kept(daily(clean, inside["statistics"], inside["instruments"], given["trades"], stale, build_id))
    minutes = latency(inside["packets"], build_id)
    return Tables((clean, days), {
        "trades_clean": clean.drop("rank"),
        "bars": bars(clean, intervals, build_id),
        "daily": days.drop(*MORE),
        "market_totals": market_totals(clean, inside["instruments"], build_id),
        "auctions": auctions(
            inside["states"], inside["instruments"], inside["statistics"], inside["imbalances"],
            inside["executions"], clean, build_id,
        ),
        "latency": minutes,
        "quality": reconciliation(days, changed_late(given["trades"]), build_id).unionByName(
            clock_skews(minutes, build_id)
        ),
    })  # fmt: skip


def _kept(frame: DataFrame) -> DataFrame:
    """Persisted as it is: trying out compressions of forty columns took longer than making them."""
    settings, name = frame.sparkSession.conf, "spark.sql.inMemoryColumnarStorage.compressed"
    before = settings.get(name)
    settings.set(name, "false")
    try:
        return frame.persist()
    finally:
        settings.set(name, str(before))


def _session(frames: Mapping[str, DataFrame]) -> SparkSession:
    return next(iter(frames.values())).sparkSession


def _empty(spark: SparkSession, name: str) -> DataFrame:
    return spark.createDataFrame([], find_table(name).spark_ddl)
