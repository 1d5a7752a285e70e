"""Vocabularies of the columns that are words: the names of our model's values, in tables as text."""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from pregao.model import market


def names(values: Iterable[Enum]) -> tuple[str, ...]:
    return tuple(value.name for value in values)


SIDES: Final = names(market.Side)
AGGRESSORS: Final = names(market.Aggressor)
ACTIONS: Final = names(market.Action)
BOOK_ACTIONS: Final = ("ADD", "CHANGE", "DELETE", "DELETE_THRU", "DELETE_FROM", "EMPTY", "RESET", "SNAPSHOT")
TRADE_ACTIONS: Final = ("TRADE", "BUST")
SESSIONS: Final = names(market.Session)
SUB_TYPES: Final = names(market.TradeSubType)
STATE_EVENTS: Final = names(market.StateEvent)
SCOPES: Final = ("GROUP", "INSTRUMENT")
STATES: Final = tuple(dict.fromkeys(names(market.Phase) + names(market.State)))
IMBALANCES: Final = ("BALANCED", "MORE_BUYERS", "MORE_SELLERS")
BANDS: Final = ("REFERENCE", *names(market.BandType), "QUANTITY")
LIMIT_TYPES: Final = names(market.LimitType)
MIDPOINTS: Final = names(market.Midpoint)
ORIGINS: Final = names(market.PriceOrigin)
SETTLEMENT_KINDS: Final = names(market.SettlementKind)
PRICE_KINDS: Final = names(market.PriceKind)
DEFINITION_ACTIONS: Final = names(market.DefinitionAction)
STATISTICS: Final = (
    "OPENING", "THEORETICAL", "CLOSING", "HIGH", "LOW", "LAST_TRADE", "VWAP", "VOLUME", "TRADES",
    "SETTLEMENT", "OPEN_INTEREST",
)  # fmt: skip
STREAMS: Final = ("INCREMENTAL", "INSTRUMENTS", "SNAPSHOT")
FEEDS: Final = ("A", "B", "C")
ARRIVALS: Final = ("FIRST", "DUPLICATE", "LATE", "MISSING")
ANCHORS: Final = ("RESET", "SNAPSHOT", "STORED", "CARRIED")
AUCTIONS: Final = ("OPENING", "INTRADAY", "CLOSING", "OTHER")
SEVERITIES: Final = ("INFO", "WARNING", "ERROR")
FINDINGS: Final = (
    "GAP", "ONE_SIDED_LOSS", "STALE_SPAN", "HEAL", "SEAM", "SNAPSHOT_MATCH", "SNAPSHOT_MISMATCH",
    "STATISTIC_DIFFERS", "CROSSED_BOOK", "UNKNOWN_TEMPLATE", "UNKNOWN_VALUE", "FEEDS_DIFFER", "DAMAGED_INPUT",
    "UNKNOWN_STREAM", "OTHER", "CLOCK_SKEW",
)  # fmt: skip
