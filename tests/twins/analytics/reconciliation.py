"""Where our figures of a day differ from what B3 told: a row of `quality` for each figure.

A difference is an ERROR when nothing was missing, a WARNING when the instrument was stale for a while
(trades may be lost), and an INFO when the trade was changed on a later date, which B3's figures of the
day cannot know (13.4)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.daily import COMPARED, differs, ours_of
from tests.twins.analytics.places import DOUBTS, INSTRUMENT, LINEAGE, UNIT, bits, conform


def reconciliation(daily: DataFrame, late: DataFrame | None = None, build_id: str = "") -> DataFrame:
    """`late` names instruments (of a unit) with trades changed later."""
    rows = daily.where(~F.col("agrees"))
    if late is None:
        rows = rows.withColumn("is_late", F.lit(False))
    else:
        marks = F.broadcast(late.withColumn("is_late", F.lit(True)))
        rows = rows.join(marks, [*UNIT, "security_id"], "left")
    each = F.explode(F.filter(F.array(*(_difference(name) for name in COMPARED)), lambda one: one["wrong"]))
    made = rows.select("*", each.alias("difference")).select(
        *INSTRUMENT, *LINEAGE, "quality",
        F.lit("STATISTIC_DIFFERS").alias("finding"),
        _severity().alias("severity"),
        F.lit("INCREMENTAL").alias("stream"),
        F.col("difference.expected").alias("expected"),
        F.col("difference.found").alias("found"),
        F.concat("difference.name", _reason()).alias("detail"),
    )  # fmt: skip
    return conform(made, "quality", build_id)


def _difference(name: str) -> Column:
    return F.struct(
        F.lit(name).alias("name"),
        F.coalesce(differs(name), F.lit(False)).alias("wrong"),
        F.col(f"their_{name}").cast("string").alias("expected"),
        F.col(ours_of(name)).cast("string").alias("found"),
    )


def _is_late() -> Column:
    return F.coalesce(F.col("is_late"), F.lit(False))


def _severity() -> Column:
    return F.when(_is_late(), "INFO").when(bits("doubts", DOUBTS), "WARNING").otherwise("ERROR")


def _reason() -> Column:
    return (
        F.when(_is_late(), ": a trade was busted or amended on a later date")
        .when(bits("doubts", DOUBTS), ": messages are missing")
        .when(F.col("is_begun") & _is_count(), ": from the first totals on")
        .otherwise("")
    )


def _is_count() -> Column:
    return F.col("difference.name").isin("volume", "trades")
