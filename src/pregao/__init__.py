"""Pregão: B3 market data from the wire to books and tables.

from pregao import Market, Trade

for event in Market.replay("day/"):
    if isinstance(event, Trade):
        print(event.symbol, event.size, event.price)
"""

__version__ = "0.1.0"

# Where each public name lives; `__init__.pyi` tells type checkers the same.
_HOMES = {
    "CertifyClient": "pregao.certification.client",
    "CertifyStreams": "pregao.certification.streams",
    "DecodedMessage": "pregao.captures.decode",
    "Finding": "pregao.captures.decode",
    "Lake": "pregao.lake.lake",
    "Replay": "pregao.captures.replay",
    "decode_capture": "pregao.captures.decode",
    "local_session": "pregao.lake.spark.session",
    "read_columns": "pregao.captures.columns",
}
_HOMES |= dict.fromkeys((
    "Action", "Aggressor", "AmbiguousSymbolError", "BandType", "Book", "BookEmptied", "BookLevels",
    "BookStatus", "BookStatusChanged", "CaptureError", "ChannelReady", "ChannelSilent", "ChannelWasCleared",
    "CompositePart", "CompositePrice", "IndexValue", "LevelChanged", "VolatilityPrice", "VwapPrice",
    "ClosingPrice", "ConfigurationError", "DecodeError", "Definition", "DefinitionAction",
    "DefinitionsComplete", "Depth", "EncodeError", "ExecutionStatistics", "ExecutionSummary", "FailedOver",
    "FeedAlive", "FeedSilent", "GapDetected", "HighPrice", "Imbalance", "ImbalanceSide", "Instrument",
    "InstrumentHealed", "InstrumentStale", "InstrumentsUnverified", "JoinStream", "LastTrade",
    "LeaveStream", "Level", "LimitType", "LowPrice", "Market", "MarketEvent", "Midpoint",
    "MissingExtraError", "NO_PRICE",
    "News", "OpenInterest", "OpeningPrice", "Order", "OrderAdded", "OrderChanged", "OrderDeleted",
    "PacketConflict", "PacketDamaged", "Phase", "PhaseChanged", "PregaoError", "PriceBand", "PriceKind",
    "PriceOrigin", "QuantityBand", "QueueOverflow", "QueuePosition", "Quote", "SchemaError",
    "HistoryFilled", "MarketTotal", "RequestRefused", "SessionEnded", "SessionStarted",
    "SequenceStarted", "SequenceVersionChanged", "Session", "SettlementKind", "SettlementPrice", "Side",
    "SideDeleted", "SideLevels", "SnapshotLoopComplete", "State", "StateChanged", "StateEvent", "Statistic",
    "StreamReset", "Subscription", "TheoreticalPrice", "Top", "Trade", "TradeBusted", "TradeCondition",
    "TradeDateChanged", "TradeSubType", "UnitsWanted", "UnknownInstrumentError", "price_of", "price_text",
), "pregao.market")  # fmt: skip


def __getattr__(name: str) -> object:
    """Load a public name when it is asked for: `pregao --help` answers at once, and the lake's libraries are
    needed only by those who use the lake."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from pregao.extras import name_missing_extra

    with name_missing_extra():
        found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
