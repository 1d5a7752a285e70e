"""Implied-in orders (18): what the best prices of a spread's two legs are worth in the spread's book.

One implied order a side, from the best level of each leg, last at its price. Legs of ratio 1 only.
When a leg changes, the order follows in an event of its own: CHANGE if the price stays and the size
does not rise, else DELETE and NEW. A trade through it gives every leg its own event (4.2.1).
Implied-out orders do not exist yet (18.2).
"""

from collections.abc import Collection
from dataclasses import dataclass

from pregao.exchange.hooks import STATE_RULES
from pregao.exchange.market import Floor, Market
from pregao.exchange.orders import Order, OrderType, Place, TimeInForce
from pregao.exchange.transaction import Draft, Execution, Transaction
from pregao.model.instruments import Instrument
from pregao.model.market import Side, TradeSubType

_LEGS = 2


class ImpliedOrder(Order):
    __slots__ = ("spread",)

    def __init__(self, spread: "Spread", side: Side, price: int, size: int, now_ns: int) -> None:
        super().__init__(
            0, spread.market.security_id, side, OrderType.LIMIT, TimeInForce.DAY, size, price, None, now_ns
        )
        self.implied = True
        self.spread = spread


class Spread:
    """A spread's market, its legs' and the implied orders that stand now."""

    __slots__ = ("legs", "market", "restate", "standing")

    def __init__(self, market: Market, legs: tuple[tuple[Market, Side], ...], *, restate: bool) -> None:
        self.market = market
        self.legs = legs
        self.restate = restate
        self.standing: dict[Side, ImpliedOrder | None] = {Side.BUY: None, Side.SELL: None}

    def current(self, side: Side) -> ImpliedOrder | None:
        order = self.standing[side]
        return order if order is not None and order.place is Place.BOOK else None

    def worth(self, side: Side) -> tuple[int, int] | None:
        """Price and size of the implied order: buying the spread takes each leg's own side."""
        price, sizes = 0, []
        for market, leg_side in self.legs:
            level = market.book.side(_resting_side(side, leg_side)).best_level()
            if level is None:
                return None
            price += level[0] if leg_side is Side.BUY else -level[0]
            sizes.append(level[1])
        return price, min(sizes)


def _resting_side(side: Side, leg_side: Side) -> Side:
    """The side of the leg's book that an implied order of `side` is made of."""
    return side if leg_side is Side.BUY else side.opposite


class LegTrades:
    """What a spread's event takes from its legs, done after that event: an event for each leg (4.2.1)."""

    __slots__ = ("fills", "side", "spread")

    def __init__(self, spread: Spread, side: Side) -> None:
        self.spread = spread
        self.side = side  # of the implied order
        self.fills: list[tuple[int, int | None, int, int]] = []  # size, firm, better by, for which leg

    @classmethod
    def after(cls, draft: Draft, spread: Spread, side: Side) -> "LegTrades":
        """The leg trades of this event: there is one implied order a side, so at most two."""
        for found in draft.consequences:
            if isinstance(found, cls) and found.side is side:
                return found
        trades = cls(spread, side)
        draft.consequences.append(trades)
        return trades

    def __call__(self, transaction: Transaction) -> None:
        for index, (market, leg_side) in enumerate(self.spread.legs):
            draft = transaction.draft()
            draft.execution = Execution(market.security_id)
            for size, firm, better, moved in self.fills:
                signed = better if leg_side is Side.BUY else -better
                self._fill(draft, market, leg_side, size, firm, signed if index == moved else 0)
            transaction.close(draft)

    def _fill(
        self, draft: Draft, market: Market, leg_side: Side, size: int, firm: int | None, better: int
    ) -> None:
        """Take `size` from the best level of a leg; `better` is added to the resting price."""
        assert draft.execution is not None
        side = _resting_side(self.side, leg_side)
        while size:
            order = _best_order(market, side)
            part = min(size, order.shown)
            size -= part
            price = _price(order) + better
            buyer, seller = (order.firm, firm) if side is Side.BUY else (firm, order.firm)
            draft.trade(market, price, part, buyer, seller, sub_type=TradeSubType.LEG, implied=True)
            draft.execution.count(price, part, side.opposite, 0 if order.max_floor is None else part)
            draft.fill(market, order, part)


def fill_implied(draft: Draft, order: ImpliedOrder, size: int, firm: int | None) -> None:
    """An aggressor of the spread matched its implied order: the legs trade at their own prices. What
    is left is changed in this event (18), or deleted in it to be restated in another (18.3)."""
    spread = order.spread
    left = order.shown - size
    if left and not spread.restate:
        order.leaves = order.quantity = left
        draft.resize(spread.market, order, left)
    else:
        draft.remove(spread.market, order)
    LegTrades.after(draft, spread, order.side).fills.append((size, firm, 0, 0))


def _best_order(market: Market, side: Side) -> Order:
    return next(order for order in market.book.side(side).orders if not order.implied)


def _price(order: Order) -> int:
    assert order.price is not None  # both legs are open: nothing rests without a price
    return order.price


@dataclass(slots=True)
class Implieds:
    """All spreads of the floor, found by any instrument they depend on."""

    floor: Floor
    by_security: dict[int, list[Spread]]

    @classmethod
    def of(cls, floor: Floor, *, restate: bool) -> "Implieds":
        implieds = cls(floor, {})
        for market in floor.markets.values():
            implieds.add(market, restate=restate)
        return implieds

    def add(self, market: Market, *, restate: bool) -> None:
        instrument = market.instrument
        if not _is_eligible(instrument, self.floor):
            return
        legs = tuple((self.floor.markets[leg.security_id], leg.side) for leg in instrument.legs)
        spread = Spread(market, legs, restate=restate)
        for part in (market, *(leg for leg, _ in legs)):
            self.by_security.setdefault(part.security_id, []).append(spread)

    def drop(self, security_id: int) -> None:
        """Forget the spreads that an instrument was part of, when it is delisted."""
        for spread in self.by_security.pop(security_id, []):
            for others in self.by_security.values():
                if spread in others:
                    others.remove(spread)

    def follow(self, transaction: Transaction, touched: Collection[Market]) -> None:
        """Bring the implied orders in line with the legs that changed."""
        changed = {market.security_id for market in touched}
        spreads: dict[Spread, None] = {}
        for market in touched:
            for spread in self.by_security.get(market.security_id, ()):
                spreads[spread] = None
        for spread in spreads:
            for side in (Side.BUY, Side.SELL):
                self._follow_side(transaction, spread, side, changed)

    def _follow_side(self, transaction: Transaction, spread: Spread, side: Side, changed: set[int]) -> None:
        worth = spread.worth(side) if self._is_open(spread) else None
        current = spread.current(side)
        if worth is not None and _crosses(spread, side, worth[0]):
            if current is not None:
                _replace(transaction, spread, side, None)
            self._match(transaction, spread, side, worth, changed)
            return
        if current is not None and worth is not None and _keeps_place(current, *worth):
            if worth[1] < current.shown:
                draft = transaction.draft()
                current.leaves = current.quantity = worth[1]
                draft.resize(spread.market, current, worth[1])
                transaction.close(draft)
        elif current is not None or worth is not None:
            _replace(transaction, spread, side, worth)

    def _is_open(self, spread: Spread) -> bool:
        state = self.floor.hooks.trading_state
        return all(
            STATE_RULES[state(market.security_id)].match
            for market in (spread.market, *(leg for leg, _ in spread.legs))
        )

    def _match(
        self, transaction: Transaction, spread: Spread, side: Side, worth: tuple[int, int], changed: set[int]
    ) -> None:
        """The legs have become good enough for orders that rest in the spread. When only a leg moved,
        the spread's resting price counts and that leg's order is the better for it."""
        price, size = worth
        market = spread.market
        moved = next((i for i, (leg, _) in enumerate(spread.legs) if leg.security_id in changed), 0)
        at_legs_price = market.security_id in changed
        draft = transaction.draft()
        execution = draft.execution = Execution(market.security_id)
        gates = self.floor.hooks.check_trade
        while size and _crosses(spread, side, price):
            order = market.book.opposite(side).orders[0]
            at = price if at_legs_price else _price(order)
            if gates and not all(gate(market, at, draft.now_ns) for gate in gates):
                break
            part = min(size, order.shown)
            size -= part
            firm = order.firm
            buyer, seller = (None, firm) if side is Side.BUY else (firm, None)
            draft.trade(market, at, part, buyer, seller, implied=True)
            execution.count(at, part, side, 0 if order.max_floor is None else part)
            draft.fill(market, order, part)
            LegTrades.after(draft, spread, side).fills.append((part, firm, at - price, moved))
        transaction.close(draft)


def _is_eligible(instrument: Instrument, floor: Floor) -> bool:
    return (
        instrument.implied
        and len(instrument.legs) == _LEGS
        and all(leg.ratio == 1 and leg.security_id in floor.markets for leg in instrument.legs)
    )


def _keeps_place(order: ImpliedOrder, price: int, size: int) -> bool:
    return price == order.price and size <= order.shown


def _crosses(spread: Spread, side: Side, price: int) -> bool:
    orders = spread.market.book.opposite(side).orders
    if not orders or orders[0].implied or orders[0].price is None:
        return False
    best = orders[0].price
    return price >= best if side is Side.BUY else price <= best


def _replace(transaction: Transaction, spread: Spread, side: Side, worth: tuple[int, int] | None) -> None:
    """Delete what stands and put the new one, as one event after the leg's (18)."""
    draft = transaction.draft()
    current = spread.current(side)
    if current is not None:
        draft.cancel(spread.market, current)
    if worth is None:
        spread.standing[side] = None
    else:
        order = ImpliedOrder(spread, side, worth[0], worth[1], transaction.now_ns)
        spread.standing[side] = order
        draft.insert(spread.market, order)
    transaction.close(draft)
