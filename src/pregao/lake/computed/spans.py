"""When each instrument was in auction, as the table `spans`: from the phases of its group and states of its
own (14).

The rule is that of `books.phases`, as windows: an instrument follows its group until it is told a state
of its own (101), and again when it rejoins (102) or is told a null state; an auction of its own rests
while the group is halted or closed. What is told at one moment counts together: a group that opens and
an instrument of it whose auction goes on are not the end of that auction and the start of another.

An auction is extended when its end is told again and is later, or is told no more: the end of an auction that
closes at random, or that waits for its pair (15.1), has no time.
"""

from typing import Final

from pregao.lake.computed.pieces import IN_ORDER, LINEAGE, LINEAGE_STRUCT, columns

_TOLD: Final = (*LINEAGE, "quality", "state", "event", "session", "ts_ends")
_BY_TIME: Final = f"PARTITION BY security_id, symbol ORDER BY {IN_ORDER}, is_own"
_BEFORE: Final = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"


def _same(left: str, right: str) -> str:
    """One instrument: a symbol may be null, and an id used again for another symbol is another."""
    return (
        f"{left}.security_id IS NOT DISTINCT FROM {right}.security_id"
        f" AND {left}.symbol IS NOT DISTINCT FROM {right}.symbol"
    )


SPANS: Final = f"""
CREATE TEMP TABLE spans AS
WITH interesting AS (
    -- In a pre-open of the group most options have nothing to tell.
    SELECT security_id, symbol FROM statistics WHERE kind = 'THEORETICAL'
    UNION SELECT security_id, symbol FROM imbalances
    UNION SELECT security_id, symbol FROM states WHERE scope = 'INSTRUMENT' AND state = 'RESERVED'
), members AS (
    SELECT DISTINCT instruments.security_id, instruments.symbol, security_group
    FROM instruments JOIN interesting ON {_same("instruments", "interesting")}
), timeline AS (
    SELECT states.security_id, states.symbol, {columns(_TOLD, "states")}, true AS is_own
    FROM states JOIN interesting ON {_same("states", "interesting")} WHERE scope = 'INSTRUMENT'
    UNION ALL
    SELECT members.security_id, members.symbol, {columns(_TOLD, "states")}, false AS is_own
    FROM states JOIN members ON states.security_group = members.security_group WHERE scope = 'GROUP'
), with_phase AS (
    SELECT *, last_value(CASE WHEN NOT is_own THEN state END IGNORE NULLS) OVER ({_BY_TIME}) AS phase
    FROM timeline
), with_own_after AS (
    -- One number is two words: the state of an instrument, and the phase it says with a 102 (14.2).
    SELECT *, CASE state WHEN 'RESERVED' THEN 'PRE_OPEN' WHEN 'FORBIDDEN' THEN 'PRE_CLOSE' ELSE state END
            AS as_phase,
        event IS NOT DISTINCT FROM 'REJOINS_GROUP' OR phase IS NULL OR as_phase = phase AS follows,
        CASE WHEN event IS NOT DISTINCT FROM 'LEAVES_GROUP' OR NOT follows THEN state END AS own_after
    FROM with_phase
), with_own AS (
    SELECT *, (last_value(CASE WHEN is_own THEN struct_pack(state := own_after) END IGNORE NULLS)
        OVER ({_BY_TIME})).state AS own
    FROM with_own_after
), effective AS (
    SELECT *, coalesce(own IS NULL AND phase IN ('PRE_OPEN', 'FINAL_CLOSING_CALL'), false)
            OR coalesce(own IN ('RESERVED', 'PRE_OPEN', 'FINAL_CLOSING_CALL')
                AND NOT coalesce(phase IN ('PAUSE', 'CLOSE', 'FORBIDDEN'), false), false) AS in_auction,
        coalesce(own, phase) = 'OPEN' AS is_open,
        coalesce(own, phase) = 'FINAL_CLOSING_CALL' AS is_closing,
        own IS NOT NULL AS is_alone, is_own = (own IS NOT NULL) AS is_in_force,
        lead(ts_event) OVER ({_BY_TIME}) AS next_ns
    FROM with_own
), settled AS (
    -- What is told at one moment counts together.
    SELECT *, in_auction AND NOT coalesce(lag(in_auction) OVER ({_BY_TIME}), false) AS starts
    FROM effective WHERE next_ns IS DISTINCT FROM ts_event
), numbered AS (
    SELECT *, sum(starts::INTEGER) OVER ({_BY_TIME}) AS span, row_number() OVER ({_BY_TIME}) AS number,
        coalesce(last_value(session IGNORE NULLS) OVER ({_BY_TIME}), 'REGULAR') AS in_session,
        CASE WHEN in_auction AND is_in_force THEN struct_pack(ns := nullif(ts_ends, 0)) END AS ends
    FROM settled
), with_history AS (
    SELECT *,
        coalesce(bool_or(is_open) OVER (
            PARTITION BY security_id, symbol, in_session ORDER BY number {_BEFORE}), false) AS was_open,
        coalesce(CASE WHEN ends.ns IS NOT NULL THEN ends.ns > max(ends.ns) OVER told_before
            WHEN is_own AND ends IS NOT NULL
            THEN (last_value(ends IGNORE NULLS) OVER told_before).ns IS NOT NULL END, false) AS prolongs
    FROM numbered
    WINDOW told_before AS (PARTITION BY security_id, symbol, span ORDER BY number {_BEFORE})
), grouped AS (
    SELECT security_id, symbol, span::BIGINT AS span,
        min(ts_event) FILTER (in_auction) AS ts_start,
        min(ts_event) FILTER (NOT in_auction) AS ts_end,
        (count(*) FILTER (prolongs))::INTEGER AS extensions,
        bool_or(in_auction AND is_closing) AS closing,
        bool_or(starts AND was_open) AS had_opened,
        bool_or(starts AND is_alone) AS alone,
        arg_max({LINEAGE_STRUCT}, number) FILTER (in_auction) AS lineage,
        bit_or(quality) AS quality
    FROM with_history WHERE span > 0 GROUP BY security_id, symbol, span
)
SELECT security_id, symbol, span, ts_start, ts_end, extensions, {columns(LINEAGE, "lineage")}, quality,
    CASE WHEN closing THEN 'CLOSING' WHEN NOT coalesce(had_opened, false) THEN 'OPENING'
        WHEN alone THEN 'INTRADAY' ELSE 'OTHER' END AS kind
FROM grouped
"""
