"""What lines can be about: the words of `--show`. Imports nothing, so that `--help` is quick."""

from typing import Any, Final

KINDS: Final = ("trades", "quotes", "statistics", "states", "news", "definitions", "feed")
_OF_TYPE: Final = {
    "Trade": "trades", "TradeBusted": "trades", "Quote": "quotes", "StateChanged": "states",
    "PhaseChanged": "states", "News": "news", "Definition": "definitions",
} | dict.fromkeys((
    "OpeningPrice", "TheoreticalPrice", "ClosingPrice", "HighPrice", "LowPrice", "LastTrade",
    "ExecutionStatistics", "SettlementPrice", "OpenInterest", "Imbalance", "PriceBand", "QuantityBand",
), "statistics")  # fmt: skip


def kind_of(event: Any) -> str:
    """What a channel says of itself is of the kind `feed`."""
    return _OF_TYPE.get(type(getattr(event, "what", None)).__name__, "feed")
