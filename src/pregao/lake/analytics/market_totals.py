"""Gross amount, volume and trades of a security group. The amount is money: price × size × contract
multiplier ÷ price divisor, where the definition has them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from pregao.lake.analytics.places import UNIT, all_doubts, conform, last_lineage, with_lineage
from pregao.lake.tables.analytics import MARKET_TOTALS


def market_totals(trades_clean: DataFrame, instruments: DataFrame, build_id: str = "") -> DataFrame:
    """Each trade by the definition that was valid when it happened; without one, group null."""
    trades = trades_clean.where("in_volume")
    definitions = F.broadcast(_definitions(instruments))
    valid = (
        (trades["trade_date"] == definitions["_date"])
        & (trades["channel"] == definitions["_channel"])
        & (trades["security_id"] == definitions["_id"])
        & (trades["ts_event"] >= definitions["_from"])
        & (trades["ts_event"] < definitions["_to"])
    )
    # Factor and price have at most 18 digits each: 36 hold the product, sums of it 38.
    worth = F.col("price") * F.col("size").cast("decimal(19,0)") * F.coalesce("_factor", F.lit(1.0))
    made = trades.join(definitions, valid, "left").groupBy(*UNIT, "security_group").agg(
        F.sum(worth.cast("decimal(38,4)")).cast("decimal(38,4)").alias("amount"),
        F.sum("size").alias("volume"),
        F.count(F.lit(1)).alias("trades"),
        last_lineage(),
        all_doubts(),
    )  # fmt: skip
    return conform(with_lineage(made), MARKET_TOTALS, build_id)
