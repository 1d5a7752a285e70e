"""What happens in a market, as every feed tells it and as the exchange says it.

Each class is one update. Updates that happened together are one `Event`: the last message of an
event carries endOfEvent on the wire (4.2). Times are nanoseconds since 1970, trade dates days
since 1970, prices ten-thousandths unless a name says `fine` (hundred-millionths).
"""

from dataclasses import field

from pregao.model.clearing import (
    CompositeCount,
    CompositePrice,
    LendingContract,
    LendingInterest,
    LendingOffer,
    StreamTotals,
    UnderlyingPrice,
    VolatilityPrice,
)
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction, Phase, Session, State, StateEvent
from pregao.model.records import record
from pregao.model.updates import (
    BookEmptied,
    ChannelWasReset,
    ClosingPrice,
    ExecutionStatistics,
    ExecutionSummary,
    HighPrice,
    Imbalance,
    LastTrade,
    LevelUpdate,
    LowPrice,
    OpeningPrice,
    OpenInterest,
    OrderUpdate,
    PriceBand,
    QuantityBand,
    SettlementPrice,
    SideDeleted,
    TheoreticalPrice,
    Trade,
    TradeBusted,
    VwapPrice,
)

__all__ = [
    "CLEARING",
    "RECEIVED",
    "BookEmptied",
    "ChannelWasReset",
    "ClosingPrice",
    "CompositeCount",
    "CompositePrice",
    "Definition",
    "Event",
    "ExecutionStatistics",
    "ExecutionSummary",
    "HighPrice",
    "Imbalance",
    "IndexValue",
    "LastTrade",
    "LendingContract",
    "LendingInterest",
    "LendingOffer",
    "LevelUpdate",
    "LowPrice",
    "News",
    "OpenInterest",
    "OpeningPrice",
    "OrderUpdate",
    "PhaseChanged",
    "PriceBand",
    "QuantityBand",
    "SettlementPrice",
    "SideDeleted",
    "StateChanged",
    "StreamTotals",
    "TheoreticalPrice",
    "Trade",
    "TradeBusted",
    "UnderlyingPrice",
    "Update",
    "VolatilityPrice",
    "VwapPrice",
    "followed_phase",
]


def followed_phase(state: State | None, event: StateEvent | None) -> Phase | None:
    """The phase that the number of a 102 is; None of all other states."""
    if state is None or event is not StateEvent.REJOINS_GROUP or state not in Phase._value2member_map_:
        return None
    return Phase(int(state))


@record
class StateChanged:
    """State of an instrument (14). `state` None: as its group. `ends_ns` 0 or None: no end time.

    The number told with a 102 is the phase of the group that it follows again: `followed`."""

    security_id: int
    session: Session
    state: State | None
    event: StateEvent | None
    trade_date: int
    transact_ns: int
    ends_ns: int | None = None

    @property
    def followed(self) -> Phase | None:
        """The phase that an instrument says when it rejoins its group: 18 is PRE_CLOSE then."""
        return followed_phase(self.state, self.event)


@record
class PhaseChanged:
    """Phase of a group (14.2); the key of a group is group and exchange."""

    group: str
    exchange: str
    session: Session
    phase: Phase
    event: StateEvent | None
    trade_date: int
    transact_ns: int
    ends_ns: int | None = None


@record
class Definition:
    instrument: Instrument
    action: DefinitionAction


@record
class News:
    """A news text; the feeds cut it into parts (5.8). Not `complete`: some of them never came."""

    news_id: int | None
    headline: str
    text: str
    time_ns: int
    source: int = 3  # market surveillance
    language: str | None = "pt"
    url: str | None = None
    security_id: int | None = None
    complete: bool = True
    parts: int = field(default=1, compare=False)  # how the feed cut it: no part of what it says
    related: tuple[int, ...] = ()  # all that it names, where that is more than `security_id`


@record
class IndexValue:
    """An index computed from its members; Binary UMDF does not send it."""

    security_id: int
    value: int
    time_ns: int
    sequence: int


@record
class MarketTotal:
    """What a market has traded so far, as the exchange adds it up. `amount` is money in ten-thousandths;
    `groups` are the security groups, or the index, that it is of, where that was told."""

    symbol: str
    time_ns: int
    amount: int
    volume: int
    trades: int
    groups: tuple[str, ...] = ()


Update = (
    OrderUpdate | LevelUpdate | SideDeleted | BookEmptied | ChannelWasReset | Trade | TradeBusted
    | ExecutionSummary | ExecutionStatistics | OpeningPrice | TheoreticalPrice | ClosingPrice | HighPrice
    | LowPrice | LastTrade | SettlementPrice | OpenInterest | Imbalance | PriceBand | QuantityBand
    | StateChanged | PhaseChanged | Definition | News | IndexValue | LendingOffer | LendingContract
    | LendingInterest | StreamTotals | VolatilityPrice | CompositePrice | VwapPrice | CompositeCount
)  # fmt: skip

# Those of the clearing house and of registration systems: no command makes them.
CLEARING = frozenset(
    (LendingOffer, LendingContract, LendingInterest, StreamTotals, VolatilityPrice, CompositePrice)
)
# What feed handlers make of figures that an exchange tells otherwise, or of many rows.
RECEIVED = frozenset((VwapPrice, CompositeCount))


@record
class Event:
    """Updates that happened together; the last of them ends the event on the wire (4.2)."""

    updates: tuple[Update, ...]
