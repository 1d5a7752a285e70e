"""Bars of any length. Prices are of trades that set the price, in the order of the stream; volume, amount
and VWAP count every trade, also crosses, legs and those out of sequence (13.8, 17). An interval without
trades has no bar; one whose trades set no price has volume and no prices. A bar starts at a multiple of its
length since 1970; the bar of a day at 00:00 UTC of its trade date, whatever the hours."""

from typing import Final

from pregao.lake.computed.pieces import LINEAGE, columns

DAY_NS: Final = 86_400_000_000_000
LAST_PRICES: Final = """
    max(price) FILTER (sets_price) AS high,
    min(price) FILTER (sets_price) AS low,
    arg_max(price, rank) FILTER (sets_price) AS last"""
VOLUMES: Final = """
    (sum(size) FILTER (in_volume))::BIGINT AS volume,
    sum(amount) FILTER (in_volume) AS amount,
    count(*) FILTER (in_volume) AS trades,
    max(rank) AS rank,
    bit_or(quality) AS quality"""


def bars_query(day_ns: str, *unit: str) -> str:
    """Of the table `clean`. `day_ns` is where the bar of a day starts; `unit` are columns that tell units
    apart, where `clean` has several."""
    keys = ", ".join((*unit, "security_id"))
    return f"""
WITH lengths AS (
    SELECT unnest($intervals::BIGINT[]) AS "interval"
), grouped AS (
    SELECT {keys}, symbol, "interval",
        CASE WHEN "interval" = {DAY_NS} THEN {day_ns} ELSE ts_event - ts_event % "interval" END AS ts_start,
        arg_min(price, rank) FILTER (sets_price) AS open, {LAST_PRICES}, {VOLUMES}
    FROM clean, lengths GROUP BY {keys}, symbol, "interval", ts_start
)
SELECT grouped.*, last AS close, average(grouped.amount, volume) AS vwap, {columns(LINEAGE, "clean")}
FROM grouped JOIN clean USING ({keys}, rank)
"""


BARS: Final = bars_query("$day_ns")
