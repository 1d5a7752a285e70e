"""The plain book of one instrument: slow, obvious, what the kernel is held against.

How a side is ordered is said with each update for it, so a feed may change its mind in mid-stream: the side
is then put in the other order first.
"""

from collections import Counter

from pregao.books.views import MAX_SIZE, Anomaly, Level, Order, SidePolicy, Top
from pregao.model.events import BookEmptied, LevelUpdate, OrderUpdate, SideDeleted
from pregao.model.market import Action, Side
from pregao.model.rows import Flag
from tests.twins.plain_sides import BookSide, Found, SideByLevel, SideByPosition, SideByPrice, rank_of

BookUpdate = OrderUpdate | LevelUpdate | SideDeleted | BookEmptied
_OF_AN_ORDER = frozenset((Action.NEW, Action.CHANGE, Action.DELETE))
_POLICIES = {
    SideByPrice: SidePolicy.BY_PRICE,
    SideByPosition: SidePolicy.BY_POSITION,
    SideByLevel: SidePolicy.BY_LEVEL,
}


class ReferenceBook:
    """`depth`: of sides whose levels are told; 0: any."""

    def __init__(self, depth: int = 0) -> None:
        self.anomalies: Counter[Anomaly] = Counter()  # ever
        self.suspect = False  # since it was last emptied
        self._depth = depth
        self._sides: dict[Side, BookSide] = {side: SideByPrice(side, (), []) for side in Side}

    def apply(self, update: BookUpdate, flags: Flag = Flag(0)) -> None:  # noqa: B008
        """`flags` as a row has them: those that are about books count."""
        if isinstance(update, BookEmptied):
            self.clear()
            return
        found: Found = []
        if isinstance(update, OrderUpdate):
            self._apply_order(update, flags, found)
        elif isinstance(update, LevelUpdate):
            self._apply_level(update, flags, found)
        elif update.action is Action.DELETE_THRU:
            self._clear(update.side)
        elif update.action is Action.DELETE_FROM:
            self._delete_from(update, flags, found)
        else:
            found.append(Anomaly.MALFORMED)
        self.anomalies.update(found)
        self.suspect |= bool(found)

    def _apply_order(self, update: OrderUpdate, flags: Flag, found: Found) -> None:
        by_position = Flag.BY_POSITION in flags
        overlaid = by_position and update.action is Action.OVERLAY
        removed = update.action is Action.DELETE or (overlaid and update.price is None and update.size <= 0)
        if not (update.action in _OF_AN_ORDER or overlaid) or not (removed or 0 <= update.size <= MAX_SIZE):
            found.append(Anomaly.MALFORMED)
        elif by_position:
            self._by_position(update.side, flags, found).apply(update, found)
        else:
            self._by_price(update.side, found).apply(update, Flag.PRICE_UNTOLD in flags, found)

    def _apply_level(self, update: LevelUpdate, flags: Flag, found: Found) -> None:
        overlaid = update.action is Action.OVERLAY
        removed = update.action is Action.DELETE or (overlaid and update.price is None)
        if not (update.action in _OF_AN_ORDER or overlaid) or not (removed or 0 <= update.size <= MAX_SIZE):
            found.append(Anomaly.MALFORMED)
        elif Flag.FOUND_BY_PRICE not in flags:
            self._by_level(update.side, found).apply(update, found)
        elif overlaid:
            self._by_level(update.side, found)
            found.append(Anomaly.MALFORMED)
        else:
            self._by_level(update.side, found).apply_by_price(update, found)

    def _delete_from(self, update: SideDeleted, flags: Flag, found: Found) -> None:
        side = self._sides[update.side]
        if not isinstance(side, SideByLevel):  # positions of levels are positions too
            by_position = Flag.BY_POSITION in flags
            side = (
                self._by_position(update.side, flags, found)
                if by_position
                else self._by_price(update.side, found)
            )
        side.delete_from(update.position or 0, found)

    def _by_price(self, side: Side, found: Found) -> SideByPrice:
        current = self._sides[side]
        if not isinstance(current, SideByPrice):
            current = self._sides[side] = SideByPrice(side, self._kept(current, found), found)
        return current

    def _by_position(self, side: Side, flags: Flag, found: Found) -> SideByPosition:
        current, in_rates = self._sides[side], Flag.IN_RATES in flags
        if isinstance(current, SideByPosition):
            current.in_rates = in_rates
            return current
        kept = self._kept(current, found)
        if in_rates:  # by price of rates, and then by id
            kept.sort(key=lambda order: (-rank_of(side, order.price, in_rates=True), order.order_id))
        made = self._sides[side] = SideByPosition(side, kept, in_rates=in_rates)
        return made

    def _by_level(self, side: Side, found: Found) -> SideByLevel:
        current = self._sides[side]
        if not isinstance(current, SideByLevel):
            if current.orders():
                found.append(Anomaly.POLICY)
            current = self._sides[side] = SideByLevel(side, self._depth)
        return current

    def _kept(self, side: BookSide, found: Found) -> list[Order]:
        """The orders of a side; levels have none."""
        if isinstance(side, SideByLevel) and side.levels():
            found.append(Anomaly.POLICY)
        return side.orders()

    def _clear(self, side: Side) -> None:
        by_level = isinstance(self._sides[side], SideByLevel)
        self._sides[side] = SideByLevel(side, self._depth) if by_level else SideByPrice(side, (), [])

    def clear(self) -> None:
        """Known to be empty, so nothing is suspect any more."""
        for side in Side:
            self._clear(side)
        self.suspect = False

    def set_depth(self, depth: int) -> None:
        self._depth = depth
        for side in self._sides.values():
            if isinstance(side, SideByLevel):
                side.depth = depth
                side.trim()

    def policy(self, side: Side) -> SidePolicy:
        return SidePolicy.BY_RATE if self._in_rates(side) else _POLICIES[type(self._sides[side])]

    def _in_rates(self, side: Side) -> bool:
        current = self._sides[side]
        return isinstance(current, SideByPosition) and current.in_rates

    def orders(self, side: Side) -> list[Order]:
        return self._sides[side].orders()

    def levels(self, side: Side) -> list[Level]:
        return self._sides[side].levels()

    @property
    def top(self) -> Top:
        bids, offers = self.levels(Side.BUY), self.levels(Side.SELL)
        return Top(bids[0] if bids else None, offers[0] if offers else None)

    def check_invariants(self) -> None:
        for side in Side:
            orders, levels = self.orders(side), self.levels(side)
            ranks = [rank_of(side, level.price, in_rates=self._in_rates(side)) for level in levels]
            by_level = isinstance(self._sides[side], SideByLevel)
            if not by_level or not self.suspect:
                assert ranks == sorted(set(ranks), reverse=True), "levels are in order, each price once"
            assert all(level.size >= 0 for level in levels)
            if by_level:
                assert not orders
                assert len(levels) <= self._depth or not self._depth
                continue
            assert sum(level.orders for level in levels) == len(orders)
            assert sum(level.size for level in levels) == sum(order.size for order in orders)
            assert all(0 <= order.size <= MAX_SIZE for order in orders)
            if isinstance(self._sides[side], SideByPrice):
                assert len({order.order_id for order in orders}) == len(orders)
