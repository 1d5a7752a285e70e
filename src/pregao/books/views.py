"""What one sees of a book: orders, price levels, the best of each side."""

from dataclasses import dataclass
from typing import Final

from pregao.model.market import Side
from pregao.model.records import record


@record
class Order:
    order_id: int
    price: int | None  # None: at any price (MOA, MOC)
    size: int
    inserted_ns: int
    firm: int | None = None
    implied: bool = False


@record
class Level:
    price: int | None
    size: int
    orders: int


@dataclass(frozen=True, slots=True)
class Top:
    bid: Level | None = None
    offer: Level | None = None


# No price ranks above every price, on both sides (12.1).
_UNPRICED: Final = 1 << 63


def rank(side: Side, price: int | None) -> int:
    """Greater is nearer to the top."""
    if price is None:
        return _UNPRICED
    return price if side is Side.BUY else -price
