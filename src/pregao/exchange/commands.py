"""What can be asked of the engine. Every command carries its time; the engine has no clock.

Prices are ten-thousandths, quantities whole, dates days since 1970, as everywhere in the model.
Phases, auctions and bands have their own commands beside these.
"""

from enum import Enum

from pregao.exchange.orders import OrderType, SelfTrade, TimeInForce
from pregao.model.market import Side, TradeSubType
from pregao.model.records import record


@record
class NewOrder:
    now_ns: int
    security_id: int
    side: Side
    quantity: int
    price: int | None = None
    firm: int = 1
    type: OrderType = OrderType.LIMIT
    tif: TimeInForce = TimeInForce.DAY
    stop_price: int | None = None
    max_floor: int | None = None
    min_quantity: int | None = None
    investor_id: int | None = None
    stp: SelfTrade = SelfTrade.CANCEL_AGGRESSOR
    expire_date: int | None = None
    client_order_id: str = ""
    retail: bool = False  # of a retail investor: it meets the RLP orders of its own firm too


@record
class ChangeOrder:
    """`quantity` is the whole order's, executed part included; None leaves a value as it is."""

    now_ns: int
    order_id: int
    quantity: int | None = None
    price: int | None = None
    stop_price: int | None = None
    max_floor: int | None = None
    firm: int | None = None  # when given, must own the order


@record
class CancelOrder:
    now_ns: int
    order_id: int
    firm: int | None = None


@record
class MassCancel:
    """All orders of a firm, over all instruments or the given ones, as one event (4.2.1)."""

    now_ns: int
    firm: int
    security_ids: tuple[int, ...] | None = None
    side: Side | None = None


@record
class CancelSide:
    """The market supervisor deletes a whole side of a book (12.1.2)."""

    now_ns: int
    security_id: int
    side: Side


@record
class CrossOrder:
    now_ns: int
    security_id: int
    quantity: int
    price: int
    buyer: int
    seller: int


@record
class SweepAndCross:
    """Sweeps the book up to `price` on `side`, then crosses the rest within the firm (13.3.3)."""

    now_ns: int
    security_id: int
    side: Side
    quantity: int
    price: int
    firm: int
    investor_id: int | None = None


@record
class RlpOrder:
    """A hidden order of a retail liquidity provider: its own firm's incoming retail orders meet it."""

    now_ns: int
    security_id: int
    side: Side
    quantity: int
    price: int
    firm: int


class BlockKind(Enum):
    RFQ = TradeSubType.RFQ
    BLOCK_BOOK = TradeSubType.BLOCK_BOOK
    MIDPOINT = TradeSubType.MIDPOINT


@record
class BlockTrade:
    """Without `price` where it is a midpoint trade: that is in the middle of the book."""

    now_ns: int
    security_id: int
    kind: BlockKind
    quantity: int
    buyer: int
    seller: int
    price: int | None = None


@record
class TacTrade:
    """Agreed now, it trades at the closing price (TAC) when that is published."""

    now_ns: int
    security_id: int
    quantity: int
    buyer: int
    seller: int


@record
class TaaTrade:
    """Agreed now, it trades at the average of the session (TAA) when the closing price is published."""

    now_ns: int
    security_id: int
    quantity: int
    buyer: int
    seller: int


@record
class ForwardTrade:
    """A termo; with `cash_security_id` and `cash_price` a termo vista, forward and cash (13.1, 13.5)."""

    now_ns: int
    security_id: int
    quantity: int
    price: int
    buyer: int
    seller: int
    seller_days: int | None = None
    interest_rate: int | None = None
    cash_security_id: int | None = None
    cash_price: int | None = None


@record
class TradeOnBehalf:
    """A trade entered by the marketplace for two firms, of a block kind if so told."""

    now_ns: int
    security_id: int
    quantity: int
    price: int
    buyer: int
    seller: int
    kind: BlockKind | None = None


@record
class ManualTrade:
    """A trade inserted out of sequence by market operations; its time is theirs to set."""

    now_ns: int
    security_id: int
    quantity: int
    price: int
    buyer: int
    seller: int
    transact_ns: int | None = None


@record
class BustTrade:
    now_ns: int
    security_id: int
    trade_id: int
    trade_date: int | None = None  # None: the current one


@record
class AmendTrade:
    """Corrects a trade of the current date: it is busted and told again under its own tradeID."""

    now_ns: int
    security_id: int
    trade_id: int
    quantity: int | None = None
    price: int | None = None
    buyer: int | None = None
    seller: int | None = None
    transact_ns: int | None = None  # set manually by market operations (13.3)


@record
class MoveInstrument:
    """The instrument goes to another matching engine; its GT orders are restated (12.1)."""

    now_ns: int
    security_id: int
    segment: int
