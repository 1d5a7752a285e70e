"""Implied-in orders at work (18): they follow their legs, and trade through them.

One implied order a side, last at its price, made of the best level of each leg (`strategies`). When a leg
changes, the order follows in an event of its own: CHANGE if the price stays and the size does not rise,
else DELETE and NEW. A trade through it gives every leg its own event (4.2.1).

It only stands while the strategy and every leg are in continuous trading, and only while it crosses
nothing: where it would, it trades. It may not trade where a guard of the strategy or of a leg refuses the
price, nor where one investor would be on both sides of a leg (13.1.2); then it stays out of the book as
long as it would cross. Of an order that aggresses it, what would trade with the investor's own order in a
leg is cancelled whatever that order asks for: the order it meets is nobody's, and the one behind it is in
another book. Implied-out orders do not exist yet (18.2).
"""

from collections.abc import Collection
from dataclasses import dataclass

from pregao.exchange.draft import Draft, Execution
from pregao.exchange.hooks import STATE_RULES
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder
from pregao.exchange.strategies import ImpliedOrder, LegMarket, LegReport, Strategy, strategy_of
from pregao.exchange.transaction import Transaction
from pregao.model.events import Trade
from pregao.model.market import Side, TradeSubType

_BUY, _SELL = Side.BUY, Side.SELL


@dataclass(frozen=True, slots=True)
class LegFill:
    """What one trade of the strategy takes, for the firm that trades it; leg `moved` trades `by` off its
    price."""

    trade: Trade
    firm: int | None
    moved: int = 0
    by: int = 0


class LegTrades:
    """What a strategy's event takes from its legs, done after it: an event for each leg (4.2.1)."""

    __slots__ = ("draft", "fills", "side", "strategy")

    def __init__(self, draft: Draft, strategy: Strategy, side: Side) -> None:
        self.draft = draft  # of the strategy's event
        self.strategy = strategy
        self.side = side  # of the implied order
        self.fills: list[LegFill] = []

    @classmethod
    def after(cls, draft: Draft, strategy: Strategy, side: Side) -> "LegTrades":
        """The leg trades of this event: there is one implied order a side, so at most two."""
        for found in draft.consequences:
            if isinstance(found, cls) and found.side is side:
                return found
        trades = cls(draft, strategy, side)
        draft.consequences.append(trades)
        return trades

    @property
    def taken(self) -> int:
        return sum(fill.trade.size for fill in self.fills)

    def __call__(self, transaction: Transaction) -> None:
        # What the strategy traded without its legs' books in the same event belongs to the same events.
        market = self.strategy.market
        report = LegReport(self.draft, market, self.draft.of_strategies.pop(market, ()))
        for index, leg in enumerate(self.strategy.legs):
            draft = transaction.draft()
            draft.execute(leg.market)
            for fill in self.fills:
                self._fill(draft, leg, fill, fill.by if index == fill.moved else 0)
            report.trade_leg(draft, index)
            transaction.close(draft)

    def _fill(self, draft: Draft, leg: LegMarket, fill: LegFill, by: int) -> None:
        """Take ratio × size from the best level of a leg; `by` is added to the resting price."""
        assert draft.execution is not None
        market, side, size = leg.market, leg.resting_side(self.side), fill.trade.size * leg.ratio
        while size:
            order = _best_order(market, side)
            part = min(size, order.shown)
            size -= part
            price = _price(order) + by
            buyer, seller = (order.firm, fill.firm) if side is _BUY else (fill.firm, order.firm)
            of_leg = draft.trade(market, price, part, buyer, seller, sub_type=TradeSubType.LEG, implied=True)
            self.strategy.market.add_leg_trade(fill.trade, of_leg)
            draft.execution.count(price, part, side.opposite, 0 if order.max_floor is None else part)
            draft.fill(market, order, part)


def available(draft: Draft, order: EnteredOrder, resting: ImpliedOrder, wanted: int) -> int | None:
    """How much of an implied order an aggressor may have: None if a leg's guard is against it, less than
    it could be if it would meet an order of its own investor in a leg."""
    strategy, side = resting.strategy, resting.side
    if not _legs_may_trade(draft, strategy, side):
        return None
    if order.investor_id is None:
        return wanted
    return strategy.free(side, wanted, order.investor_id, _taken(draft, side))


def _legs_may_trade(draft: Draft, strategy: Strategy, side: Side, moved: int = 0, by: int = 0) -> bool:
    """Whether every leg may trade at its best price, leg `moved` by `by` off it."""
    prices = strategy.leg_prices(side, moved, by)
    return all(draft.may_trade(leg.market, price) for leg, price in zip(strategy.legs, prices, strict=True))


def _taken(draft: Draft, side: Side) -> int:
    return sum(each.taken for each in draft.consequences if isinstance(each, LegTrades) and each.side is side)


def fill_implied(draft: Draft, order: ImpliedOrder, trade: Trade, firm: int | None) -> None:
    """An aggressor of the strategy matched its implied order: the legs trade at their own prices. What
    is left is changed in this event (18), or deleted in it to be restated in another (18.3)."""
    strategy = order.strategy
    left = order.shown - trade.size
    if left and not strategy.restate:
        order.leaves = order.quantity = left
        draft.resize(strategy.market, order, left)
    else:
        draft.remove(strategy.market, order)
    LegTrades.after(draft, strategy, order.side).fills.append(LegFill(trade, firm))


def _best_order(market: InstrumentMarket, side: Side) -> EnteredOrder:
    return next(order for order in market.book.side(side).orders if not order.implied)


def _price(order: EnteredOrder) -> int:
    assert order.price is not None  # all legs are open: nothing rests without a price
    return order.price


@dataclass(slots=True)
class Implieds:
    """All strategies of the floor that have implied orders, found by any instrument they depend on."""

    floor: Floor
    restate: bool
    by_security: dict[int, list[Strategy]]

    @classmethod
    def of(cls, floor: Floor, *, restate: bool) -> "Implieds":
        implieds = cls(floor, restate, {})
        for market in floor.markets.values():
            implieds.add(market)
        return implieds

    def add(self, market: InstrumentMarket) -> None:
        strategy = strategy_of(market, self.floor, restate=self.restate)
        if strategy is None:
            return
        for part in (market, *(leg.market for leg in strategy.legs)):
            self.by_security.setdefault(part.security_id, []).append(strategy)

    def drop(self, security_id: int) -> None:
        """Forget the strategies that an instrument is part of. Their implied orders must be gone."""
        for strategy in tuple(self.by_security.get(security_id, ())):
            for part in (strategy.market, *(leg.market for leg in strategy.legs)):
                others = self.by_security[part.security_id]
                others.remove(strategy)
                if not others:  # so that an instrument without strategies costs nothing
                    del self.by_security[part.security_id]

    def relist(self, transaction: Transaction, market: InstrumentMarket) -> None:
        """Another version of an instrument: its strategies are looked at anew, and their orders follow."""
        for strategy in self.by_security.get(market.security_id, ()):
            for side in Side:
                if strategy.current(side) is not None:
                    _replace(transaction, strategy, side, None)
        self.drop(market.security_id)
        for each in tuple(self.floor.markets.values()):  # also those that the version before kept from being
            if each is market or any(leg.security_id == market.security_id for leg in each.instrument.legs):
                self.add(each)
        transaction.touch(market)

    def follow(self, transaction: Transaction, touched: Collection[InstrumentMarket]) -> None:
        """Bring the implied orders in line with the legs that changed."""
        strategies: dict[Strategy, None] = {}
        for market in touched:
            found = self.by_security.get(market.security_id)
            if found is not None:
                strategies.update(dict.fromkeys(found))
        if not strategies:
            return
        changed = {market.security_id for market in touched}
        for strategy in strategies:
            is_open = self._is_open(strategy)
            worth = {side: strategy.worth(side) if is_open else None for side in Side}
            for side in _in_order(strategy, worth[_BUY]):
                self._follow_side(transaction, strategy, side, worth[side], changed)

    def _follow_side(
        self, transaction: Transaction, strategy: Strategy, side: Side, worth: tuple[int, int] | None,
        changed: set[int],
    ) -> None:  # fmt: skip
        current = strategy.current(side)
        if worth is not None and strategy.crosses(side, worth[0]):
            if current is not None:
                _replace(transaction, strategy, side, None)
            self._match(transaction, strategy, side, worth, changed)
        elif current is not None and worth is not None and _keeps_place(current, *worth):
            if worth[1] < current.shown:
                draft = transaction.draft()
                current.leaves = current.quantity = worth[1]
                draft.resize(strategy.market, current, worth[1])
                transaction.close(draft)
        elif current is not None or worth is not None:
            _replace(transaction, strategy, side, worth)

    def _is_open(self, strategy: Strategy) -> bool:
        state = self.floor.hooks.trading_state
        return STATE_RULES[state(strategy.market.security_id)].match and all(
            STATE_RULES[state(leg.market.security_id)].match for leg in strategy.legs
        )

    def _match(
        self, transaction: Transaction, strategy: Strategy, side: Side, worth: tuple[int, int],
        changed: set[int],
    ) -> None:  # fmt: skip
        """The legs have become good enough for orders that rest in the strategy. When only a leg moved,
        the strategy's resting price counts and that leg's order is the better for it."""
        price, size = worth
        market, legs = strategy.market, strategy.legs
        moved = next((i for i, leg in enumerate(legs) if leg.market.security_id in changed), 0)
        at_legs_price = market.security_id in changed
        draft = transaction.draft()
        execution = draft.execution = Execution(market.security_id)
        while size and strategy.crosses(side, price):
            order = _best_order(market, side.opposite)
            at, by = (price, 0) if at_legs_price else strategy.meet(price, _price(order), moved)
            wanted, taken = min(size, order.shown), worth[1] - size
            part = strategy.free(side, wanted, order.investor_id, taken)
            if not part or not (
                draft.may_trade(market, at) and _legs_may_trade(draft, strategy, side, moved, by)
            ):
                break
            size -= part
            buyer, seller = (None, order.firm) if side is _BUY else (order.firm, None)
            trade = draft.trade(market, at, part, buyer, seller, implied=True, from_legs=True)
            execution.count(at, part, side, 0 if order.max_floor is None else part)
            LegTrades.after(draft, strategy, side).fills.append(LegFill(trade, order.firm, moved, by))
            draft.fill(market, order, part)
        transaction.close(draft)


def _in_order(strategy: Strategy, bid: tuple[int, int] | None) -> tuple[Side, Side]:
    """Which side follows first, so that the new bid never meets the offer of before."""
    offer = strategy.current(_SELL)
    rises = bid is not None and offer is not None and offer.price is not None and bid[0] >= offer.price
    return (_SELL, _BUY) if rises else (_BUY, _SELL)


def _keeps_place(order: ImpliedOrder, price: int, size: int) -> bool:
    return price == order.price and size <= order.shown


def _replace(transaction: Transaction, strategy: Strategy, side: Side, worth: tuple[int, int] | None) -> None:
    """Delete what stands and put the new one, as one event after the leg's (18)."""
    draft = transaction.draft()
    current = strategy.current(side)
    if current is not None:
        draft.cancel(strategy.market, current)
    if worth is None:
        strategy.standing[side] = None
    else:
        order = ImpliedOrder(strategy, side, worth[0], worth[1], transaction.now_ns)
        strategy.standing[side] = order
        draft.insert(strategy.market, order)
    transaction.close(draft)
