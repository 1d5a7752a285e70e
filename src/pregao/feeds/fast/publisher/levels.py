"""Price levels of the orders of a book, and what those who see only the best of them are told (9.2, 9.3).

A publisher of levels knows all of them. A listener has `depth` rows a side: an insert pushes the last of
them out untold, a delete leaves one row fewer, and the row that comes into sight is told as new (9.2.1). So
what is told of an event is the way from the rows before it to those after it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from pregao.feeds.publishing import BookOrder
from pregao.model.market import Action, Side

_price: Final = attrgetter("price")
_UNPRICED: Final = -(1 << 62)  # orders without price stand first (9.1)


class Row(NamedTuple):
    """A level as it is told."""

    price: int | None
    size: int
    orders: int


class LevelChange(NamedTuple):
    """An entry of the book: what happens to which position. `row` is None where something goes."""

    action: Action
    side: Side
    position: int
    row: Row | None = None


class LevelSide:
    """All levels of a side, best first, and the rows that listeners have."""

    __slots__ = ("_keys", "_rows", "seen", "sign")

    def __init__(self, side: Side) -> None:
        self.sign = -1 if side is Side.BUY else 1
        self._keys: list[int] = []
        self._rows: list[Row] = []
        self.seen: list[Row] = []  # as listeners have them

    def _key(self, price: int | None) -> int:
        return _UNPRICED if price is None else self.sign * price

    def count(self, price: int | None, size: int, orders: int) -> int:
        """So much more, or less, at a price; which of the levels that is, from 0."""
        key = _UNPRICED if price is None else self.sign * price
        place = bisect_left(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            self._keys.insert(place, key)
            self._rows.insert(place, Row(price, size, orders))
            return place
        row = self._rows[place]
        if row.orders + orders:
            self._rows[place] = Row(price, row.size + size, row.orders + orders)
        else:
            del self._keys[place]
            del self._rows[place]
        return place

    def set(self, orders: Iterable[BookOrder]) -> None:
        self.clear()
        for order in orders:
            self.count(order.price, order.size, 1)

    def clear(self) -> None:
        self._keys, self._rows = [], []

    def best(self, depth: int) -> list[Row]:
        return self._rows[:depth]

    def has(self, price: int | None) -> bool:
        key = self._key(price)
        place = bisect_left(self._keys, key)
        return place < len(self._keys) and self._keys[place] == key


def level_changes(side: Side, levels: LevelSide, depth: int, *, executed: bool) -> list[LevelChange]:
    """From the rows that listeners have to the best `depth` of now. `executed`: the event traded, so that
    rows gone from the top are one Delete From (9.4)."""
    rows, changes = levels.seen, list[LevelChange]()
    wanted = levels.best(depth)
    if rows == wanted:
        return changes
    stays = {row.price for row in wanted}
    gone = [index for index, row in enumerate(rows) if row.price not in stays and not levels.has(row.price)]
    swept = next((n for n, index in enumerate(gone) if index != n), len(gone)) if executed else 0
    if swept > 1:
        changes.append(LevelChange(Action.DELETE_FROM, side, swept))
        del rows[:swept]
        gone = [index - swept for index in gone[swept:]]
    for index in reversed(gone):
        changes.append(LevelChange(Action.DELETE, side, index + 1))
        del rows[index]
    for index, row in enumerate(wanted):
        known = rows[index] if index < len(rows) else None
        if known == row:
            continue
        if known is not None and known.price == row.price:
            changes.append(LevelChange(Action.CHANGE, side, index + 1, row))
            rows[index] = row
        else:
            changes.append(LevelChange(Action.NEW, side, index + 1, row))
            rows.insert(index, row)
            del rows[depth:]
    assert rows == wanted, "the rows that are told are those of the book"
    return changes


def top_changes(side: Side, levels: LevelSide, *, executed: bool) -> list[LevelChange]:
    """The best level by overlay (9.3, 9.6); a side that becomes empty by a delete, or by a Delete From where
    it was swept or closed (certification script B4.2)."""
    rows, wanted = levels.seen, levels.best(1)
    if rows == wanted:
        return []
    levels.seen = wanted
    if wanted:
        return [LevelChange(Action.OVERLAY, side, 1, wanted[0])]
    return [LevelChange(Action.DELETE_FROM if executed else Action.DELETE, side, 1)]


def whole_side(orders: Sequence[BookOrder], depth: int) -> list[Row]:
    """The best levels of orders in priority: those of one price follow each other, and lower ones than are
    wanted are not looked at."""
    rows: list[Row] = []
    for price, same in groupby(orders, key=_price):
        if len(rows) == depth:
            break
        sizes = [order.size for order in same]
        rows.append(Row(price, sum(sizes), len(sizes)))
    return rows
