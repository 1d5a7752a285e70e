"""Trades as they stand in the end, and bars of any length made of them."""

from typing import Final

from pregao.lake.computed.engine import IN_ORDER, LINEAGE, columns
from pregao.model.market import OLD_LEG, TradeCondition

_FIGURES: Final = (
    "price", "size", "session", "condition", "conditions", "sub_type", "buyer", "seller", "implied",
    "forward", "seller_days", "interest_rate",
)  # fmt: skip
# How it came about: an amendment, sent later, does not know it.
_MATCHED: Final = ("aggressor", "ts_aggressor", "auction", "matching", "phase", "state")
_FIRST: Final = ("security_id", "trade_id", "symbol", *LINEAGE, *_MATCHED)
_AMENDED: Final = ("price", "size", "buyer", "seller")
_OUT_OF_SEQUENCE: Final = int(TradeCondition.OUT_OF_SEQUENCE)
_CHANGED: Final = " OR ".join(f"{name} IS DISTINCT FROM lag({name}) OVER told_in_order" for name in _AMENDED)
_KEY: Final = "PARTITION BY security_id, trade_id ORDER BY trade_date, " + IN_ORDER


def with_rank(*unit: str) -> str:
    """What is computed from clean trades goes by: money, and the place among trades of the instrument."""
    keys = ", ".join((*unit, "security_id"))
    return f"""
    price_mantissa(price)::HUGEINT * size AS amount,
    row_number() OVER (PARTITION BY {keys} ORDER BY {IN_ORDER}) AS rank"""


# All that was told of this day, on whichever day it was told.
TOLD: Final = """
CREATE TEMP TABLE told AS
SELECT *, coalesce(of_date, trade_date) AS day FROM trades WHERE coalesce(of_date, trade_date) = $day
"""
CLEAN: Final = f"""
CREATE TEMP TABLE clean AS
WITH again AS (
    SELECT security_id, trade_id FROM told GROUP BY ALL
    HAVING count(*) > 1 OR count(*) FILTER (action <> 'TRADE') > 0
), messages AS (
    SELECT told.*, row_number() OVER ({_KEY}) AS number,
        last_value(action) OVER whole AS outcome, bit_or(quality) OVER whole AS doubts
    FROM told SEMI JOIN again USING (security_id, trade_id)
    WINDOW whole AS ({_KEY} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), sent AS (
    SELECT *, row_number() OVER told_in_order = 1 AS is_first,
        lead(number) OVER told_in_order IS NULL AS is_last,
        row_number() OVER told_in_order > 1 AND ({_CHANGED}) AS is_amended
    FROM messages WHERE action = 'TRADE' AND outcome = 'TRADE'
    WINDOW told_in_order AS (PARTITION BY security_id, trade_id ORDER BY number)
), amended AS (
    SELECT security_id, trade_id, (count(*) FILTER (is_amended))::INTEGER AS amendments,
        arg_max(ts_send, number) FILTER (is_amended) AS ts_amended
    FROM sent GROUP BY ALL
), rows_of_day AS (
    SELECT {columns(_FIRST, "told")}, {columns(_FIGURES, "told")}, 0 AS amendments,
        NULL::BIGINT AS ts_amended, told.quality
    FROM told ANTI JOIN again USING (security_id, trade_id)
    UNION ALL BY NAME
    SELECT {columns(_FIRST, "first")}, {columns(_FIGURES, "last")}, amendments, ts_amended,
        first.doubts AS quality
    FROM sent AS first
    JOIN sent AS last ON first.security_id = last.security_id AND first.trade_id = last.trade_id
    JOIN amended ON first.security_id = amended.security_id AND first.trade_id = amended.trade_id
    WHERE first.is_first AND last.is_last
)
SELECT *, $day AS of_date,
    price IS NOT NULL AND sub_type IS DISTINCT FROM 'LEG'
        AND coalesce(condition, 0) & {OLD_LEG | _OUT_OF_SEQUENCE} = 0 AS sets_price,
    size IS NOT NULL AS in_volume, {with_rank()}
FROM rows_of_day
"""
TRADES_CLEAN: Final = "SELECT * EXCLUDE (amount, rank) FROM clean"


# Bars of any length. Prices are of trades that set the price, in the order of the stream; volume, amount and
# VWAP count every trade, also crosses, legs and those out of sequence (13.8, 17). An interval without trades
# has no bar; one whose trades set no price has volume and no prices. A bar starts at a multiple of its length
# since 1970; the bar of a day at 00:00 UTC of its trade date, whatever the hours.


DAY_NS: Final = 86_400_000_000_000
LAST_PRICES: Final = """
    max(price) FILTER (sets_price) AS high,
    min(price) FILTER (sets_price) AS low,
    arg_max(price, rank) FILTER (sets_price) AS last"""
VOLUMES: Final = """
    (sum(size) FILTER (in_volume))::BIGINT AS volume,
    sum(amount) FILTER (in_volume) AS amount,
    count(*) FILTER (in_volume) AS trades,
    count(*) FILTER (in_volume AND auction) AS auction_trades,
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
SELECT grouped.*, last AS close, average(grouped.amount, volume) AS vwap, {columns(LINEAGE, "clean")},
    clean.phase, clean.state
FROM grouped JOIN clean USING ({keys}, rank)
"""


BARS: Final = bars_query("$day_ns")
