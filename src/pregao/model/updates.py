"""Updates of orders, books and trades, and of statistics, imbalances and bands.
`pregao.model.events` has all kinds, and what their numbers mean."""

from dataclasses import field

from pregao.model.market import (
    Action,
    Aggressor,
    BandType,
    ImbalanceSide,
    LimitType,
    Midpoint,
    PriceKind,
    PriceOrigin,
    Session,
    SettlementKind,
    Side,
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
class LevelUpdate:
    """A price level was added, changed, deleted or overlaid, in a feed that tells no orders (FIX/FAST 9.2).
    `position` is that of the level on its side, from 1; 0 where a feed has none, and the price finds it."""

    security_id: int
    action: Action
    side: Side
    price: int | None  # of an overlay, None: the level is gone
    size: int
    orders: int
    position: int
    transact_ns: int
    recovery: bool = False
    previous_size: int | None = None  # of a change, where the feed tells it


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
    forward: bool = field(default=False, compare=False)  # a termo; Binary UMDF does not tell it of a bust


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


# Updates of statistics, auctions' imbalances and bands. `pregao.model.events` has all kinds, and what their
# numbers mean.


@record
class ExecutionStatistics:
    """Session totals after an execution (13.2, 17). `value` is the money that changed hands, price times size
    of every trade, without a contract's multiplier; None where a system does not say it, as Binary UMDF."""

    security_id: int
    session: Session
    trade_date: int
    volume: int
    vwap: int | None
    net_change_fine: int | None
    trades: int
    time_ns: int
    value: int | None = None


@record
class OpeningPrice:
    security_id: int
    price: int
    net_change_fine: int | None
    trade_date: int
    time_ns: int
    origin: PriceOrigin = PriceOrigin.DAILY
    action: Action = Action.NEW
    interest_rate: int | None = field(default=None, compare=False)  # of a termo; Binary UMDF has none


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
    # Of the day before: how it was adjusted (PriceAdjustmentMethod); Binary UMDF does not tell it.
    adjustment: int | None = field(default=None, compare=False)


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
class VwapPrice:
    """Volume-weighted average price of the session, where it is told by itself (10.3 of FIX/FAST)."""

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
