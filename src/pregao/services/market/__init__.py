"""A market as people see it: events to iterate, books to ask for, how healthy it is. `from pregao import
Market` is the short way."""

from pregao.services.market.changes import Change, MarketEvent, Quote
from pregao.services.market.market import Market
from pregao.services.market.names import AmbiguousSymbolError, UnknownInstrumentError
from pregao.services.market.numbers import price_of, price_text

__all__ = [
    "AmbiguousSymbolError", "Change", "Market", "MarketEvent", "Quote", "UnknownInstrumentError", "price_of",
    "price_text",
]  # fmt: skip
