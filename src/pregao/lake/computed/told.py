"""What B3 said of an instrument's day, as the table `figures`: the last word of each of its statistics.

Statistics are of a session and start over with the next (14.3), the day has both: volumes and trades are
added, high and low compared, VWAPs weighted. HighPrice and LowPrice do not say their session; they come
before the ExecutionStatistics of the same event, so one that comes after the last totals of the regular
session belongs to the after-market, if there was one. B3 tells the net change to the day before with every
execution (13.2): that is the last price. LastTradePrice is for snapshots and failures (13.6).

Captures may begin in the middle of the day. Then the first totals of an instrument come from a snapshot, or
while nothing is known of it: what was traded before them nobody has, so ours are compared from there on.
"""

from typing import Final

from pregao.lake.computed.engine import IN_ORDER, LINEAGE, LINEAGE_STRUCT, columns
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.ledger import MESSAGE

_SESSIONS: Final = ("REGULAR", "NON_REGULAR")
_TOTALS: Final = ("VOLUME", "VWAP", "TRADES")
# Of the first totals: there may have been others before.
_BEGUN: Final = int(Quality.BOOK_UNKNOWN | Quality.FROM_SNAPSHOT)
_DAILY: Final = "coalesce(origin, 'DAILY') = 'DAILY'"
_LAST: Final = {
    "opening": f"kind = 'OPENING' AND {_DAILY}",
    "closing": "kind = 'CLOSING' AND origin IN ('DAILY', 'SESSION')",
    "previous": "kind = 'CLOSING' AND origin = 'PREVIOUS_DAY'",
    "settlement": f"kind = 'SETTLEMENT' AND {_DAILY}",
    "interest": "kind = 'OPEN_INTEREST'",
    "last_trade": "kind = 'LAST_TRADE'",
    **{
        f"{kind}_{session}": f"kind = '{kind}' AND coalesce(session, 'REGULAR') = '{session}'"
        for kind in _TOTALS
        for session in _SESSIONS
    },
}


def _last_words() -> str:
    return ",\n        ".join(
        f"arg_max_null(struct_pack(action := action, price := price, size := size), number)"
        f" FILTER ({condition}) AS {name}"
        for name, condition in _LAST.items()
    )


def _price(name: str) -> str:
    return f"CASE WHEN {name}.action IS DISTINCT FROM 'DELETE' THEN {name}.price END"


def _of_session(kind: str, *, after: bool) -> str:
    """The last price of a session; null where it was deleted (a bust can take the only one away)."""
    which = "is_after" if after else "NOT is_after"
    of_session = f"FILTER (kind = '{kind}' AND {which})"
    name = f"{kind.lower()}_{_SESSIONS[after].lower()}"
    last = f"arg_max_null({_price('extreme')}, number) {of_session} AS {name}"
    return f"{last}, arg_max(live, number) {of_session} AS {name}_live"


def _was_live(kind: str) -> str:
    """Whether all that makes up a price of the day was told by the incremental stream."""
    return " AND ".join(f"coalesce({kind}_{session.lower()}_live, true)" for session in _SESSIONS)


def _sum(kind: str) -> str:
    regular, after = (f"{kind}_{session}.size" for session in _SESSIONS)
    return f"CASE WHEN {regular} IS NOT NULL OR {after} IS NOT NULL THEN coalesce({regular}, 0) + coalesce({after}, 0) END"  # noqa: E501


_AMOUNTS: Final = " + ".join(
    f"price_mantissa(VWAP_{session}.price)::HUGEINT * coalesce(VOLUME_{session}.size, 0)"
    for session in _SESSIONS
)
_VOLUMES: Final = " + ".join(f"coalesce(VOLUME_{session}.size, 0)" for session in _SESSIONS)
# Of one session as B3 sent it; of two weighted by their volumes.
_VWAP: Final = f"""
    CASE WHEN VWAP_REGULAR.price IS NOT NULL AND VWAP_NON_REGULAR.price IS NOT NULL
        THEN average({_AMOUNTS}, {_VOLUMES})
        ELSE fine_mantissa(coalesce(VWAP_REGULAR.price, VWAP_NON_REGULAR.price)) END"""

FIGURES: Final = f"""
CREATE TEMP TABLE figures AS
WITH spoken AS (
    SELECT *, quality & {int(Quality.FROM_SNAPSHOT)} = 0 AS live,
        {LINEAGE_STRUCT} AS place
    FROM statistics
    WHERE kind <> 'THEORETICAL'
        AND (of_date IS NULL OR of_date = trade_date OR kind IN ('CLOSING', 'OPEN_INTEREST'))
), numbered AS (
    -- What a snapshot repeats is older than it looks: any word of the incremental stream is newer.
    SELECT *, row_number() OVER (PARTITION BY security_id ORDER BY live, {IN_ORDER}) AS number,
        row_number() OVER (PARTITION BY security_id ORDER BY {IN_ORDER}) AS stream_number,
        dense_rank() OVER (PARTITION BY security_id ORDER BY live, {", ".join(MESSAGE)}) AS message
    FROM spoken
), last_words AS (
    SELECT security_id, symbol,
        {_last_words()},
        arg_max_null(net_change, row(message, net_change IS NOT NULL, coalesce(net_change, 0)))
            FILTER (kind IN {_TOTALS}) AS net_change,
        arg_max(stream_number, number) FILTER ({_LAST["VOLUME_REGULAR"]}) AS boundary,
        count(*) FILTER ({_LAST["VOLUME_NON_REGULAR"]}) > 0 AS has_after,
        arg_max(place, stream_number) AS lineage, bit_or(quality) AS quality,
        arg_max(live, number) FILTER ({_LAST["opening"]}) AS opening_live,
        arg_min(struct_pack(size := size, quality := quality, place := place), stream_number)
            FILTER (kind = 'VOLUME') AS first_volume,
        arg_min(struct_pack(size := size), stream_number) FILTER (kind = 'TRADES') AS first_trades
    FROM numbered GROUP BY security_id, symbol
), extremes AS (
    -- HighPrice and LowPrice do not say their session: one after the last totals of the regular session is of
    -- the after-market, if there was one.
    SELECT extreme.security_id, extreme.symbol,
        {", ".join(_of_session(kind, after=after) for kind in ("HIGH", "LOW") for after in (False, True))}
    FROM (
        SELECT numbered.*, has_after AND coalesce(stream_number > boundary, true) AS is_after
        FROM numbered JOIN last_words ON numbered.security_id IS NOT DISTINCT FROM last_words.security_id
            AND numbered.symbol IS NOT DISTINCT FROM last_words.symbol
        WHERE kind IN ('HIGH', 'LOW')
    ) AS extreme GROUP BY extreme.security_id, extreme.symbol
)
SELECT last_words.security_id, last_words.symbol,
    ({_price("opening")})::DECIMAL(18,4) AS b3_open,
    greatest(high_regular, high_non_regular)::DECIMAL(18,4) AS b3_high,
    least(low_regular, low_non_regular)::DECIMAL(18,4) AS b3_low,
    coalesce(previous.price + net_change, last_trade.price)::DECIMAL(18,4) AS b3_last,
    {_VWAP} AS b3_vwap,
    {_sum("VOLUME")} AS b3_volume,
    {_sum("TRADES")} AS b3_trades,
    closing.price AS b3_close,
    settlement.price::DECIMAL(18,4) AS b3_settlement,
    interest.size AS b3_open_interest,
    {columns(LINEAGE, "lineage")}, quality,
    coalesce(first_volume.quality & {_BEGUN} <> 0, false) AS is_begun, first_volume.place AS base,
    coalesce(first_volume.size, 0) AS base_volume, coalesce(first_trades.size, 0) AS base_trades,
    coalesce(opening_live, true) AS open_live, {_was_live("high")} AS high_live,
    {_was_live("low")} AS low_live
FROM last_words LEFT JOIN extremes ON last_words.security_id IS NOT DISTINCT FROM extremes.security_id
    AND last_words.symbol IS NOT DISTINCT FROM extremes.symbol
"""
