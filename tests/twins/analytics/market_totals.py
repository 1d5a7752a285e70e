"""Gross amount, volume and trades of a security group. The amount is money: price × size × contract
multiplier ÷ price divisor, where the definition has them. So it is of an instrument's day."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.bars import volume_figures
from tests.twins.analytics.places import (
    INSTRUMENT,
    UNIT,
    all_doubts,
    conform,
    lineage_by_rank,
    ranked,
    with_lineage,
)

_BEFORE, _AFTER = -(1 << 63), (1 << 63) - 1
_KEY: Final = (*UNIT, "security_id")


def market_totals(trades_clean: DataFrame, instruments: DataFrame, build_id: str = "") -> DataFrame:
    """Each trade by the definition that was valid when it happened; without one, group null."""
    made = _in_money(trades_clean, instruments).groupBy(*UNIT, "security_group").agg(
        F.sum("amount").alias("amount"),
        F.sum("volume").alias("volume"),
        F.sum("trades").alias("trades"),
        F.max("lineage").alias("lineage"),
        all_doubts(),
    )  # fmt: skip
    return conform(with_lineage(made), "market_totals", build_id)


def money_of_days(trades_clean: DataFrame, instruments: DataFrame) -> DataFrame:
    """A row an instrument and day: what it traded in money. Neither amount nor currency where trades were in
    several currencies, of which none may be unknown."""
    rows = _in_money(trades_clean, instruments)
    currencies = F.collect_set(F.coalesce("currency", F.lit("")))
    made = rows.groupBy(*INSTRUMENT).agg(F.sum("amount").alias("amount"), currencies.alias("currencies"))
    is_one = F.size("currencies") == 1
    return made.select(
        *INSTRUMENT,
        F.when(is_one, F.col("amount")).alias("money"),
        F.when(is_one, F.nullif(F.get("currencies", F.lit(0)), F.lit(""))).alias("currency"),
    )


def _in_money(trades_clean: DataFrame, instruments: DataFrame) -> DataFrame:
    """Sums of an instrument's trades under definitions that say the same."""
    trades = ranked(trades_clean).where("in_volume").alias("trade")
    definition = F.broadcast(_definitions(instruments)).alias("definition")
    valid = (F.col("ts_event") >= F.col("known_from")) & (F.col("ts_event") < F.col("known_to"))
    for name in _KEY:
        valid = valid & (F.col(f"trade.{name}") == F.col(f"definition.{name}"))
    rows = trades.join(definition, valid, "left").select(
        "trade.*", "security_group", "currency", "multiplier", "price_divisor"
    )
    # Added up before it is multiplied: exact as long as possible, and the sums are few.
    alike = rows.groupBy(*INSTRUMENT, "security_group", "currency", "multiplier", "price_divisor").agg(
        *volume_figures(), lineage_by_rank(), all_doubts()
    )
    one = F.lit(1).cast("decimal(18,8)")
    money = F.col("amount").try_cast("decimal(28,4)") * F.coalesce("multiplier", one)
    return alike.withColumn("amount", (money / F.coalesce("price_divisor", one)).try_cast("decimal(38,4)"))


def _definitions(instruments: DataFrame) -> DataFrame:
    """What is known of an instrument at each moment. The first definition also counts before it was
    told: a capture may begin, or a definition come round, after the first trade."""
    versions = Window.partitionBy(*_KEY).orderBy("valid_from")
    divisor = F.nullif(F.col("price_divisor"), F.lit(0))
    return (
        instruments.where(~F.col("action").eqNullSafe("DELETE"))
        .withColumn("number", F.row_number().over(versions))
        .select(
            *_KEY, "security_group", "currency", "multiplier",
            divisor.cast("decimal(18,8)").alias("price_divisor"),
            F.when(F.col("number") == 1, F.lit(_BEFORE)).otherwise(F.col("valid_from")).alias("known_from"),
            F.coalesce(F.lead("valid_from").over(versions), F.lit(_AFTER)).alias("known_to"),
        )
    )  # fmt: skip
