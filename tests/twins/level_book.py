"""Market by price from messages about orders, without keeping the orders: from wire version 16 a change tells
the size before it and a delete the size and price that go (12.1.1.1, 12.1.1.2)."""

from pregao.books.views import Level, Top, rank
from pregao.model.events import BookEmptied, OrderUpdate, SideDeleted
from pregao.model.market import Action, Side


class LevelBook:
    """An update that takes more than is there, or cannot be told from its message alone, makes the
    book suspect; what would be negative is gone."""

    def __init__(self) -> None:
        self.suspect = False
        self._sides: dict[Side, dict[int | None, tuple[int, int]]] = {}
        self.clear()

    def apply(self, update: OrderUpdate | SideDeleted | BookEmptied) -> None:
        if isinstance(update, BookEmptied):
            self.clear()
        elif isinstance(update, SideDeleted):
            self.suspect |= update.action is not Action.DELETE_THRU
            self._sides[update.side].clear()
        elif update.action is Action.NEW:
            self._add(update, update.size, 1)
        elif update.action is Action.DELETE:
            self._add(update, -update.size, -1)
        elif update.action is Action.CHANGE and update.previous_size is not None:
            self._add(update, update.size - update.previous_size, 0)
        else:
            self.suspect = True

    def _add(self, update: OrderUpdate, size: int, orders: int) -> None:
        levels = self._sides[update.side]
        old_size, old_orders = levels.get(update.price, (0, 0))
        size, orders = old_size + size, old_orders + orders
        if orders > 0 and size >= 0:
            levels[update.price] = size, orders
            return
        self.suspect |= orders < 0 or size != 0
        levels.pop(update.price, None)

    def clear(self) -> None:
        self._sides = {side: {} for side in Side}
        self.suspect = False

    def levels(self, side: Side) -> list[Level]:
        told = self._sides[side].items()
        ranked = sorted(told, key=lambda entry: -rank(side, entry[0]))
        return [Level(price, size, orders) for price, (size, orders) in ranked]

    @property
    def top(self) -> Top:
        bids, offers = self.levels(Side.BUY), self.levels(Side.SELL)
        return Top(bids[0] if bids else None, offers[0] if offers else None)
