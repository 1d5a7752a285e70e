"""A trading day of an instrument: our figures from clean trades, B3's beside them, and whether they agree.

Our opening price is that of the first trade that may open: no block, no sweep (13.3.3).
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from pregao.lake.tables.catalogue import find_table
from tests.twins.analytics.bars import average, price_figures, volume_figures
from tests.twins.analytics.market_totals import money_of_days
from tests.twins.analytics.places import (
    INCOMPLETE,
    INSTRUMENT,
    UNIT,
    all_doubts,
    conform,
    lineage_by_rank,
    place,
    ranked,
    with_lineage,
)
from tests.twins.analytics.told_figures import told_figures

COMPARED: Final = ("open", "high", "low", "last", "vwap", "volume", "trades")
_CANNOT_OPEN: Final = ("MIDPOINT", "BLOCK_BOOK", "RFQ", "SWEEP")
_OURS: Final = (*COMPARED, "amount", "currency")
_TOLD: Final = (*(f"b3_{name}" for name in COMPARED), "b3_close", "b3_settlement", "b3_open_interest")
_COUNTS: Final = ("volume", "trades")
_FIRST: Final = ("is_begun", "base", "base_volume", "base_trades", "open_live", "high_live", "low_live")
MORE: Final = ("doubts", "is_begun", *(f"their_{name}" for name in COMPARED), "volume_since", "trades_since")
# B3's VWAP has four places and no rule of rounding (13.8): half up or cut off, both are B3's.
VWAP_UNIT: Final = "0.0001"


def daily(
    trades_clean: DataFrame,
    statistics: DataFrame,
    instruments: DataFrame,
    told_trades: DataFrame,
    incomplete: DataFrame | None = None,
    build_id: str = "",
) -> DataFrame:
    """With the columns of MORE, which say what is compared with what. `told_trades` are messages,
    `incomplete` names instruments (of a unit) that were stale for a while."""
    ours, told = _our_figures(trades_clean, instruments), told_figures(statistics)
    rows = _in_one_shape(ours).unionByName(_in_one_shape(told))
    # Both sides have one row an instrument at most, so "first that is not null" is all there is.
    made = rows.groupBy(*INSTRUMENT).agg(
        *(F.first(name, ignorenulls=True).alias(name) for name in (*_OURS, *_TOLD)),
        F.max("lineage").alias("lineage"),
        all_doubts(),
    )
    first = told.select(*INSTRUMENT, *_FIRST)
    made = _joined(_with_zeroes(made), first, *_FIRST)
    made = _joined(made, _since(told_trades, first), *(f"{name}_net" for name in _COUNTS))
    made = _marked(with_lineage(_with_comparison(made)), incomplete).withColumn("agrees", _agrees())
    partial = F.col("is_begun") & (F.col("base_volume") > 0)
    mark = F.when(partial, F.lit(INCOMPLETE)).otherwise(F.lit(0))
    made = made.withColumn("doubts", F.col("quality"))
    return conform(made.withColumn("quality", F.col("doubts").bitwiseOR(mark)), "daily", build_id, *MORE)


def _joined(left: DataFrame, right: DataFrame, *names: str) -> DataFrame:
    same = F.lit(True)
    for name in INSTRUMENT:
        same = same & F.col(f"left_side.{name}").eqNullSafe(F.col(f"right_side.{name}"))
    joined = left.alias("left_side").join(right.alias("right_side"), same, "left")
    return joined.select("left_side.*", *(f"right_side.{name}" for name in names))


def _since(told_trades: DataFrame, first: DataFrame) -> DataFrame:
    """By how much trades changed volume and number after the first totals of an instrument: trade by trade,
    what stands in the end less what stood then. What is busted first was there before all captures."""
    told = told_trades.withColumns(
        {"told_date": F.col("trade_date"), "trade_date": F.coalesce("of_date", "trade_date")}
    )
    begun = first.where("is_begun").select(*INSTRUMENT, "base")
    rows = _joined(told, begun, "base").where(F.col("base").isNotNull())
    is_trade = F.col("action") == "TRADE"
    standing = F.when(is_trade, F.col("size")).alias("standing")
    busted = F.when(~is_trade, F.col("size")).alias("busted")
    is_before = (place() <= F.col("base")).alias("is_before")
    message = F.struct("told_date", place().alias("place"), standing, busted, is_before)
    trades = rows.groupBy(*INSTRUMENT, "trade_id").agg(F.sort_array(F.collect_list(message)).alias("told"))
    trades = trades.withColumn("earlier", F.filter("told", lambda each: each["is_before"]))
    then = F.when(F.size("earlier") > 0, F.element_at("earlier", -1)["standing"])
    then = F.when(F.size("earlier") == 0, F.element_at("told", 1)["busted"]).otherwise(then)
    trades = trades.select(*INSTRUMENT, then.alias("then"), F.element_at("told", -1)["standing"].alias("now"))
    zero = F.lit(0).cast("bigint")
    return trades.groupBy(*INSTRUMENT).agg(
        F.sum(F.coalesce("now", zero) - F.coalesce("then", zero)).alias("volume_net"),
        (F.count("now") - F.count("then")).alias("trades_net"),
    )


def _with_comparison(made: DataFrame) -> DataFrame:
    begun, zero = F.coalesce(F.col("is_begun"), F.lit(False)), F.lit(0).cast("bigint")
    partial = {name: F.when(F.col(f"{name}_live"), F.col(f"b3_{name}")) for name in ("open", "high", "low")}
    partial |= {name: F.col(f"b3_{name}") - F.col(f"base_{name}") for name in _COUNTS}
    partial |= {"last": F.col("b3_last"), "vwap": F.lit(None).cast("decimal(18,8)")}
    theirs = {
        f"their_{name}": F.when(begun, partial[name]).otherwise(F.col(f"b3_{name}")) for name in COMPARED
    }
    ours = {
        f"{name}_since": F.when(begun, F.coalesce(f"{name}_net", zero)).otherwise(F.col(name))
        for name in _COUNTS
    }
    return made.withColumns(theirs | ours).withColumn("is_begun", begun)


def _our_figures(trades_clean: DataFrame, instruments: DataFrame) -> DataFrame:
    opens = F.col("sets_price") & ~F.coalesce(F.col("sub_type").isin(*_CANNOT_OPEN), F.lit(False))
    figures = [*price_figures()[1:], *volume_figures()]
    made = ranked(trades_clean).groupBy(*INSTRUMENT).agg(
        F.min_by("price", F.when(opens, F.col("rank"))).alias("open"), *figures, lineage_by_rank(),
        all_doubts(),
    )  # fmt: skip
    made = made.withColumn("vwap", average()).drop("amount").alias("ours")
    money = money_of_days(trades_clean, instruments).alias("money_of")
    same = F.lit(True)
    for name in INSTRUMENT:
        same = same & F.col(f"ours.{name}").eqNullSafe(F.col(f"money_of.{name}"))
    return made.join(money, same, "left").select("ours.*", F.col("money").alias("amount"), "currency")


def _in_one_shape(frame: DataFrame) -> DataFrame:
    types = {column.name: column.type.spark for column in find_table("daily").columns}
    given = set(frame.columns)
    figures = [
        (F.col(name) if name in given else F.lit(None)).cast(types[name]).alias(name)
        for name in (*_OURS, *_TOLD)
    ]
    return frame.select(*INSTRUMENT, *figures, "lineage", "quality")


def _with_zeroes(made: DataFrame) -> DataFrame:
    """Where B3 counts and we have no trade left, we counted none."""
    counted = F.col("b3_volume").isNotNull() | F.col("trades").isNotNull()
    zero = F.lit(0).cast("bigint")
    return made.withColumns(
        {name: F.when(counted, F.coalesce(name, zero)) for name in ("volume", "trades")}
    )  # fmt: skip


def ours_of(name: str) -> str:
    return f"{name}_since" if name in _COUNTS else name


def differs(name: str) -> Column:
    """Null where there is nothing to compare."""
    ours, told = F.col(ours_of(name)), F.col(f"their_{name}")
    if name == "vwap":
        return F.abs(ours - told) >= F.lit(VWAP_UNIT).cast("decimal(18,8)")
    return ours != told


def _agrees() -> Column:
    each = F.array(*(differs(name) for name in COMPARED))
    comparable = F.size(F.filter(each, lambda one: one.isNotNull()))
    wrong = F.size(F.filter(each, lambda one: F.coalesce(one, F.lit(False))))
    return F.when(comparable > 0, wrong == 0)


def _marked(made: DataFrame, incomplete: DataFrame | None) -> DataFrame:
    if incomplete is None:
        return made
    marks = incomplete.select(*UNIT, "security_id").distinct()
    marks = F.broadcast(marks.withColumn("mark", F.lit(INCOMPLETE)))
    joined = made.join(marks, [*UNIT, "security_id"], "left")
    return joined.withColumn("quality", F.col("quality").bitwiseOR(F.coalesce("mark", F.lit(0))))
