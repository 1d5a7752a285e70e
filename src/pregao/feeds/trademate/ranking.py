"""Whether the positions (290) that an exchange tells are those that prices and times give.

Sides are kept by what is told. Here prices alone are followed, from a snapshot on: an order that is put
before a better price, behind a worse one, or before one of the same price that was there sooner, was ranked
otherwise than we would have. In yields and spreads the lower rate is the better bid, the higher the better
offer.
"""

from itertools import pairwise

from pregao.model.market import Action, Side
from pregao.model.rows import Rows

_Key = tuple[int, int]  # instrument and side


def _sign(side: int, is_rate: bool) -> int:
    """Prices times this: the smaller one is the better."""
    return 1 if (side == Side.BUY) is is_rate else -1


class Rankings:
    """Prices of sides by position. One that is told what cannot be is not followed until its snapshot."""

    def __init__(self) -> None:
        self._sides: dict[_Key, list[int]] = {}

    def forget(self, security_id: int) -> None:
        for side in Side:
            self._sides.pop((security_id, side), None)

    def load(self, security_id: int, orders: Rows, *, is_rate: bool) -> int:
        """The orders of a snapshot, in the order of their positions; how many stand where they should not."""
        wrong = 0
        for side in Side:
            own = orders[orders["side"] == side]
            prices = (own["price"][own["position"].argsort(kind="stable")] * _sign(side, is_rate)).tolist()
            wrong += sum(after < before for before, after in pairwise(prices))
            self._sides[security_id, side] = prices
        return wrong

    def update(
        self, security_id: int, side: int, action: int, position: int, price: int, *, is_rate: bool
    ) -> bool:
        """Whether an order is where we would have put it; what cannot be judged is."""
        prices, place = self._sides.get((security_id, side)), position - 1
        if prices is None:
            return True
        if place > len(prices) - (action != Action.NEW):
            del self._sides[security_id, side]
            return True
        if action == Action.DELETE:
            del prices[place]
            return True
        ranked = price * _sign(side, is_rate)
        if action == Action.CHANGE:
            prices[place] = ranked
            before, after = prices[:place], prices[place + 1 :]
            return (not before or before[-1] <= ranked) and (not after or ranked <= after[0])
        prices.insert(place, ranked)
        is_behind = place == 0 or prices[place - 1] <= ranked
        return is_behind and (place + 1 == len(prices) or ranked < prices[place + 1])
