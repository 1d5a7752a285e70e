"""An order inside the engine. `order_id` is private and stays; `secondary_id` is what the market sees
and changes with every loss of priority (12.1)."""

from enum import IntEnum

from pregao.model.market import Side

# Orders without a price stand before every price level of their side (12.1).
_FIRST = -(1 << 62)
_BUY = Side.BUY  # looking an enum's member up costs more than most of what is done with it


def key_of(side: Side, price: int | None, secondary_id: int) -> int:
    """The place of an order on its side as one integer: price first, then secondaryOrderID."""
    level = _FIRST if price is None else -price if side is _BUY else price
    return (level << 64) + secondary_id


class OrderType(IntEnum):
    LIMIT = 1
    MARKET = 2
    STOP = 3
    STOP_LIMIT = 4
    MARKET_ON_AUCTION = 5
    MARKET_ON_CLOSE = 6
    RLP = 7  # hidden, for the retail orders of its own firm (13.1)


class TimeInForce(IntEnum):
    DAY = 0
    GTC = 1
    IOC = 3
    FOK = 4
    GTD = 6


class Place(IntEnum):
    """Where an order is kept. Only what is in the book is seen."""

    NOWHERE = 0
    BOOK = 1
    STOP = 2
    ON_CLOSE = 3
    HIDDEN = 4


class SelfTrade(IntEnum):
    """What self-trade prevention cancels; the aggressor's instruction counts (13.1.2)."""

    CANCEL_AGGRESSOR = 1
    CANCEL_RESTING = 2
    CANCEL_BOTH = 3


_NOWHERE = Place.NOWHERE
_CANCEL_AGGRESSOR = SelfTrade.CANCEL_AGGRESSOR


class Order:
    """`shown` is what the book displays, `leaves` what is left in all; the difference is hidden."""

    __slots__ = (
        "client_order_id", "executed", "expire_date", "firm", "implied", "inserted_ns", "investor_id", "key",
        "leaves", "max_floor", "min_quantity", "order_id", "place", "price", "quantity", "retail",
        "secondary_id", "security_id", "shown", "side", "stop_price", "stp", "tif", "type",
    )  # fmt: skip

    def __init__(
        self,
        order_id: int,
        security_id: int,
        side: Side,
        type: OrderType,  # noqa: A002 (FIX's own word)
        tif: TimeInForce,
        quantity: int,
        price: int | None,
        firm: int | None,
        inserted_ns: int,
        stop_price: int | None = None,
        max_floor: int | None = None,
        min_quantity: int | None = None,
        investor_id: int | None = None,
        stp: SelfTrade = _CANCEL_AGGRESSOR,
        expire_date: int | None = None,
        client_order_id: str = "",
    ) -> None:
        self.order_id = order_id
        self.secondary_id = 0
        self.security_id = security_id
        self.side = side
        self.type = type
        self.tif = tif
        self.quantity = quantity
        self.leaves = quantity
        self.shown = quantity
        self.executed = 0
        self.price = price
        self.firm = firm
        self.inserted_ns = inserted_ns
        self.key = 0
        self.place = _NOWHERE
        self.stop_price = stop_price
        self.max_floor = max_floor
        self.min_quantity = min_quantity
        self.investor_id = investor_id
        self.stp = stp
        self.expire_date = expire_date
        self.client_order_id = client_order_id
        self.implied = False
        self.retail = False  # of a retail investor: meets the RLP orders of its own firm

    def take_priority(self, secondary_id: int, now_ns: int) -> None:
        """A new place in the queue: a new id, a fresh display, a new insertion time."""
        self.secondary_id = secondary_id
        self.inserted_ns = now_ns
        floor = self.max_floor
        self.shown = self.leaves if floor is None or floor > self.leaves else floor
        price = self.price
        level = _FIRST if price is None else -price if self.side is _BUY else price
        self.key = (level << 64) + secondary_id  # as `key_of`: every order comes by here

    def rank(self) -> None:
        self.key = key_of(self.side, self.price, self.secondary_id)

    @property
    def survives_session(self) -> bool:
        return self.tif is TimeInForce.GTC or self.tif is TimeInForce.GTD

    def __repr__(self) -> str:
        return (
            f"Order({self.order_id}/{self.secondary_id} {self.side.name} {self.shown}"
            f"[{self.leaves}]@{self.price} {self.type.name})"
        )
