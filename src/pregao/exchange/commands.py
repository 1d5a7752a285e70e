"""What can be asked of the engine. Every command carries its time; the engine has no clock.

Prices are ten-thousandths, quantities whole, dates days since 1970, as everywhere in the model.
Phases, auctions and bands have their own commands beside these.
"""

from dataclasses import dataclass
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


# Why a command was refused. A rejected command changed nothing and published nothing (4.2.3).


class RejectReason(Enum):
    """The code of tag 103 where B3's texts print one, else None, and the text."""

    UNKNOWN_COMMAND = (None, "The engine has no handler for this command")
    UNKNOWN_INSTRUMENT = (None, "Unknown instrument")
    UNKNOWN_ORDER = (None, "Unknown order")
    UNKNOWN_TRADE = (None, "Unknown trade")
    UNKNOWN_SEGMENT = (None, "Unknown segment")
    NOT_THE_OWNER = (None, "The order belongs to another firm")
    STATE_FORBIDS_ENTRY = (None, "The instrument's state does not accept orders")
    STATE_FORBIDS_CANCEL = (None, "The instrument's state does not accept cancels")
    STATE_FORBIDS_TRADE = (None, "The instrument's state does not accept this trade")
    TYPE_NEEDS_AUCTION = (None, "Market-on-auction orders are accepted only during an auction")
    TYPE_NEEDS_OPEN = (None, "This order type or time in force is accepted only while the instrument is open")
    QUANTITY_INVALID = (None, "Quantity is not positive, not a multiple of the lot, or out of bounds")
    QUANTITY_BELOW_EXECUTED = (None, "Quantity is not above what was executed already")
    MAX_FLOOR_INVALID = (None, "MaxFloor is not positive, not a multiple of the lot, or above the quantity")
    MIN_QUANTITY_INVALID = (None, "MinQty is not positive or above the quantity")
    PRICE_MISSING = (None, "This order type needs a price")
    PRICE_NOT_ALLOWED = (None, "This order type has no price")
    PRICE_INVALID = (None, "Price is not positive or not a multiple of the tick")
    STOP_PRICE_MISSING = (None, "This order type needs a stop price")
    STOP_PRICE_NOT_ALLOWED = (None, "This order type has no stop price")
    STOP_PRICE_REACHED = (None, "The stop price is already reached by the last trade")
    EXPIRE_DATE_INVALID = (None, "GTD needs an expire date that is not past; other orders have none")
    GT_NOT_ACCEPTED = (None, "The instrument does not accept GTC and GTD orders")
    CHANGE_NOT_ALLOWED = (None, "This attribute of this order cannot be changed")
    NOTHING_CHANGED = (None, "The change changes nothing")
    CROSS_TOO_SMALL = (None, "Quantity is below the smallest of a cross")
    CROSS_OUTSIDE_SPREAD = (None, "A cross must be within the best bid and offer")
    NO_REFERENCE_PRICE = (None, "There is no opposite price to trade at")
    NOT_A_FORWARD = (None, "Not a forward instrument, or not its underlying")
    NO_CHANGE_OF_SEGMENT = (None, "The instrument is already in this segment")
    PRICE_OUTSIDE_HARD_LIMIT = (None, "Price outside the hard limit")
    PRICE_OUTSIDE_REJECTION_BAND = (None, "Price outside the rejection band")
    PRICE_OUTSIDE_STATIC_LIMIT = (None, "Price outside the static limit")
    PRICE_OUTSIDE_AUCTION_BAND = (None, "Price outside the auction band")
    QUANTITY_ABOVE_LIMIT = (None, "Quantity above the instrument's quantity limit")
    AUCTION_SYNCHRONISM = (7153, "Instrument has an auction synchronism in progress")
    DUPLICATE_ID = (None, "An instrument of this id is there already")
    DUPLICATE_SYMBOL = (None, "An instrument of this symbol is there already")
    INSTRUMENT_INVALID = (None, "The instrument would contradict itself")
    INSTRUMENT_IN_USE = (None, "The instrument is needed")
    ORDERS_OPEN = (None, "Open orders would break the new rules")
    TRADES_OPEN = (None, "The instrument traded in this session")
    NOT_NOW = (None, "The group or instrument is not in a state that allows this")

    def __init__(self, code: int | None, text: str) -> None:
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Rejection:
    reason: RejectReason
    detail: str = ""

    @property
    def text(self) -> str:
        return f"{self.reason.text}: {self.detail}" if self.detail else self.reason.text
