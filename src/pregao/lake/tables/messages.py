"""Tables with one row for what a message told: columns as `model.rows` and `model.events` have them."""

from dataclasses import replace
from typing import Final

from pregao.lake.tables import types as words
from pregao.lake.tables.ledger import BY_INSTRUMENT, BY_SEQUENCE, IN_STATE, with_lineage
from pregao.lake.tables.table import Column, Table, exact_beside, required, word
from pregao.lake.tables.types import (
    BOOL,
    CODE,
    CONSTANT,
    DATE,
    FINE_PRICE,
    INT,
    LONG,
    NAME,
    NANOSECONDS,
    PRICE,
    SHORT,
    SIZE,
    TEXT,
    list_of,
    struct_of,
)

_OF_DATE: Final = Column("of_date", DATE, "trade date that the message speaks of")
_EVENT_END: Final = Column("end_of_event", BOOL, "last message of its event (4.2)")
_RECOVERY: Final = Column("recovery", BOOL, "sent again after a failure")
_VERSION: Final = Column("wire_version", SHORT, "schema version of the message")
STREAM: Final = Column(
    "md_stream", NAME, "MDStreamID of systems that have it: E is the electronic market, L lending"
)
_LENDING: Final = (
    STREAM,
    Column("expire_date", DATE, "of a lending contract (FIX/FAST tag 432)"),
    Column("early_termination", SHORT, "of a lending contract (FIX/FAST tag 37019)"),
    Column("cert_indicator", SHORT, "of a lending contract (FIX/FAST tag 37023)"),
    Column("contract_info", SHORT, "of a lending contract (FIX/FAST tag 37024)"),
)
PRICE_KIND: Final = word(
    "price_kind",
    words.PRICE_KINDS,
    "what its prices are; null in systems where that does not differ",
    seldom=True,
)
_GRACE: Final = Column("grace_date", DATE, "of a lending contract (FIX/FAST tag 37025)")
_TRADE: Final = (
    required("trade_id", LONG, "unique per instrument and date"),
    *exact_beside(Column("price", PRICE), Column("size", SIZE)),
    PRICE_KIND,
    replace(_OF_DATE, skip=True),  # a later day may speak of this one: its files are found by it
    word("session", words.SESSIONS),
    Column("condition", INT, "bits of TradeCondition (13.3.1)"),
    Column("conditions", NAME, "their names, joined by |"),
    word("sub_type", words.SUB_TYPES, "13.3.2"),
    Column("buyer", CODE, "firm"),
    Column("seller", CODE, "firm"),
    Column("implied", BOOL),
    Column("forward", BOOL, "a forward trade (13.5)"),
    Column("seller_days", INT),
    Column("interest_rate", PRICE),
    word(
        "aggressor", words.SIDES, "whose order began the execution that it is of (13.1); null: see matching"
    ),
    Column("ts_aggressor", NANOSECONDS, "when that order entered the queue (13.1)"),
    Column("auction", BOOL, "of the end of an auction (13.1); null: not known, and of a bust"),
    word("matching", words.MATCHINGS, "how it came about; null: messages are missing, and of a bust (13.3)"),
    *IN_STATE, *_LENDING, _GRACE,
)  # fmt: skip

PACKETS: Final = Table(
    "packets", "a packet of either feed",
    with_lineage(
        word("stream", words.STREAMS, nullable=False),
        Column("size", SIZE, "bytes of the payload"),
        Column("messages", INT),
        word("state_a", words.ARRIVALS, "on feed A; null: nobody captured it"),
        word("state_b", words.ARRIVALS, "on feed B; null: nobody captured it"),
        Column("copies_a", CONSTANT),
        Column("copies_b", CONSTANT),
        instrument=False,
    ),
    order=("stream", *BY_SEQUENCE),
    bare_times=True,
)  # fmt: skip
ORDERS: Final = Table(
    "orders", "one book change",
    with_lineage(
        word("action", words.BOOK_ACTIONS, nullable=False),
        word("side", words.SIDES),
        Column("order_id", LONG, "secondaryOrderID"),
        *exact_beside(
            Column("price", PRICE, "null for orders without one"),
            Column("size", SIZE, "after the change; of a deleted order, what was left"),
            Column("previous_size", SIZE, "before a change"),
        ),
        PRICE_KIND,
        Column("position", LONG, "on its side, from 1"),
        Column("firm", CODE),
        Column("ts_inserted", NANOSECONDS),
        Column("implied", BOOL), _RECOVERY, _EVENT_END, _VERSION, *_LENDING,
    ),
    order=BY_INSTRUMENT,
    bare_times=True,
)  # fmt: skip
TRADES: Final = Table(
    "trades", "a trade or its bust, as sent; key security_id, of_date, trade_id",
    with_lineage(
        word("action", words.TRADE_ACTIONS, nullable=False), *_TRADE, _RECOVERY, _EVENT_END, _VERSION
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
TRADES_CLEAN: Final = Table(
    "trades_clean", "a trade after busts and amendments, on its own date",
    with_lineage(
        *_TRADE,
        Column("amendments", INT, "how often it was sent again with other figures"),
        Column("ts_amended", NANOSECONDS),
        Column("sets_price", BOOL, "takes part in open, high, low, last (13.3)"),
        Column("in_volume", BOOL, "takes part in volume and VWAP"),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
EXECUTIONS: Final = Table(
    "executions", "one matching event (13.1)",
    with_lineage(
        word("aggressor", words.AGGRESSORS),
        Column("last_price", PRICE),
        Column("fill_size", SIZE),
        Column("hidden_size", SIZE),
        Column("cancelled_size", SIZE),
        Column("ts_aggressor", NANOSECONDS),
        Column("trades", INT, "trades of the event"),
        Column("book_changes", INT, "order messages of the event"),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
STATISTICS: Final = Table(
    "statistics", "one statistic, by kind and date",
    with_lineage(
        word("kind", words.STATISTICS, nullable=False),
        word("action", words.ACTIONS),
        _OF_DATE,
        *exact_beside(
            Column("price", FINE_PRICE, "eight places, as closing prices have"),
            Column("size", SIZE, "quantity, volume, number of trades, open interest"),
        ),
        Column("net_change", FINE_PRICE),
        word("session", words.SESSIONS),
        word("origin", words.ORIGINS, "openCloseSettlFlag"),
        word("settlement_kind", words.SETTLEMENT_KINDS),
        word("price_kind", words.PRICE_KINDS),
        Column("settlement_date", DATE),
        Column("last_trade_date", DATE),
        Column("trade_id", LONG),
        Column("condition", INT),
        word("sub_type", words.SUB_TYPES),
        Column("buyer", CODE),
        Column("seller", CODE),
        _RECOVERY,
        STREAM,
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
BAND_LIMITS: Final = ("price", "percent", "ticks")
BANDS: Final = Table(
    "bands", "one band update (13.11): limits as prices, ticks or percentages, never mixed",
    with_lineage(
        word("band", words.BANDS, nullable=False),
        word("limit_type", words.LIMIT_TYPES),
        *exact_beside(
            *(Column(f"{side}_{name}", PRICE) for name in BAND_LIMITS for side in ("low", "high"))
        ),
        word("midpoint", words.MIDPOINTS, "what a percentage is a percentage of"),
        Column("reference_price", FINE_PRICE),
        *exact_beside(Column("largest_order", LONG), Column("average_daily", LONG)),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
IMBALANCES: Final = Table(
    "imbalances", "what is left over at the theoretical price (13.10)",
    with_lineage(
        word("action", words.ACTIONS),
        word("side", words.IMBALANCES),
        Column("size", SIZE),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
STATES: Final = Table(
    "states", "phase of a group or state of an instrument (14)",
    with_lineage(
        word("scope", words.SCOPES, nullable=False),
        Column("security_group", NAME),
        Column("exchange", NAME, "of an instrument; the phase of a group does not tell it"),
        word("state", words.STATES, "a phase where a group is told or rejoined; null: as the group"),
        word("event", words.STATE_EVENTS),
        word("session", words.SESSIONS),
        _OF_DATE,
        Column("ts_ends", NANOSECONDS),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
NEWS: Final = Table(
    "news", "a whole news text, put together from its parts (5.8)",
    with_lineage(
        Column("news_id", LONG),
        Column("headline", TEXT),
        Column("text", TEXT),
        Column("news_source", SHORT, "who wrote it, as the feed numbers them"),
        Column("language", NAME),
        Column("url", TEXT),
        Column("parts", INT),
        Column("related", list_of(LONG), "all that it names, where they are several", seldom=True),
    ),
    order=BY_SEQUENCE,
)  # fmt: skip
INDICES: Final = Table(
    "indices", "the value of an index, or a composite price with its parts; Binary UMDF sends neither",
    with_lineage(
        word("kind", words.INDEX_KINDS, nullable=False),
        word("action", words.ACTIONS),
        Column("value", PRICE, "of an index; a composite has prices of its parts only"),
        Column("sequence", LONG, "number of the calculation (FIX/FAST tag 37100)"),
        Column("net_change", FINE_PRICE),
        Column("tick_direction", SHORT, "as sent (FIX/FAST tag 274)"),
        Column("parts", list_of(struct_of(security_id=LONG, price=PRICE, price_type=SHORT)),
               "of a composite, in its order; price_type as sent (FIX/FAST tag 37018)"),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
VOLATILITIES: Final = Table(
    "volatilities", "a volatility as sent during the call; Binary UMDF does not send it",
    with_lineage(
        word("action", words.ACTIONS),
        Column("short_price", PRICE, "of the short option (FIX/FAST tag 1025)"),
        Column("long_price", PRICE, "of the long option (FIX/FAST tag 31)"),
        Column("delta", FINE_PRICE, "FIX/FAST tag 811"),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
TOTALS: Final = Table(
    "totals", "a market total of an instrument as sent, whatever its unit; Binary UMDF sends statistics",
    with_lineage(
        STREAM,
        word("action", words.ACTIONS),
        Column("money", PRICE, "as sent"),
        Column("currency", NAME),
        Column("volume", SIZE),
        Column("trades", LONG),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip

MESSAGE_TABLES: Final = (
    PACKETS, ORDERS, TRADES, TRADES_CLEAN, EXECUTIONS, STATISTICS, BANDS, IMBALANCES, STATES, NEWS, INDICES,
    VOLATILITIES, TOTALS,
)  # fmt: skip
