"""Bars of any length (`lake.analytics.bars`)."""

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
BARS: Final = f"""
WITH lengths AS (
    SELECT unnest($intervals::BIGINT[]) AS "interval"
), grouped AS (
    SELECT security_id, symbol, "interval",
        CASE WHEN "interval" = {DAY_NS} THEN $day_ns ELSE ts_event - ts_event % "interval" END AS ts_start,
        arg_min(price, rank) FILTER (sets_price) AS open, {LAST_PRICES}, {VOLUMES}
    FROM clean, lengths GROUP BY security_id, symbol, "interval", ts_start
)
SELECT grouped.*, last AS close, average(grouped.amount, volume) AS vwap, {columns(LINEAGE, "clean")}
FROM grouped JOIN clean USING (security_id, rank)
"""
