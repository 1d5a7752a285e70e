"""Tables computed from other tables, and what is known of their health."""

from enum import IntFlag
from typing import Final

from pregao.lake.tables import types as words
from pregao.lake.tables.ledger import BY_SEQUENCE, IN_STATE, with_lineage
from pregao.lake.tables.table import Column, Table, exact_beside, exact_of, required, word
from pregao.lake.tables.types import (
    AMOUNT,
    BOOL,
    FINE_PRICE,
    INT,
    LONG,
    NAME,
    NANOSECONDS,
    PRICE,
    SIZE,
    TEXT,
    ColumnType,
    list_of,
    struct_of,
)

# What the column `quality` says of a row, by bit; 0 is a row without doubt.


class Quality(IntFlag):
    GOOD = 0
    BOOK_UNKNOWN = 1  # no anchor yet: nobody knows what the book held before
    AFTER_GAP = 2  # messages are missing, or the book is being told again (6.5.12, 6.5.13): not proven yet
    FEEDS_DIFFER = 4  # the same sequence number with other messages on the other feed
    UNKNOWN_VALUE = 8  # a value that the schema does not know
    FROM_SNAPSHOT = 16  # told by a snapshot or kept from the day before, not by the incremental stream
    INCOMPLETE = (
        32  # a sum over rows of which some are missing; of a stored book: its statistics are in doubt
    )


_SESSION_FIGURES: Final[tuple[tuple[str, ColumnType], ...]] = (
    ("open", PRICE), ("high", PRICE), ("low", PRICE), ("last", PRICE), ("vwap", FINE_PRICE),
    ("volume", LONG), ("trades", LONG),
)  # fmt: skip

# A VWAP and the closing price have eight places themselves.
_EXACT_FIGURES: Final = ("open", "high", "low", "last", "volume")

BARS: Final = Table(
    "bars", "open, high, low, close, volume, VWAP and trades of an interval",
    with_lineage(
        required("interval", LONG, "length in ns", skip=True),
        required("ts_start", NANOSECONDS, skip=True),
        *exact_beside(
            *(Column(name, PRICE) for name in ("open", "high", "low", "close")), Column("volume", LONG)
        ),
        Column("amount", AMOUNT, "sum of price × size"),
        Column("vwap", FINE_PRICE),
        Column("trades", LONG),
        Column("auction_trades", LONG, "of them from the end of an auction"),
        *IN_STATE,
    ),
    order=("interval", "security_id", "ts_start"),
)  # fmt: skip
DAILY: Final = Table(
    "daily", "a trading day of an instrument: ours, and B3's figures beside them",
    with_lineage(
        *(Column(name, type_, "from trades_clean") for name, type_ in _SESSION_FIGURES),
        *exact_of(_EXACT_FIGURES),
        Column("amount", AMOUNT, "money, with multiplier and price divisor; null if of several currencies; of"
               " rates and percentages what the exchange told last (`totals`), null if it told nothing"),
        Column("currency", NAME, "of the amount, as the definition says"),
        *(Column(f"b3_{name}", type_, "as B3 sent it") for name, type_ in _SESSION_FIGURES),
        Column("b3_close", FINE_PRICE),
        Column("b3_settlement", PRICE),
        Column("b3_open_interest", LONG),
        *exact_of([*(f"b3_{name}" for name in _EXACT_FIGURES), "b3_settlement", "b3_open_interest"]),
        Column("agrees", BOOL, "ours equal B3's wherever both are there"),
    ),
    order=("security_id",),
)  # fmt: skip
MARKET_TOTALS: Final = Table(
    "market_totals", "gross amount, volume and trades of a security group",
    with_lineage(
        Column("security_group", NAME),
        Column("amount", AMOUNT),
        Column("volume", LONG),
        Column("trades", LONG),
        instrument=False,
    ),
    order=("security_group",),
)  # fmt: skip
AUCTIONS: Final = Table(
    "auctions", "an auction from its start to its uncross",
    with_lineage(
        word("kind", words.AUCTIONS),
        Column("ts_start", NANOSECONDS, skip=True),
        Column("ts_end", NANOSECONDS),
        Column("extensions", INT, "how often its end was told again: later, or without a time"),
        Column("path", list_of(struct_of(ts=NANOSECONDS, price=PRICE, size=LONG)), "theoretical prices"),
        Column("uncross_price", PRICE),
        Column("uncross_size", SIZE),
        Column("trades", LONG),
        word("imbalance_side", words.IMBALANCES),
        Column("imbalance_size", SIZE),
    ),
    order=("security_id", "ts_start"),
)  # fmt: skip
LATENCY: Final = Table(
    "latency", "a minute of a feed, in nanoseconds",
    with_lineage(
        required("ts_minute", NANOSECONDS, skip=True),
        word("feed", words.FEEDS, nullable=False),
        Column("packets", LONG),
        *(
            Column(f"{what}_{share}", LONG)
            for what in ("event_to_send", "send_to_receive", "behind_other_feed")
            for share in ("p50", "p99", "max")
        ),
        Column("skew", LONG, "estimated clock difference to the other feed"),
        instrument=False,
    ),
    order=("ts_minute", "feed"),
)  # fmt: skip
QUALITY: Final = Table(
    "quality", "a finding",
    with_lineage(
        word("finding", words.FINDINGS, nullable=False),
        word("severity", words.SEVERITIES),
        word("feed", words.FEEDS),
        word("stream", words.STREAMS),
        Column("first_seq_num", LONG),
        Column("last_seq_num", LONG),
        Column("ts_from", NANOSECONDS),
        Column("ts_to", NANOSECONDS),
        Column("count", LONG, "messages, packets or instruments concerned"),
        Column("expected", TEXT),
        Column("found", TEXT),
        Column("detail", TEXT),
    ),
    order=("finding", *BY_SEQUENCE),
)  # fmt: skip

ANALYTIC_TABLES: Final = (BARS, DAILY, MARKET_TOTALS, AUCTIONS, LATENCY, QUALITY)
