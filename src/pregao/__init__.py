"""Pregão: B3 market data from the wire to books and tables.

    from pregao import Market, Trade

    for event in Market.replay("day/"):
        if isinstance(event, Trade):
            print(event.symbol, event.size, event.price)
"""

__version__ = "0.1.0"

# Of `pregao.market`; `__init__.pyi` tells type checkers the same.
_FACE = frozenset((
    "Action", "Aggressor", "AmbiguousSymbolError", "BandType", "Book", "BookEmptied", "BookLevels",
    "BookStatus", "BookStatusChanged", "CaptureError", "ChannelReady", "ChannelSilent", "ChannelWasCleared",
    "ClosingPrice", "ConfigurationError", "DecodeError", "Definition", "DefinitionAction",
    "DefinitionsComplete", "Depth", "EncodeError", "ExecutionStatistics", "ExecutionSummary", "FailedOver",
    "FeedAlive", "FeedSilent", "GapDetected", "HighPrice", "Imbalance", "ImbalanceSide", "Instrument",
    "InstrumentHealed", "InstrumentStale", "InstrumentsUnverified", "JoinStream", "LastTrade",
    "LeaveStream", "Level", "LimitType", "LowPrice", "Market", "MarketEvent", "Midpoint", "NO_PRICE",
    "News", "OpenInterest", "OpeningPrice", "Order", "OrderAdded", "OrderChanged", "OrderDeleted",
    "PacketConflict", "PacketDamaged", "Phase", "PhaseChanged", "PregaoError", "PriceBand", "PriceKind",
    "PriceOrigin", "QuantityBand", "QueueOverflow", "QueuePosition", "Quote", "SchemaError",
    "SequenceStarted", "SequenceVersionChanged", "Session", "SettlementKind", "SettlementPrice", "Side",
    "SideDeleted", "SideLevels", "SnapshotLoopComplete", "State", "StateChanged", "StateEvent", "Statistic",
    "StreamReset", "Subscription", "TheoreticalPrice", "Top", "Trade", "TradeBusted", "TradeCondition",
    "TradeDateChanged", "TradeSubType", "UnitsWanted", "UnknownInstrumentError", "price_of", "price_text",
))  # fmt: skip


def __getattr__(name: str) -> object:
    """Only who asks for the library loads it: `pregao --help` answers at once."""
    if name not in _FACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module("pregao.market"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACE})
