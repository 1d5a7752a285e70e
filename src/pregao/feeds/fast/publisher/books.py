"""What the book entries of a channel say of the orders that came, changed and went.

By order (MBO) each update is an entry, except that a sweep is one Delete From. By level (MBP) and of the best
level (TOB) the entries of an event are one way from the rows before it to the rows after it: they stand where
its first update of the book stands.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pregao.feeds.fast.publisher import entries as n
from pregao.feeds.fast.publisher.levels import LevelChange, LevelSide, level_changes, top_changes
from pregao.feeds.publishers import joined_sweeps
from pregao.feeds.publishing import BookSource
from pregao.model import events as e
from pregao.model.market import Action, Side

TOP: Final = 1
_BOOK: Final = (e.OrderUpdate, e.SideDeleted)
_Key = tuple[int, Side]


class PublishedBooks:
    """Of one channel. `depth` None: by order; 1: the best level; else so many levels."""

    def __init__(self, depth: int | None) -> None:
        self.depth = depth
        self._sides: dict[_Key, LevelSide] = {}

    def start(self, source: BookSource) -> None:
        """Books that were there before the publisher, as listeners know them."""
        if self.depth is None:
            return
        for security_id in source.instruments():
            book = source.book(security_id)
            if book is None:
                continue
            for side, orders in ((Side.BUY, book.bids), (Side.SELL, book.offers)):
                levels = self._side((security_id, side))
                levels.set(orders)
                levels.seen = levels.best(self.depth)

    def forget(self, security_id: int) -> None:
        for side in Side:
            self._sides.pop((security_id, side), None)

    def _side(self, key: _Key) -> LevelSide:
        found = self._sides.get(key)
        if found is None:
            found = self._sides[key] = LevelSide(key[1])
        return found

    def entries_of(self, updates: Sequence[e.Update | None], *, executed: bool) -> list[list[n.Entry] | None]:
        """The entries of each update of an event; None: it has none. An empty list: it is in those before."""
        if self.depth is None:
            return _by_order(updates, executed=executed)
        found: list[list[n.Entry] | None] = [None] * len(updates)
        places = [index for index, each in enumerate(updates) if isinstance(each, _BOOK)]
        if not places:
            self._empty(updates)
            return found
        made = self._by_level([each for each in updates if each is not None], executed=executed)
        if made:
            for index in places:
                found[index] = []
            found[places[0]] = made
        return found

    def entries_of_order(self, update: e.OrderUpdate) -> list[n.Entry]:
        """The same of an event that is an order that came, changed or went: most are. Empty: nobody is told.
        Below the rows that are told nothing changes for listeners."""
        if self.depth is None:
            return [n.order_entry(update)]
        levels = self._side((update.security_id, update.side))
        if _count(levels, update) >= self.depth:
            return []
        return [
            n.level_entry(change, update.security_id, update.transact_ns, recovery=update.recovery)
            for change in self._changes(update.side, levels, executed=False)
        ]

    def _empty(self, updates: Iterable[e.Update | None]) -> None:
        for update in updates:
            if isinstance(update, e.BookEmptied):
                self.forget(update.security_id)

    def _by_level(self, updates: Iterable[e.Update], *, executed: bool) -> list[n.Entry]:
        assert self.depth is not None
        made: list[n.Entry] = []
        changed: dict[_Key, tuple[int, bool]] = {}  # time, and whether it is told again
        for update in updates:
            if isinstance(update, e.BookEmptied):
                self.forget(update.security_id)
            elif isinstance(update, e.OrderUpdate):
                key = update.security_id, update.side
                _count(self._side(key), update)
                changed[key] = update.transact_ns, update.recovery
            elif isinstance(update, e.SideDeleted):
                key = update.security_id, update.side
                levels = self._side(key)
                levels.clear()
                if levels.seen:
                    made.append(n.side_entry(update))
                levels.seen = []
                changed[key] = update.transact_ns, False
        for key, (time_ns, recovery) in changed.items():
            for change in self._changes(key[1], self._side(key), executed=executed):
                made.append(n.level_entry(change, key[0], time_ns, recovery=recovery))
        return made

    def _changes(self, side: Side, levels: LevelSide, *, executed: bool) -> list[LevelChange]:
        assert self.depth is not None
        if self.depth == TOP:
            return top_changes(side, levels, executed=executed)
        return level_changes(side, levels, self.depth, executed=executed)


def _count(levels: LevelSide, update: e.OrderUpdate) -> int:
    """At which level it changed something."""
    if update.action is Action.NEW:
        return levels.count(update.price, update.size, 1)
    if update.action is Action.CHANGE:
        assert update.previous_size is not None
        return levels.count(update.price, update.size - update.previous_size, 0)
    return levels.count(update.price, -update.size, -1)


def _by_order(updates: Sequence[e.Update | None], *, executed: bool) -> list[list[n.Entry] | None]:
    """Side by side: an uncross fills orders of both in turn, and each is one Delete From all the same. An
    entry stands where its first update stands."""
    found: list[list[n.Entry] | None] = [None] * len(updates)
    sides: dict[_Key, list[tuple[int, e.OrderUpdate | e.SideDeleted]]] = {}
    for index, each in enumerate(updates):
        if isinstance(each, _BOOK):
            sides.setdefault((each.security_id, each.side), []).append((index, each))
    for kept in sides.values():
        _side_by_order(kept, found, executed=executed)
    return found


def _side_by_order(
    kept: Sequence[tuple[int, e.OrderUpdate | e.SideDeleted]],
    found: list[list[n.Entry] | None],
    *,
    executed: bool,
) -> None:
    said: Sequence[e.Update] = [each for _, each in kept]
    if executed and len(said) > 1:
        said = joined_sweeps(said)
    place = 0
    for update in said:
        index = kept[place][0]
        if isinstance(update, e.OrderUpdate):
            found[index], run = [n.order_entry(update)], 1
        else:
            assert isinstance(update, e.SideDeleted)
            found[index] = [n.side_entry(update)]
            run = update.position or 1 if update.action is Action.DELETE_FROM else 1
        for other, _ in kept[place + 1 : place + run]:
            found[other] = []
        place += run
