"""An auction from its start to its uncross: what it would have done, and what it did.

The uncross are the first trades without ExecutionSummary (13.1 sends none when an auction ends) from the
start of the auction to shortly after its end: the state that ends it may come before its trades or after
them (14.1 and 4.2.1 differ). Crosses, blocks and trades entered by the marketplace are not of the book.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.auction_spans import SPAN, auction_spans
from tests.twins.analytics.places import INSTRUMENT, UNIT, bits, conform, place, with_lineage

AFTER_END_NS: Final = 1_000_000_000
_NOT_OF_THE_BOOK: Final = 1 << 1 | 1 << 14 | 1 << 6  # crossed, block, on behalf (13.3.1)


def auctions(
    states: DataFrame,
    instruments: DataFrame,
    statistics: DataFrame,
    imbalances: DataFrame,
    executions: DataFrame,
    trades_clean: DataFrame,
    build_id: str = "",
) -> DataFrame:
    theoretical = statistics.where(F.col("kind") == "THEORETICAL")
    alone = states.where((F.col("scope") == "INSTRUMENT") & F.col("state").isin("RESERVED"))
    interesting = theoretical.select(*INSTRUMENT)
    for other in (imbalances, alone):
        interesting = interesting.unionByName(other.select(*INSTRUMENT))
    spans = auction_spans(states, instruments, interesting.distinct())
    facts = _facts("PATH", theoretical.where(F.col("price").isNotNull() & _stands()))
    facts = facts.unionByName(_facts("LEFT", imbalances.where(_stands())))
    facts = facts.unionByName(_facts("TRADE", _book_trades(trades_clean)))
    happened = _without_continuous(_in_spans(facts, spans), executions)
    made = _joined(spans, _summary(happened))
    return conform(with_lineage(made), "auctions", build_id)


def _stands() -> Column:
    return ~F.col("action").eqNullSafe("DELETE")


def _book_trades(trades_clean: DataFrame) -> DataFrame:
    special = bits("condition", _NOT_OF_THE_BOOK) | F.col("sub_type").isNotNull()
    return trades_clean.where(F.col("sets_price") & ~special & ~F.coalesce("forward", F.lit(False)))


def _facts(what: str, rows: DataFrame) -> DataFrame:
    given = set(rows.columns)
    price = (F.col("price") if "price" in given else F.lit(None)).cast("decimal(18,4)").alias("price")
    side = (F.col("side") if "side" in given else F.lit(None)).cast("string").alias("side")
    return rows.select(
        *INSTRUMENT, F.lit(what).alias("what"), "ts_event", place().alias("place"), price, "size", side
    )


def _in_spans(facts: DataFrame, spans: DataFrame) -> DataFrame:
    """Each fact with the auction it belongs to. Auctions are few: no shuffle for the facts."""
    edges = F.broadcast(spans.select(*SPAN, "ts_start", "ts_end")).alias("edge")
    rows = facts.alias("fact")
    end = F.coalesce(F.col("ts_end"), F.lit(1 << 62))
    is_trade = F.col("what") == "TRADE"
    inside = (F.col("ts_event") >= F.col("ts_start")) & (F.col("ts_event") <= end) & ~is_trade
    after_start = (F.col("ts_event") > F.col("ts_start")) & (F.col("ts_event") <= end + F.lit(AFTER_END_NS))
    condition = inside | (is_trade & after_start)
    for name in INSTRUMENT:
        condition = condition & F.col(f"fact.{name}").eqNullSafe(F.col(f"edge.{name}"))
    return rows.join(edges, condition).select("fact.*", "span")


def _without_continuous(happened: DataFrame, executions: DataFrame) -> DataFrame:
    """Without trades of an execution: those are of continuous trading, or of no auction at all."""
    keys = [*UNIT, "security_id", "ts_event"]
    trades = happened.where(F.col("what") == "TRADE")
    moments = F.broadcast(trades.select(*keys).distinct())
    executed = executions.join(moments, keys, "left_semi").select(*keys).distinct()
    executed = F.broadcast(executed.withColumn("executed", F.lit(True)))
    rows = happened.join(executed, keys, "left")
    return rows.where((F.col("what") != "TRADE") | F.col("executed").isNull()).drop("executed")


def _summary(happened: DataFrame) -> DataFrame:
    what = F.col("what")
    point = F.struct("place", F.col("ts_event").alias("ts"), "price", "size")
    made = happened.groupBy(*SPAN).agg(
        F.sort_array(F.collect_list(F.when(what == "PATH", point))).alias("points"),
        F.max(F.when(what == "LEFT", F.struct("place", "side", "size"))).alias("left_over"),
        F.sort_array(F.collect_list(F.when(what == "TRADE", point))).alias("fills"),
    )
    # Those of the first moment: of an auction all trades have one time and one price.
    uncross = F.filter("fills", lambda each: each["ts"] == F.get("fills", F.lit(0))["ts"])
    made = made.withColumn("uncross", uncross)
    return made.select(
        *SPAN,
        F.transform("points", lambda each: F.struct(each["ts"], each["price"], each["size"])).alias("path"),
        F.get("uncross", F.lit(0))["price"].alias("uncross_price"),
        F.when(
            F.size("uncross") > 0,
            F.aggregate("uncross", F.lit(0).cast("bigint"), lambda total, each: total + each["size"]),
        ).alias("uncross_size"),
        F.size("uncross").cast("bigint").alias("trades"),
        F.col("left_over.side").alias("imbalance_side"),
        F.col("left_over.size").alias("imbalance_size"),
    )


def _joined(spans: DataFrame, summary: DataFrame) -> DataFrame:
    figures = [name for name in summary.columns if name not in SPAN]
    left, right = spans.alias("span_of"), summary.alias("summary")
    same = F.lit(True)
    for name in SPAN:
        same = same & F.col(f"span_of.{name}").eqNullSafe(F.col(f"summary.{name}"))
    joined = left.join(right, same, "left").select("span_of.*", *figures)
    return joined.withColumns({"trades": F.coalesce("trades", F.lit(0).cast("bigint"))})
