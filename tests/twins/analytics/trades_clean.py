"""Trades as they stand in the end: what was busted is gone, what was amended has its last figures.

There is no amendment message: a trade is busted and sent again under its tradeID (13.4), in one event or
days later. So of all messages of one (security_id, of_date, trade_id) the last one decides. A trade stays
where it was first told, in the sequence and in time: the time of an amendment is written by hand.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.places import CARRIED, LINEAGE, PLACE, bits, conform

KEY: Final = ("security_id", "of_date", "trade_id")
OUT_OF_SEQUENCE: Final = 1 << 3  # 13.3.1
LEG_BIT: Final = 1 << 5  # of 19; since wire version 15 a leg is known by its sub-type
_FIGURES: Final = (
    "price", "size", "session", "condition", "conditions", "sub_type", "buyer", "seller", "implied",
    "forward", "seller_days", "interest_rate",
)  # fmt: skip
# What is changed by an amendment; session and conditions are told again as they were, or not at all.
_AMENDED: Final = ("price", "size", "buyer", "seller")
_MATCHED: Final = ("aggressor", "ts_aggressor", "auction", "matching", "phase", "state")
_FIRST: Final = ("system", "source", "channel", "symbol", *LINEAGE, *_MATCHED)


def trades_clean(trades: DataFrame, build_id: str = "") -> DataFrame:
    """`trades` must hold all that was told of a trade date, on whichever date it was told."""
    told = trades.withColumn("of_date", F.coalesce("of_date", "trade_date"))
    # Nearly all trades are told once and stay: only the others are put together from their messages.
    again = F.broadcast(_told_again(told))
    once = told.join(again, [*KEY], "left_anti").withColumns(
        {"trade_date": F.col("of_date"), "amendments": F.lit(0), "ts_amended": F.lit(None).cast("bigint")}
    )
    several = _put_together(told.join(again, [*KEY], "left_semi"))
    rows = once.select(*several.columns).unionByName(several)
    made = rows.withColumns({"sets_price": sets_price(), "in_volume": F.col("size").isNotNull()})
    return conform(made, "trades_clean", build_id)


def _told_again(told: DataFrame) -> DataFrame:
    """Keys of trades that were busted, or sent more than once."""
    busts = F.count(F.when(F.col("action") != "TRADE", F.lit(1)))
    counted = told.groupBy(*KEY).agg(F.count(F.lit(1)).alias("messages"), busts.alias("busts"))
    return counted.where((F.col("messages") > 1) | (F.col("busts") > 0)).select(*KEY)


def _put_together(told: DataFrame) -> DataFrame:
    messages = told.groupBy(*KEY).agg(
        F.sort_array(F.collect_list(_message())).alias("told"),
        F.bit_or(F.col("quality").cast("int")).alias("quality"),
    )
    last = F.element_at("told", -1)
    return _rows(
        messages.where(last["action"] == "TRADE").withColumn(
            "sent", F.filter("told", lambda each: each["action"] == "TRADE")
        )
    )


def _message() -> Column:
    carried = [name for name in dict.fromkeys((*CARRIED, *_FIRST, *_FIGURES)) if name not in PLACE]
    return F.struct(F.col("trade_date").alias("told_date"), *PLACE, "action", *carried)


def _rows(told: DataFrame) -> DataFrame:
    first, last = F.element_at("sent", 1), F.element_at("sent", -1)
    changed = F.filter("sent", _differs_from_the_one_before)
    count = F.size(changed)
    return told.select(
        F.col("of_date").alias("trade_date"),
        *KEY,
        *(first[name].alias(name) for name in _FIRST),
        *(last[name].alias(name) for name in _FIGURES),
        count.alias("amendments"),
        F.when(count > 0, F.element_at(changed, -1)["ts_send"]).alias("ts_amended"),
        "quality",
    )


def _differs_from_the_one_before(message: Column, index: Column) -> Column:
    """A trade that is told again as it was (after a failure) is not amended."""
    before = F.get("sent", index - 1)
    same = F.lit(True)
    for name in _AMENDED:
        same = same & message[name].eqNullSafe(before[name])
    return (index > 0) & ~same


def sets_price() -> Column:
    """Neither out of sequence (13.3) nor a leg's (19)."""
    leg = F.col("sub_type").eqNullSafe("LEG") | bits("condition", LEG_BIT)
    return F.col("price").isNotNull() & ~leg & ~bits("condition", OUT_OF_SEQUENCE)


def changed_late(trades: DataFrame) -> DataFrame:
    """Instruments of which something was told after the trade date: B3's figures of that date do not
    know it."""
    return (
        trades.where(F.col("of_date") < F.col("trade_date"))
        .select(F.col("of_date").alias("trade_date"), "system", "source", "channel", "security_id")
        .distinct()
    )
