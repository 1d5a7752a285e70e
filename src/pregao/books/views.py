"""What one sees of a book: orders, price levels, the best of each side."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pregao.model.market import Side
from pregao.model.records import record
from pregao.model.rows import NULL


class Policy(IntEnum):
    """What orders a side of a book. The system that feeds it says so with every row: see `model.rows`."""

    BY_PRICE = 0  # orders, by price and secondaryOrderID
    BY_POSITION = 1  # orders, by the position that each is told at
    BY_LEVEL = 2  # price levels, by position, as many as the side is deep


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
