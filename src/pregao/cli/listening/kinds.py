"""What lines can be about: the words of `--show`. Imports nothing, so that `--help` is quick."""

from typing import Final

KINDS: Final = (
    "trades", "quotes", "statistics", "states", "news", "definitions", "feed", "orders", "depth", "status",
)  # fmt: skip
# Orders and depths are as many as packets; what changes the status of a book the feed says, too.
SHOWN: Final = frozenset(KINDS) - {"orders", "depth", "status"}
_OF_TYPE: Final = {
    "Trade": "trades", "TradeBusted": "trades", "Quote": "quotes", "StateChanged": "states",
    "PhaseChanged": "states", "News": "news", "Definition": "definitions", "Depth": "depth",
    "BookStatusChanged": "status",
} | dict.fromkeys((
    "OpeningPrice", "TheoreticalPrice", "ClosingPrice", "HighPrice", "LowPrice", "LastTrade",
    "ExecutionStatistics", "SettlementPrice", "OpenInterest", "Imbalance", "PriceBand", "QuantityBand",
), "statistics") | dict.fromkeys((
    "OrderAdded", "OrderChanged", "OrderDeleted", "SideDeleted", "BookEmptied", "ExecutionSummary",
), "orders")  # fmt: skip


def kind_of(event: object) -> str:
    """What a channel says of itself is of the kind `feed`."""
    return _OF_TYPE.get(type(event).__name__, "feed")
