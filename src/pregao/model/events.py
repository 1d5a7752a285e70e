"""What happens in a market, as every feed tells it and as the exchange says it.

Each class is one update. Updates that happened together are one `Event`: the last message of an
event carries endOfEvent on the wire (4.2). Times are nanoseconds since 1970, trade dates days
since 1970, prices ten-thousandths unless a name says `fine` (hundred-millionths).
"""

from pregao.model.instruments import Instrument
from pregao.model.market import (
    Action,
    Aggressor,
    BandType,
    DefinitionAction,
    ImbalanceSide,
    LimitType,
    Midpoint,
    Phase,
    PriceKind,
    PriceOrigin,
    Session,
    SettlementKind,
    Side,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from pregao.model.records import record


@record
class OrderUpdate:
    """An order was added, changed or deleted (12.1). `order_id` is the secondaryOrderID; `price` is
    None for orders without one (MOA, MOC); `position` is where it stands or stood on its side,
    from 1: wire versions below 15 need it."""

    security_id: int
    action: Action
    side: Side
    order_id: int
    price: int | None
    size: int  # after the update; of a deleted order, what was left of it
    position: int
    inserted_ns: int
    transact_ns: int
    previous_size: int | None = None  # of a change
    firm: int | None = None
    implied: bool = False
    recovery: bool = False


@record
class SideDeleted:
    """All orders of a side are gone (DELETE_THRU), or the first so many (DELETE_FROM, below 15)."""

    security_id: int
    action: Action
    side: Side
    transact_ns: int
    position: int | None = None


@record
class BookEmptied:
    """Both sides of a book are no longer valid; rptSeq starts again (6.5.13)."""

    security_id: int
    time_ns: int


@record
class ChannelWasReset:
    """All books of the channel are no longer valid (6.5.12)."""

    channel: int
    time_ns: int


@record
class Trade:
    """One trade (13.3); with `seller_days` or `interest_rate` a forward trade (13.5)."""

    security_id: int
    trade_id: int
    price: int
    size: int
    trade_date: int
    session: Session
    condition: TradeCondition
    transact_ns: int
    sub_type: TradeSubType | None = None
    buyer: int | None = None
    seller: int | None = None
    implied: bool = False
    forward: bool = False
    seller_days: int | None = None
    interest_rate: int | None = None  # ten-thousandths


@record
class TradeBusted:
    """A trade was cancelled by market supervision (13.4)."""

    security_id: int
    trade_id: int
    price: int
    size: int
    trade_date: int
    session: Session
    transact_ns: int
    implied: bool = False


@record
class ExecutionSummary:
    """First message of a matching event (13.1)."""

    security_id: int
    aggressor: Aggressor
    last_price: int
    fill_size: int
    hidden_size: int | None
    cancelled_size: int | None
    aggressor_ns: int
    transact_ns: int


@record
class ExecutionStatistics:
    """Session totals after an execution (13.2, 17)."""

    security_id: int
    session: Session
    trade_date: int
    volume: int
    vwap: int | None
    net_change_fine: int | None
    trades: int
    time_ns: int


@record
class OpeningPrice:
    security_id: int
    price: int
    net_change_fine: int | None
    trade_date: int
    time_ns: int
    origin: PriceOrigin = PriceOrigin.DAILY
    action: Action = Action.NEW


@record
class TheoreticalPrice:
    """Price and quantity an auction would have now (13.9.2); deleted when there is none."""

    security_id: int
    price: int | None
    size: int | None
    trade_date: int
    time_ns: int
    action: Action = Action.NEW


@record
class ClosingPrice:
    security_id: int
    price_fine: int
    trade_date: int
    time_ns: int
    origin: PriceOrigin
    last_trade_date: int | None = None


@record
class HighPrice:
    security_id: int
    price: int
    trade_date: int
    time_ns: int
    action: Action = Action.NEW


@record
class LowPrice:
    security_id: int
    price: int
    trade_date: int
    time_ns: int
    action: Action = Action.NEW


@record
class LastTrade:
    """The last trade as a statistic: in snapshots, and after a failure (13.6). Not a trade."""

    security_id: int
    trade_id: int
    price: int
    size: int
    trade_date: int
    session: Session
    condition: TradeCondition
    time_ns: int
    sub_type: TradeSubType | None = None
    buyer: int | None = None
    seller: int | None = None
    implied: bool = False
    seller_days: int | None = None
    interest_rate: int | None = None


@record
class SettlementPrice:
    security_id: int
    price: int
    trade_date: int
    time_ns: int
    origin: PriceOrigin | None  # may be null since wire version 17
    kind: SettlementKind
    price_kind: PriceKind = PriceKind.PER_UNIT
    settlement_date: int | None = None


@record
class OpenInterest:
    security_id: int
    size: int
    trade_date: int
    time_ns: int


@record
class Imbalance:
    """What is left over at the theoretical price (13.10)."""

    security_id: int
    side: ImbalanceSide
    size: int | None
    time_ns: int
    action: Action = Action.NEW


@record
class PriceBand:
    """Limits of one type (13.11): as prices or as percentages, never both."""

    security_id: int
    type: BandType | None  # None: the reference price
    time_ns: int
    limit_type: LimitType | None = None
    low: int | None = None
    high: int | None = None
    midpoint: Midpoint | None = None
    reference_fine: int | None = None


@record
class QuantityBand:
    security_id: int
    average_daily: int | None
    largest_order: int | None
    time_ns: int


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


@record
class IndexValue:
    """An index computed from its members; Binary UMDF does not send it."""

    security_id: int
    value: int
    time_ns: int
    sequence: int


Update = (
    OrderUpdate | SideDeleted | BookEmptied | ChannelWasReset | Trade | TradeBusted | ExecutionSummary
    | ExecutionStatistics | OpeningPrice | TheoreticalPrice | ClosingPrice | HighPrice | LowPrice | LastTrade
    | SettlementPrice | OpenInterest | Imbalance | PriceBand | QuantityBand | StateChanged | PhaseChanged
    | Definition | News | IndexValue
)  # fmt: skip


@record
class Event:
    """Updates that happened together; the last of them ends the event on the wire (4.2)."""

    updates: tuple[Update, ...]
