"""A unit beside another system's units of the same date: of the same instruments they must tell the same.
What differs is a row of `quality` of the unit, by cause, in SQL inside a task.

Only what both have heard is compared: messages between the later beginning and the earlier end, of
instruments that both list, and of statistics those kinds that both tell of an instrument. Times are compared
in milliseconds, for some systems have no finer ones. Books are compared by their best levels: each that the
unit tells must have been the other system's a moment before, as long as a conflated feed may be behind.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pregao.lake.computed.engine import engine, is_one_of
from pregao.lake.computed.unit import write_rows
from pregao.lake.reading.arrow import dataset, naming_damage
from pregao.lake.runners import give_back
from pregao.lake.store.files import DataFile
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import UnitKey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CROSSED: Final = "crossed"  # label of files that compare systems
INPUTS: Final = (
    "packets", "trades_clean", "statistics", "states", "instruments", "quotes", "quality", "orders"
)  # fmt: skip
MOST: Final = 1_000  # rows of a unit and cause; the rest are counted
_BEHIND_NS: Final = 1_500_000_000  # a conflated book may be so far behind, a clock so far apart
_AHEAD_NS: Final = 20_000_000
_DOUBTS: Final = ("GAP", "SESSION_CUT", "STALE_SPAN", "DAMAGED_INPUT", "FEEDS_DIFFER")
_HEALED: Final = ("HEAL", "STALE_SPAN")  # of the other side: some of its books were in doubt
_FROM_SNAPSHOT: Final = int(Quality.FROM_SNAPSHOT)
_KINDS: Final = ("OPENING", "HIGH", "LOW", "CLOSING", "THEORETICAL", "SETTLEMENT")
_TERMS: Final = (
    "symbol", "security_group", "asset", "isin", "currency", "tick", "lot", "strike", "maturity_date",
)  # fmt: skip
_TOP: Final = ("bid_price", "bid_size", "offer_price", "offer_size")
_STREAMS: Final = "coalesce(md_stream, 'E') <> 'L'"  # lending is not of the market that others tell
_IN_MS: Final = "ts_event // 1000000"


@dataclass(frozen=True, slots=True)
class CrossedPart:
    """A unit, and all units of the date of the system that it is compared with."""

    key: UnitKey
    files: dict[str, list[LiveFile]]
    reference: str
    others: dict[str, list[LiveFile]]


_PREPARED: Final = (
    """CREATE TEMP TABLE span AS SELECT greatest(ours.first, theirs.first) AS since,
        least(ours.last, theirs.last) AS until
    FROM (SELECT min(ts_send) AS first, max(ts_send) AS last FROM packets) AS ours,
        (SELECT min(ts_send) AS first, max(ts_send) AS last FROM other_packets) AS theirs""",
    """CREATE TEMP TABLE listed AS SELECT DISTINCT security_id FROM instruments
        SEMI JOIN other_instruments USING (security_id)
        ANTI JOIN (SELECT security_id FROM orders WHERE md_stream = 'L') USING (security_id)
        WHERE security_id IS NOT NULL""",
    f"""CREATE TEMP TABLE doubt AS SELECT count(*) > 0 AS is_there FROM (
        SELECT finding FROM quality WHERE finding IN {is_one_of(_DOUBTS)}
        UNION ALL SELECT finding FROM other_quality WHERE finding IN {is_one_of(_HEALED)})""",
)


def _heard(table: str, more: str = "true") -> str:
    """Rows of both systems' spans, of instruments that both list."""
    return f"""SELECT {table}.* FROM {table} SEMI JOIN listed USING (security_id), span
        WHERE ts_send BETWEEN since AND until AND {more}"""


def _trades(table: str) -> str:
    return f"""SELECT security_id, symbol, trade_id, ts_event, price, size, buyer, seller,
        price::VARCHAR || ' × ' || size::VARCHAR AS told FROM ({_heard(table, _STREAMS)})"""


_TRADES: Final = f"""
WITH mine AS ({_trades("trades_clean")}), theirs AS ({_trades("other_trades_clean")})
SELECT 'MISSING_TRADE' AS cause, security_id, symbol, ts_event, 'trade ' || trade_id AS what,
    told AS expected, NULL AS found
FROM theirs ANTI JOIN mine USING (security_id, trade_id)
UNION ALL
SELECT 'EXTRA_TRADE', security_id, symbol, ts_event, 'trade ' || trade_id, NULL, told
FROM mine ANTI JOIN theirs USING (security_id, trade_id)
UNION ALL
SELECT 'DIFFERENT_TRADE', mine.security_id, mine.symbol, mine.ts_event, 'trade ' || trade_id, theirs.told,
    mine.told
FROM mine JOIN theirs USING (security_id, trade_id)
WHERE mine.price IS DISTINCT FROM theirs.price OR mine.size IS DISTINCT FROM theirs.size
"""


def _statistics(table: str) -> str:
    return f"""SELECT security_id, kind, price, min(symbol) AS symbol, min(ts_event) AS ts_event
        FROM ({_heard(table, f"{_STREAMS} AND kind IN {is_one_of(_KINDS)}")})
        WHERE action IS DISTINCT FROM 'DELETE' AND price IS NOT NULL AND quality & {_FROM_SNAPSHOT} = 0
        GROUP BY security_id, kind, price"""


_STATISTICS: Final = f"""
WITH mine AS ({_statistics("statistics")}), theirs AS ({_statistics("other_statistics")}),
    both_tell AS (SELECT DISTINCT security_id, kind FROM mine SEMI JOIN theirs USING (security_id, kind))
SELECT 'DIFFERENT_STATISTIC' AS cause, security_id, symbol, ts_event, kind AS what,
    price::VARCHAR AS expected, NULL AS found
FROM theirs ANTI JOIN mine USING (security_id, kind, price) SEMI JOIN both_tell USING (security_id, kind)
UNION ALL
SELECT 'DIFFERENT_STATISTIC', security_id, symbol, ts_event, kind, NULL, price::VARCHAR
FROM mine ANTI JOIN theirs USING (security_id, kind, price) SEMI JOIN both_tell USING (security_id, kind)
"""


def _states(table: str) -> str:
    """Of an instrument, or of a group that both tell of."""
    return f"""SELECT coalesce(security_id::VARCHAR, security_group) AS whose, security_id, symbol, scope,
        security_group, state, ts_event, {_IN_MS} AS moment
        FROM {table}, span WHERE ts_send BETWEEN since AND until AND quality & {_FROM_SNAPSHOT} = 0
            AND (security_id IS NULL OR security_id IN (SELECT security_id FROM listed))"""


_STATES: Final = f"""
WITH mine AS ({_states("states")}), theirs AS ({_states("other_states")}),
    both_tell AS (SELECT DISTINCT scope, whose FROM mine SEMI JOIN theirs USING (scope, whose))
SELECT 'DIFFERENT_STATE' AS cause, security_id, symbol, ts_event, scope || ' ' || whose AS what,
    state AS expected, NULL AS found
FROM theirs ANTI JOIN mine USING (scope, whose, state, moment) SEMI JOIN both_tell USING (scope, whose)
UNION ALL
SELECT 'DIFFERENT_STATE', security_id, symbol, ts_event, scope || ' ' || whose, NULL, state
FROM mine ANTI JOIN theirs USING (scope, whose, state, moment) SEMI JOIN both_tell USING (scope, whose)
"""


def _terms(table: str) -> str:
    """The last version of each instrument."""
    kept = ", ".join(f"arg_max({name}, valid_from) AS {name}" for name in _TERMS)
    return f"SELECT security_id, max(valid_from) AS ts_event, {kept} FROM {table} GROUP BY security_id"


_DEFINITIONS: Final = " UNION ALL ".join(
    f"""SELECT 'DIFFERENT_DEFINITION' AS cause, mine.security_id, mine.symbol, mine.ts_event,
    '{name}' AS what, theirs.{name}::VARCHAR AS expected, mine.{name}::VARCHAR AS found
    FROM ({_terms("instruments")}) AS mine JOIN ({_terms("other_instruments")}) AS theirs USING (security_id)
    WHERE mine.{name} <> theirs.{name}"""
    for name in _TERMS
)


def _tops(table: str) -> str:
    """Best levels, and until when each was so; where a book was known."""
    return f"""SELECT security_id, symbol, ts_event, ts_send, {", ".join(_TOP)},
        coalesce(lead(ts_send) OVER (PARTITION BY security_id ORDER BY seq_version, seq_num, msg_index),
            9223372036854775807) AS until_ns
        FROM {table} WHERE quality & ~{_FROM_SNAPSHOT} = 0
            AND security_id IN (SELECT security_id FROM listed)"""


_SAME_TOP: Final = " AND ".join(f"theirs.{name} IS NOT DISTINCT FROM mine.{name}" for name in _TOP)
_TEXT_OF_TOP: Final = " || ' / ' || ".join(f"coalesce({name}::VARCHAR, '–')" for name in _TOP)
_BOOKS: Final = f"""
WITH mine AS ({_tops("quotes")}), theirs AS ({_tops("other_quotes")}),
    begun AS (SELECT security_id, min(ts_send) AS first FROM theirs GROUP BY security_id)
SELECT 'DIFFERENT_BOOK' AS cause, security_id, symbol, ts_event, 'best levels' AS what, NULL AS expected,
    {_TEXT_OF_TOP} AS found
FROM mine JOIN begun USING (security_id), span
WHERE ts_send BETWEEN greatest(since, first) AND until AND NOT EXISTS (
    FROM theirs WHERE theirs.security_id = mine.security_id AND {_SAME_TOP}
        AND theirs.ts_send <= mine.ts_send + {_AHEAD_NS} AND theirs.until_ns >= mine.ts_send - {_BEHIND_NS})
"""
_ALL: Final = " UNION ALL ".join(
    f"(SELECT * FROM ({query}))" for query in (_TRADES, _STATISTICS, _STATES, _DEFINITIONS, _BOOKS)
)
FINDINGS: Final = f"""
WITH each_one AS (
    SELECT *, row_number() OVER (PARTITION BY cause ORDER BY ts_event, security_id, what) AS number,
        count(*) OVER (PARTITION BY cause) AS of_cause
    FROM ({_ALL})
)
SELECT security_id, symbol, ts_event, 'ENTRY' AS ts_event_kind, cause AS finding, 1::BIGINT AS count,
    CASE WHEN is_there THEN 'WARNING' ELSE 'ERROR' END AS severity, expected, found,
    what || ', beside ' || $reference
        || CASE WHEN is_there THEN ': messages are missing, or books in doubt' ELSE '' END AS detail
FROM each_one, doubt WHERE number <= $most
UNION ALL BY NAME
SELECT max(ts_event) AS ts_event, 'ENTRY' AS ts_event_kind, 'OTHER' AS finding,
    (max(of_cause) - $most)::BIGINT AS count, 'WARNING' AS severity,
    cause || ', beside ' || $reference || ': the first ' || $most || ' are told, the rest counted' AS detail
FROM each_one WHERE of_cause > $most GROUP BY cause
"""


def compare(part: CrossedPart, location: Location, build_id: str, most: int = MOST) -> list[DataFile]:
    """Files of `quality`: none where nothing differs."""
    give_back()
    files = {name: [*part.files.get(name, []), *part.others.get(name, [])] for name in INPUTS}
    with naming_damage(location, files), engine() as connection:
        for prefix, given in (("", part.files), ("other_", part.others)):
            for name in INPUTS:
                connection.register(prefix + name, dataset(location, find_table(name), given.get(name, [])))
        rows = _found(connection, part.reference, most)
    return write_rows(location, "quality", part.key, rows, build_id, label=CROSSED)


def _found(connection: "DuckDBPyConnection", reference: str, most: int) -> Any:
    for step in _PREPARED:
        connection.execute(step)
    order = ", ".join(f'"{column}"' for column in ("finding", "ts_event", "security_id", "detail"))
    given = {"reference": reference, "most": most}
    return connection.sql(f"SELECT * FROM ({FINDINGS}) ORDER BY {order}", params=given).to_arrow_table()
