"""A trading day of an instrument, as the table `days`: our figures from clean trades, B3's beside them, and
whether they agree. Our opening price is that of the first trade that may open: no block, no sweep (13.3.3).
The amount is money, from the table `money` (`totals.money_of_days`).

Of an instrument whose first totals were not the first of its day, ours are partial: volume and trades are
compared from those totals on, prices where the incremental stream told B3's, and the VWAP not at all. Systems
with streams go on telling the totals of the day before until they are 0: their day begins there. They do not
say either which trades may not open: there B3's opening price must be that of any trade.

Where they differ, a row of `quality` for each figure: an ERROR when nothing was missing, a WARNING when the
instrument was stale for a while (trades may be lost), and an INFO when the trade was changed on a later date,
which B3's figures of the day cannot know (13.4).
"""

from typing import Final

from pregao.lake.computed.engine import LINEAGE, LINEAGE_STRUCT, columns, exactly, is_one_of, place, sort_key
from pregao.lake.computed.trades import LAST_PRICES, volumes, vwap
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.ledger import MESSAGE, PLACE

_COMPARED: Final = ("open", "high", "low", "last", "vwap", "volume", "trades")
_CANNOT_OPEN: Final = ("MIDPOINT", "BLOCK_BOOK", "RFQ", "SWEEP")
_DOUBTS: Final = int(Quality.INCOMPLETE | Quality.AFTER_GAP | Quality.BOOK_UNKNOWN)
_B3: Final = (*(f"b3_{name}" for name in _COMPARED), "b3_close", "b3_settlement", "b3_open_interest")
_SAME: Final = "{0}.security_id = {1}.security_id AND {0}.symbol IS NOT DISTINCT FROM {1}.symbol"
_COUNTED: Final = "(b3_volume IS NOT NULL OR ours.trades IS NOT NULL)"
_LATER: Final = f"ours.security_id IS NULL OR {place('figures')} > {place('ours')}"


_COUNTS: Final = ("volume", "trades")
_TOLD_LIVE: Final = ("open", "high", "low")


def _ours(name: str) -> str:
    return f"{name}_since" if name in _COUNTS else name


def _since(name: str) -> str:
    """Of all that are counted, those after the first totals."""
    whole = f"WHEN {_COUNTED} THEN coalesce(ours.{name}, 0)"
    return f"CASE WHEN is_begun THEN coalesce(since.{name}, 0) {whole} END"


def _theirs(name: str) -> str:
    """B3's figure that ours is compared with."""
    partial = {"vwap": "NULL"} | {each: f"CASE WHEN {each}_live THEN b3_{each} END" for each in _TOLD_LIVE}
    partial |= {each: f"b3_{each} - base_{each}" for each in _COUNTS}
    return f"CASE WHEN is_begun THEN {partial.get(name, f'b3_{name}')} ELSE b3_{name} END AS their_{name}"


def _differs(name: str) -> str:
    """Null where there is nothing to compare."""
    if name == "vwap":
        return "abs(vwap - their_vwap) >= vwap_unit()"
    if name == "open":
        return (
            "CASE WHEN prices IS NULL THEN open <> their_open ELSE NOT list_contains(prices, their_open) END"
        )
    return f"{_ours(name)} <> their_{name}"


def _text(name: str) -> str:
    """Mantissas as the decimals that the tables show."""
    if name.endswith("vwap"):
        return f"fine_text({name})"
    return f"size_text({name})" if "volume" in name else f"{name}::VARCHAR"


_ALL: Final = ", ".join(_differs(name) for name in _COMPARED)


def days(*, exact: bool) -> str:
    """`exact`: of units with exact values (`engine`)."""
    return f"""
CREATE TEMP TABLE days AS
WITH traded AS (
    SELECT security_id, symbol,
        arg_min(price, rank)
            FILTER (sets_price AND coalesce(sub_type NOT IN {is_one_of(_CANNOT_OPEN)}, true)) AS open,
        {LAST_PRICES}, {volumes(exact=exact)}, list(DISTINCT price) FILTER (sets_price AND has_streams) AS prices
    FROM clean, (SELECT coalesce(bool_or(md_stream IS NOT NULL), false) AS has_streams FROM statistics)
    GROUP BY security_id, symbol
), ours AS (
    SELECT traded.*, {vwap("traded", exact=exact)} AS vwap, {columns(LINEAGE, "clean")}
    FROM traded JOIN clean USING (security_id, rank)
), messages AS (
    SELECT told.security_id, told.symbol, trade_id, action <> 'TRADE' AS is_bust, size,
        CASE WHEN action = 'TRADE' THEN size END AS standing, {place("told")} <= {place("figures.base")} AS is_before,
        row_number() OVER (PARTITION BY told.security_id ORDER BY told.trade_date, {columns(PLACE, "told")}) AS number
    FROM told JOIN figures ON {_SAME.format("told", "figures")} WHERE is_begun
), changes AS (
    -- What stood when the first totals were told, and what stands in the end. A trade whose first message is its
    -- bust was there before the captures began.
    SELECT security_id, symbol, coalesce(arg_max(struct_pack(size := standing), number) FILTER (is_before),
            arg_min(struct_pack(size := CASE WHEN is_bust THEN size END), number)).size AS before,
        arg_max(struct_pack(size := standing), number).size AS after
    FROM messages GROUP BY security_id, symbol, trade_id
), since AS (
    SELECT security_id, symbol, as_volume(sum(coalesce(after, 0) - coalesce(before, 0))) AS volume,
        count(after) - count(before) AS trades
    FROM changes GROUP BY security_id, symbol
), both_sides AS (
    SELECT coalesce(ours.security_id, figures.security_id) AS security_id,
        coalesce(ours.symbol, figures.symbol) AS symbol,
        {columns(_COMPARED[:5], "ours")}, ours.prices, money.amount, money.currency, {columns(_B3, "figures")},
        {", ".join(f"CASE WHEN {_COUNTED} THEN coalesce(ours.{name}, 0) END AS {name}" for name in _COUNTS)},
        {", ".join(f"{_since(name)} AS {name}_since" for name in _COUNTS)},
        {", ".join(map(_theirs, _COMPARED))}, coalesce(is_begun, false) AS is_begun,
        coalesce(is_begun AND base_volume > 0, false) AS is_partial,
        {", ".join(f"CASE WHEN {_LATER} THEN figures.{name} ELSE ours.{name} END AS {name}" for name in LINEAGE)},
        coalesce(ours.quality, 0) | coalesce(figures.quality, 0)
            | CASE WHEN EXISTS (FROM stale WHERE stale.security_id = coalesce(ours.security_id, figures.security_id))
                THEN {int(Quality.INCOMPLETE)} ELSE 0 END AS doubts
    FROM ours FULL JOIN figures ON {_SAME.format("ours", "figures")}
    LEFT JOIN since ON {_SAME.format("figures", "since")}
    LEFT JOIN money ON {_SAME.format("ours", "money")}
)
SELECT *, doubts | CASE WHEN is_partial THEN {int(Quality.INCOMPLETE)} ELSE 0 END AS quality,
    CASE WHEN len(list_filter([{_ALL}], lambda one: one IS NOT NULL)) > 0
    THEN NOT list_contains([{_ALL}], true) END AS agrees
FROM both_sides
"""  # noqa: E501


DAYS, EXACT_DAYS = days(exact=False), days(exact=True)
STALE: Final = """
CREATE TEMP TABLE stale AS
SELECT DISTINCT security_id FROM quality
WHERE finding IN ('STALE_SPAN', 'HEAL') AND security_id IS NOT NULL
"""
DAILY: Final = "SELECT * FROM days"
_EXACT_PRICES: Final = ("open", "high", "low", "last")
EXACT_DAILY: Final = exactly(
    DAILY, (*_EXACT_PRICES, *(f"b3_{name}" for name in _EXACT_PRICES), "b3_settlement"),
    ("volume", "b3_volume", "b3_open_interest"),
)  # fmt: skip
_EACH: Final = " UNION ALL BY NAME ".join(
    f"SELECT *, '{name}' AS figure, {_text(f'their_{name}')} AS expected, {_text(_ours(name))} AS found"
    f" FROM days WHERE {_differs(name)}"
    for name in _COMPARED
)
DIFFERENCES: Final = f"""
WITH late AS (
    SELECT DISTINCT security_id FROM told WHERE of_date < trade_date
), each_figure AS (
    SELECT *, security_id IN (FROM late) AS is_late, doubts & {_DOUBTS} <> 0 AS is_doubtful FROM ({_EACH})
)
SELECT security_id, symbol, {columns(LINEAGE, "each_figure")}, quality, expected, found,
    'STATISTIC_DIFFERS' AS finding, 'INCREMENTAL' AS stream,
    CASE WHEN is_late THEN 'INFO' WHEN is_doubtful THEN 'WARNING' ELSE 'ERROR' END AS severity,
    figure || CASE WHEN is_late THEN ': a trade was busted or amended on a later date'
        WHEN is_doubtful THEN ': messages are missing'
        WHEN is_begun AND figure IN {is_one_of(_COUNTS)} THEN ': from the first totals on' ELSE '' END
        AS detail
FROM each_figure
"""


# What B3 said of an instrument's day, as the table `figures`: the last word of each of its statistics.
#
# Statistics are of a session and start over with the next (14.3), the day has both: volumes and trades are
# added, high and low compared, VWAPs weighted. HighPrice and LowPrice do not say their session; they come
# before the ExecutionStatistics of the same event, so one that comes after the last totals of the regular
# session belongs to the after-market, if there was one. B3 tells the net change to the day before with every
# execution (13.2): that is the last price. LastTradePrice is for snapshots and failures (13.6).
#
# Captures may begin in the middle of the day. Then the first totals of an instrument come from a snapshot, or
# while nothing is known of it: what was traded before them nobody has, so ours are compared from there on.


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
    # In systems with streams it is told after a bust, and no more when there is another trade.
    "last_trade": "kind = 'LAST_TRADE' AND md_stream IS NULL",
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

# What is read of statistics.
_SPOKEN: Final = (
    "security_id", "symbol", "kind", "action", "price", "size", "net_change", "session", "origin",
    "md_stream", "quality", *PLACE, "ts_event",
)  # fmt: skip
FIGURES: Final = f"""
CREATE TEMP TABLE figures AS
WITH group_of AS (
    SELECT security_id, arg_max(security_group, valid_from) AS security_group
    FROM instruments WHERE security_id IS NOT NULL GROUP BY security_id
), sessions AS (
    SELECT security_group, ts_event AS since, coalesce(session, 'REGULAR') AS in_force
    FROM states WHERE scope = 'GROUP' AND security_group IS NOT NULL
), spoken AS MATERIALIZED (
    SELECT {", ".join(_SPOKEN)}, quality & {int(Quality.FROM_SNAPSHOT)} = 0 AS live,
        {LINEAGE_STRUCT} AS place,
        session IS NULL AND md_stream IS NOT NULL AND kind IN {_TOTALS} AS is_untold
    FROM statistics
    WHERE kind <> 'THEORETICAL' AND coalesce(md_stream, 'E') IN ('E', 'A')  -- or of all streams
        AND (of_date IS NULL OR of_date = trade_date OR kind IN ('CLOSING', 'OPEN_INTEREST'))
), in_sessions AS (
    SELECT * FROM spoken WHERE NOT is_untold
    UNION ALL BY NAME
    -- Totals of systems with streams do not say their session: it is that of the group's last phase.
    SELECT untold.* REPLACE (in_force AS session)
    FROM (FROM spoken WHERE is_untold) AS untold LEFT JOIN group_of USING (security_id)
    ASOF LEFT JOIN sessions
        ON group_of.security_group = sessions.security_group AND untold.ts_event >= sessions.since
), numbered AS (
    -- What a snapshot repeats is older than it looks: any word of the incremental stream is newer.
    SELECT *, {sort_key("live", *PLACE)} AS number, {sort_key(*PLACE)} AS stream_number FROM in_sessions
), last_words AS (
    SELECT security_id, symbol,
        {_last_words()},
        arg_max_null(net_change, {sort_key("live", *MESSAGE, "net_change")})
            FILTER (kind IN {_TOTALS}) AS net_change,
        arg_max(stream_number, number) FILTER ({_LAST["VOLUME_REGULAR"]}) AS boundary,
        count(*) FILTER ({_LAST["VOLUME_NON_REGULAR"]}) > 0 AS has_after,
        arg_max(place, stream_number) AS lineage, bit_or(quality) AS quality,
        arg_max(live, number) FILTER ({_LAST["opening"]}) AS opening_live,
        arg_min(struct_pack(size := size, quality := quality, place := place), stream_number)
            FILTER (kind = 'VOLUME') AS first_volume,
        arg_min(struct_pack(size := size), stream_number) FILTER (kind = 'TRADES') AS first_trades,
        max(stream_number) FILTER ({_LAST["VOLUME_REGULAR"]} AND md_stream IS NOT NULL AND live AND size = 0)
            > min(stream_number) FILTER (kind = 'VOLUME') AS is_begun_anew
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
    as_price({_price("opening")}) AS b3_open,
    as_price(greatest(high_regular, high_non_regular)) AS b3_high,
    as_price(least(low_regular, low_non_regular)) AS b3_low,
    as_price(coalesce(previous.price + net_change, last_trade.price)) AS b3_last,
    {_VWAP} AS b3_vwap,
    {_sum("VOLUME")} AS b3_volume,
    {_sum("TRADES")} AS b3_trades,
    closing.price AS b3_close,
    as_price(settlement.price) AS b3_settlement,
    interest.size AS b3_open_interest,
    {columns(LINEAGE, "lineage")}, quality,
    coalesce(first_volume.quality & {_BEGUN} <> 0 AND NOT coalesce(is_begun_anew, false), false) AS is_begun,
    first_volume.place AS base,
    coalesce(first_volume.size, 0) AS base_volume, coalesce(first_trades.size, 0) AS base_trades,
    coalesce(opening_live, true) AS open_live, {_was_live("high")} AS high_live,
    {_was_live("low")} AS low_live
FROM last_words LEFT JOIN extremes ON last_words.security_id IS NOT DISTINCT FROM extremes.security_id
    AND last_words.symbol IS NOT DISTINCT FROM extremes.symbol
"""
