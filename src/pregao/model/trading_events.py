"""Updates of orders, books and trades. `pregao.model.events` has all kinds, and what their numbers mean."""

from pregao.model.market import Action, Aggressor, Session, Side, TradeCondition, TradeSubType
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
    `position` is that of the level on its side, from 1."""

    security_id: int
    action: Action
    side: Side
    price: int | None  # of an overlay, None: the level is gone
    size: int
    orders: int
    position: int
    transact_ns: int
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
