"""An auction from its start to its uncross: what it would have done, and what it did.

The uncross are the first trades without ExecutionSummary (13.1 sends none when an auction ends) from the
start of the auction to shortly after its end: the state that ends it may come before its trades or after
them (14.1 and 4.2.1 differ). Crosses, blocks and trades entered by the marketplace are not of the book.
"""

from typing import Final

from pregao.lake.computed.engine import IN_ORDER, LINEAGE, LINEAGE_STRUCT, columns
from pregao.lake.tables.ledger import PLACE
from pregao.model.market import TradeCondition

# When each instrument was in auction, as the table `spans`: from the phases of its group and states of its
# own (14).
#
# The rule is that of `books.phases`, as windows: an instrument follows its group until it is told a state of
# its own (101), and again when it rejoins (102) or is told a null state; an auction of its own rests while
# the group is halted or closed. What is told at one moment counts together: a group that opens and an
# instrument of it whose auction goes on are not the end of that auction and the start of another.
#
# An auction is extended when its end is told again and is later, or is told no more: the end of an auction
# that closes at random, or that waits for its pair (15.1), has no time.


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
        own IS NOT NULL AS is_alone,
        lead(ts_event) OVER ({_BY_TIME}) IS DISTINCT FROM ts_event AS ends_moment
    FROM with_own
), moments AS (
    SELECT *, coalesce(sum(ends_moment::INTEGER) OVER ({_BY_TIME} {_BEFORE}), 0) AS moment FROM effective
), with_ends AS (
    -- The end that is in force: an instrument may leave its group right before the group changes, or after.
    SELECT *, CASE WHEN in_auction THEN last_value(
            CASE WHEN is_own THEN struct_pack(ns := nullif(ts_ends, 0)) END IGNORE NULLS) OVER told END
            AS own_ends,
        CASE WHEN in_auction THEN last_value(
            CASE WHEN NOT is_own THEN struct_pack(ns := nullif(ts_ends, 0)) END IGNORE NULLS) OVER told END
            AS group_ends
    FROM moments
    WINDOW told AS (PARTITION BY security_id, symbol, moment ORDER BY {IN_ORDER}, is_own
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), settled AS (
    -- What is told at one moment counts together.
    SELECT *, in_auction AND NOT coalesce(lag(in_auction) OVER ({_BY_TIME}), false) AS starts
    FROM with_ends WHERE ends_moment
), numbered AS (
    SELECT *, sum(starts::INTEGER) OVER ({_BY_TIME}) AS span, row_number() OVER ({_BY_TIME}) AS number,
        coalesce(last_value(session IGNORE NULLS) OVER ({_BY_TIME}), 'REGULAR') AS in_session,
        CASE WHEN is_alone THEN own_ends ELSE group_ends END AS ends
    FROM settled
), with_history AS (
    SELECT *,
        coalesce(bool_or(is_open) OVER (
            PARTITION BY security_id, symbol, in_session ORDER BY number {_BEFORE}), false) AS was_open,
        coalesce(CASE WHEN ends.ns IS NOT NULL THEN ends.ns > max(ends.ns) OVER told_before
            WHEN is_alone AND ends IS NOT NULL
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


_AFTER_END_NS: Final = 1_000_000_000
_FAR_NS: Final = 1 << 62
_NOT_OF_THE_BOOK: Final = int(TradeCondition.CROSSED | TradeCondition.BLOCK | TradeCondition.ON_BEHALF)
_PLACES: Final = ", ".join(PLACE)
_STANDS: Final = "action IS DISTINCT FROM 'DELETE'"

AUCTIONS: Final = f"""
WITH facts AS (
    SELECT 'PATH' AS what, security_id, symbol, ts_event, {_PLACES}, as_price(price) AS price, size,
        NULL AS side
    FROM statistics WHERE kind = 'THEORETICAL' AND price IS NOT NULL AND {_STANDS}
    UNION ALL
    SELECT 'LEFT', security_id, symbol, ts_event, {_PLACES}, NULL, size, side FROM imbalances WHERE {_STANDS}
    UNION ALL
    SELECT 'TRADE', security_id, symbol, ts_event, {_PLACES}, price, size, NULL
    FROM clean WHERE sets_price AND sub_type IS NULL AND NOT coalesce(forward, false)
        AND coalesce(condition, 0) & {_NOT_OF_THE_BOOK} = 0
), happened AS (
    SELECT facts.*, span
    FROM facts JOIN spans ON facts.security_id = spans.security_id
        AND facts.symbol IS NOT DISTINCT FROM spans.symbol
        AND CASE WHEN what = 'TRADE'
            THEN facts.ts_event > ts_start AND facts.ts_event <= coalesce(ts_end, {_FAR_NS}) + {_AFTER_END_NS}
            ELSE facts.ts_event >= ts_start AND facts.ts_event <= coalesce(ts_end, {_FAR_NS}) END
    -- Trades of an execution are of continuous trading, or of no auction at all.
    WHERE what <> 'TRADE' OR NOT EXISTS (
        FROM executions WHERE executions.security_id = facts.security_id
            AND executions.ts_event = facts.ts_event)
), summary AS (
    SELECT security_id, symbol, span,
        coalesce(list(struct_pack(ts := ts_event, price := told_price(price), size := told_size(size))
            ORDER BY {IN_ORDER}) FILTER (what = 'PATH'), []) AS path,
        last(struct_pack(side := side, size := size) ORDER BY {IN_ORDER}) FILTER (what = 'LEFT') AS left_over,
        coalesce(list(struct_pack(ts := ts_event, price := price, size := size) ORDER BY {IN_ORDER})
            FILTER (what = 'TRADE'), []) AS fills,
        -- Those of the first moment: of an auction all trades have one time and one price.
        list_filter(fills, lambda fill: fill.ts = fills[1].ts) AS uncross
    FROM happened GROUP BY security_id, symbol, span
)
SELECT spans.*, path, told_price(uncross[1].price) AS uncross_price,
    told_size(list_sum(list_transform(uncross, lambda fill: fill.size))::BIGINT) AS uncross_size,
    coalesce(len(uncross), 0) AS trades, left_over.side AS imbalance_side,
    told_size(left_over.size) AS imbalance_size
FROM spans LEFT JOIN summary ON spans.security_id = summary.security_id
    AND spans.symbol IS NOT DISTINCT FROM summary.symbol AND spans.span = summary.span
"""
