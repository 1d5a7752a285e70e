"""What one sees of a book: orders, price levels, the best of each side."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pregao.model.market import Side
from pregao.model.records import record
from pregao.model.rows import NULL


class SidePolicy(IntEnum):
    """What orders a side of a book. The system that feeds it says so with every row: see `model.rows`."""

    BY_PRICE = 0  # orders, by price and secondaryOrderID
    BY_POSITION = 1  # orders, by the position that each is told at
    BY_LEVEL = 2  # price levels, by position, as many as the side is deep
    BY_RATE = 3  # as BY_POSITION, of prices that are rates: the lower is the better bid, the higher the offer


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


@record
class QueuePosition:
    """Where an order stands: how much is before it at its price."""

    side: Side
    price: int | None
    orders_ahead: int
    size_ahead: int


class SideLevels(NamedTuple):
    """Price levels of a side, best first, a column for each figure. Prices are ten-thousandths; a level at
    any price (MOA, MOC) comes first and has the price `NO_PRICE`."""

    price: NDArray[np.int64]
    size: NDArray[np.int64]
    orders: NDArray[np.int64]


class BookLevels(NamedTuple):
    bids: SideLevels
    offers: SideLevels


NO_PRICE: Final = NULL

# No price ranks above every price, on both sides (12.1).
_UNPRICED: Final = 1 << 63


def rank(side: Side, price: int | None) -> int:
    """Greater is nearer to the top."""
    if price is None:
        return _UNPRICED
    return price if side is Side.BUY else -price


# Updates that do not fit the book they are for. Each has one rule, is counted, and makes the book suspect
# until it is emptied or replaced by a snapshot.
#
# | what | rule | |---|---| | ORDER_EXISTS | a new order with an id that is there: it takes the other's place;
# when positions become prices and two orders have one id, the one behind goes | | UNKNOWN_CHANGE | a change
# of an order that is not there: the order is added, for the message has all of it | | UNKNOWN_DELETE | a
# delete of an order that is not there: nothing | | PRICE_DIFFERS | a change or delete of an order or level
# that has another price: the id or position decides, a changed order moves | | ID_DIFFERS | by position:
# another order stands there: the position decides | | POSITION | a position that is not there: a new entry
# goes to the end, unless that is beyond the depth; DELETE_FROM takes all there are, anything else does
# nothing | | MALFORMED | no such action or side, or a size that is not 0 to `MAX_SIZE`: nothing | | OVERFLOW
# | more orders than the store may hold, or more levels than `MAX_LEVELS` on a side without a depth: the new
# one is left out | | PRICE_ORDER | a level whose price is not between those of its neighbours, as one that is
# there twice: the position decides | | POLICY | a level for a side that holds orders, or an order for one
# that holds levels: the side is emptied first | | SIZE_DIFFERS | a change that tells another size before it
# than the order has (37780 of PUMA Conflated): the size that it tells now counts |


# A level's size is a sum in 64 bits, which 131,072 orders of this size on one level would fill. With eight
# places, as bonds in fractions have, it is 703,687.
MAX_SIZE: Final = 1 << 46
MAX_LEVELS: Final = 1 << 14  # of a side that is kept by level and has no depth


class Anomaly(IntEnum):
    ORDER_EXISTS = 0
    UNKNOWN_CHANGE = 1
    UNKNOWN_DELETE = 2
    PRICE_DIFFERS = 3
    ID_DIFFERS = 4
    POSITION = 5
    MALFORMED = 6
    OVERFLOW = 7
    PRICE_ORDER = 8
    POLICY = 9
    SIZE_DIFFERS = 10
