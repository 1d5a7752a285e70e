"""What B3 said of an instrument's day: the last word of each of its statistics.

Statistics are of a session and start over with the next (14.3), the day has both: volumes and trades are
added, high and low compared, VWAPs weighted. HighPrice and LowPrice do not say their session; they come
before the ExecutionStatistics of the same event, so one that comes after the last totals of the regular
session belongs to the after-market, if there was one.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tests.twins.analytics.places import FROM_SNAPSHOT, INSTRUMENT, MESSAGE, all_doubts, last_lineage, place

TOTALS: Final = ("VOLUME", "VWAP", "TRADES")
_SESSIONS: Final = ("REGULAR", "NON_REGULAR")


def told_figures(statistics: DataFrame) -> DataFrame:
    """A row an instrument and day with b3_open … b3_open_interest, `lineage` and `quality`."""
    rows = statistics.where(F.coalesce(F.col("of_date") == F.col("trade_date"), F.lit(True)) | _previous())
    told = (
        _latest(rows)
        .groupBy(*INSTRUMENT)
        .agg(*_last_of_day(), *_totals(), *_prices(), last_lineage(), F.bit_or("doubts").alias("quality"))
    )
    told = told.withColumns({"high_of": _by_session("highs"), "low_of": _by_session("lows")})
    figures = told.select(
        *INSTRUMENT,
        _price("opening").alias("b3_open"),
        F.greatest(F.col("high_of")[0], F.col("high_of")[1]).alias("b3_high"),
        F.least(F.col("low_of")[0], F.col("low_of")[1]).alias("b3_low"),
        _last_trade().alias("b3_last"),
        _vwap().alias("b3_vwap"),
        _sum("VOLUME").alias("b3_volume"),
        _sum("TRADES").alias("b3_trades"),
        F.col("closing.price").alias("b3_close"),
        F.col("settlement.price").alias("b3_settlement"),
        F.col("interest.size").alias("b3_open_interest"),
        "lineage",
        "quality",
        F.coalesce("opening.live", F.lit(True)).alias("open_live"),
        _all_live("highs").alias("high_live"),
        _all_live("lows").alias("low_live"),
    )
    first = first_totals(rows)
    same = F.lit(True)
    for name in INSTRUMENT:
        same = same & F.col(f"of.{name}").eqNullSafe(F.col(f"first.{name}"))
    joined = figures.alias("of").join(first.alias("first"), same, "left")
    begun = F.coalesce("is_begun", F.lit(False)).alias("is_begun")
    return joined.select("of.*", begun, "base", "base_volume", "base_trades")


def first_totals(rows: DataFrame) -> DataFrame:
    """The first totals of an instrument and where they stand. `is_begun`: a snapshot told them, or nothing
    was known of the instrument then, so there may have been others before."""
    kind = F.col("kind")
    first = rows.groupBy(*INSTRUMENT).agg(
        F.min(F.when(kind == "VOLUME", F.struct(place().alias("place"), "size", "quality"))).alias("volume"),
        F.min(F.when(kind == "TRADES", F.struct(place().alias("place"), "size"))).alias("trades"),
    )
    return first.where(F.col("volume").isNotNull()).select(
        *INSTRUMENT,
        (F.col("volume.quality").bitwiseAND(FROM_SNAPSHOT | 1) != 0).alias("is_begun"),
        F.col("volume.place").alias("base"),
        _or_zero(F.col("volume.size")).alias("base_volume"),
        _or_zero(F.col("trades.size")).alias("base_trades"),
    )


def _latest(rows: DataFrame) -> DataFrame:
    """Only what can be the last word. Executions tell their totals millions of times a day, and finding
    the last of them by its whole place means to sort them all; by time alone it does not. Theoretical
    prices are of no day. High and low are few, and all are needed."""
    rows = rows.where(F.col("kind") != "THEORETICAL")
    rows = rows.withColumn("live", F.col("quality").bitwiseAND(FROM_SNAPSHOT) == 0)
    slot = [*INSTRUMENT, "kind", "session", "origin", "live"]
    newest = rows.groupBy(*slot).agg(F.max("ts_send").alias("newest"), all_doubts().alias("doubts"))
    newest = newest.select(*(F.col(name).alias(f"of_{name}") for name in slot), "newest", "doubts")
    same = F.col("ts_send").eqNullSafe(F.col("newest")) | F.col("kind").isin("HIGH", "LOW")
    for name in slot:
        same = same & F.col(name).eqNullSafe(F.col(f"of_{name}"))
    return rows.join(F.broadcast(newest), same)


def _previous() -> Column:
    """The closing price of the day before is told today, with its own date."""
    return F.col("kind").isin("CLOSING", "OPEN_INTEREST")


def _ordered(*also: str) -> Column:
    """What a snapshot repeats is older than it looks: any word of the incremental stream is newer."""
    live = (F.col("quality").bitwiseAND(FROM_SNAPSHOT) == 0).alias("live")
    return F.struct(live, place().alias("place"), *also)


def _last_of_day() -> list[Column]:
    kind, origin = F.col("kind"), F.col("origin")
    daily = F.coalesce(origin, F.lit("DAILY")) == "DAILY"
    chosen = {
        "opening": (kind == "OPENING") & daily,
        "closing": (kind == "CLOSING") & origin.isin("DAILY", "SESSION"),
        "previous": (kind == "CLOSING") & (origin == "PREVIOUS_DAY"),
        "settlement": (kind == "SETTLEMENT") & daily,
        "interest": kind == "OPEN_INTEREST",
        "last_trade": kind == "LAST_TRADE",
    }
    return [
        F.max(F.when(condition, _ordered("action", "price", "size"))).alias(name)
        for name, condition in chosen.items()
    ]


def _totals() -> list[Column]:
    """The last of each of the three, by session, and the net change of the last message: its three rows
    may or may not all carry it."""
    kind, session = F.col("kind"), F.coalesce(F.col("session"), F.lit("REGULAR"))
    made = [
        F.max(F.when((kind == name) & (session == which), _ordered("price", "size"))).alias(f"{name}_{which}")
        for name in TOTALS
        for which in _SESSIONS
    ]
    live = F.col("quality").bitwiseAND(FROM_SNAPSHOT) == 0
    message = F.struct(live.alias("live"), *MESSAGE, "net_change")
    return [*made, F.max(F.when(kind.isin(*TOTALS), message)).alias("totals")]


def _prices() -> list[Column]:
    return [
        F.sort_array(F.collect_list(F.when(F.col("kind") == kind, _ordered("action", "price")))).alias(name)
        for kind, name in (("HIGH", "highs"), ("LOW", "lows"))
    ]


def _by_session(name: str) -> Column:
    """The last of each session; null where it was deleted (a bust can take the only price away)."""

    def price(row: Column) -> Column:
        return F.when(~row["action"].eqNullSafe("DELETE"), row["price"])

    return F.array(*(price(row) for row in _last_of_sessions(name)))


def _all_live(name: str) -> Column:
    """Whether the incremental stream told the last price of each session."""
    regular, after = (F.coalesce(row["live"], F.lit(True)) for row in _last_of_sessions(name))
    return regular & after


def _last_of_sessions(name: str) -> list[Column]:
    boundary, has_after = F.col("VOLUME_REGULAR.place"), F.col("VOLUME_NON_REGULAR").isNotNull()

    def is_after(each: Column) -> Column:
        return has_after & F.coalesce(each["place"] > boundary, F.lit(True))

    sessions = [F.filter(name, lambda each: ~is_after(each)), F.filter(name, is_after)]
    return [F.get(rows, F.size(rows) - 1) for rows in sessions]


def _price(name: str) -> Column:
    return F.when(~F.col(f"{name}.action").eqNullSafe("DELETE"), F.col(f"{name}.price"))


def _last_trade() -> Column:
    """B3 tells the net change to the day before with every execution (13.2): that is the last price.
    LastTradePrice is for snapshots and failures (13.6)."""
    from_change = F.col("previous.price") + F.col("totals.net_change")
    return F.coalesce(from_change, F.col("last_trade.price"))


def _sum(kind: str) -> Column:
    parts = [F.col(f"{kind}_{session}.size") for session in _SESSIONS]
    return F.when(parts[0].isNotNull() | parts[1].isNotNull(), sum(_or_zero(part) for part in parts))


def _vwap() -> Column:
    """Of one session as B3 sent it; of two weighted by their volumes."""
    regular, after = (F.col(f"VWAP_{session}.price") for session in _SESSIONS)
    volumes = [_or_zero(F.col(f"VOLUME_{session}.size")).cast("decimal(18,0)") for session in _SESSIONS]
    amounts = [
        (F.coalesce(price, F.lit(0)).cast("decimal(18,4)") * volume).try_cast("decimal(27,4)")
        for price, volume in zip((regular, after), volumes, strict=True)
    ]
    both = (amounts[0] + amounts[1]) / F.nullif((volumes[0] + volumes[1]).cast("decimal(18,0)"), F.lit(0))
    return F.when(regular.isNotNull() & after.isNotNull(), both.try_cast("decimal(18,8)")).otherwise(
        F.coalesce(regular, after)
    )


def _or_zero(column: Column) -> Column:
    return F.coalesce(column, F.lit(0).cast("bigint"))
