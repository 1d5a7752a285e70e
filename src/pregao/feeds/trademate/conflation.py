"""Books at ticks, for who wants them so: what a side has come to since it was last told, by position.

Applied in order to the side that was told they give the side as it is: orders that went first, from the last
position to the first, then new and changed ones from the first to the last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pregao.feeds.trademate.feed import TrademateFeed
from pregao.model.events import OrderUpdate
from pregao.model.market import Action, Side

_Sides = dict[Side, list[OrderUpdate]]


def changes(before: Sequence[OrderUpdate], after: Sequence[OrderUpdate]) -> Iterator[OrderUpdate]:
    """What turns one side into the other; each with the position at which it then stands, or stood."""
    now = {order.order_id: order for order in after}
    for place in range(len(before), 0, -1):
        order = before[place - 1]
        if order.order_id not in now:
            yield replace(order, action=Action.DELETE, position=place)
    kept = {order.order_id: order for order in before}
    for place, order in enumerate(after, 1):
        known = kept.get(order.order_id)
        if known is None:
            yield replace(order, action=Action.NEW, position=place)
        elif known.size != order.size:
            yield replace(order, action=Action.CHANGE, position=place)


class TickedBooks:
    """Books as of the last tick. Orders keep their rank and price for as long as they have their OrderID."""

    def __init__(self, feed: TrademateFeed) -> None:
        self._feed = feed
        self._shown: dict[int, _Sides] = {}
        self._changed: dict[int, None] = {}

    def touch(self, security_ids: Iterable[int]) -> None:
        self._changed.update(dict.fromkeys(security_ids))

    def shown(self, security_id: int) -> Mapping[Side, Sequence[OrderUpdate]]:
        return self._shown.get(security_id) or {side: [] for side in Side}

    def tick(self) -> Iterator[tuple[int, list[OrderUpdate]]]:
        """Bonds whose books are others than at the last tick, with what changed."""
        touched, self._changed = self._changed, {}
        for security_id in touched:
            told, before = self._feed.told.get(security_id), self.shown(security_id)
            if told is None:
                self._shown.pop(security_id, None)
                continue
            made = [each for side in Side for each in changes(before[side], told.sides[side])]
            self._shown[security_id] = {side: list(told.sides[side]) for side in Side}
            if made:
                yield security_id, made
