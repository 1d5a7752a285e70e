"""An auction from its start to its uncross: what it would have done, and what it did.

The uncross are the first trades without ExecutionSummary (13.1 sends none when an auction ends) from the
start of the auction to shortly after its end: the state that ends it may come before its trades or after
them (14.1 and 4.2.1 differ). Crosses, blocks and trades entered by the marketplace are not of the book.
"""

from typing import Final

from pregao.lake.computed.pieces import IN_ORDER
from pregao.lake.tables.lineage import PLACE
from pregao.model.market import TradeCondition

_AFTER_END_NS: Final = 1_000_000_000
_FAR_NS: Final = 1 << 62
_NOT_OF_THE_BOOK: Final = int(TradeCondition.CROSSED | TradeCondition.BLOCK | TradeCondition.ON_BEHALF)
_PLACES: Final = ", ".join(PLACE)
_STANDS: Final = "action IS DISTINCT FROM 'DELETE'"

AUCTIONS: Final = f"""
WITH facts AS (
    SELECT 'PATH' AS what, security_id, symbol, ts_event, {_PLACES}, price::DECIMAL(18,4) AS price, size,
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
        coalesce(list(struct_pack(ts := ts_event, price := price, size := size) ORDER BY {IN_ORDER})
            FILTER (what = 'PATH'), []) AS path,
        last(struct_pack(side := side, size := size) ORDER BY {IN_ORDER}) FILTER (what = 'LEFT') AS left_over,
        coalesce(list(struct_pack(ts := ts_event, price := price, size := size) ORDER BY {IN_ORDER})
            FILTER (what = 'TRADE'), []) AS fills,
        -- Those of the first moment: of an auction all trades have one time and one price.
        list_filter(fills, lambda fill: fill.ts = fills[1].ts) AS uncross
    FROM happened GROUP BY security_id, symbol, span
)
SELECT spans.*, path, uncross[1].price AS uncross_price,
    list_sum(list_transform(uncross, lambda fill: fill.size))::BIGINT AS uncross_size,
    coalesce(len(uncross), 0) AS trades, left_over.side AS imbalance_side, left_over.size AS imbalance_size
FROM spans LEFT JOIN summary ON spans.security_id = summary.security_id
    AND spans.symbol IS NOT DISTINCT FROM summary.symbol AND spans.span = summary.span
"""
