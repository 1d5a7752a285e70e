"""Continuous matching by price and priority. The resting order's price is the trade's price."""

from collections.abc import Sequence
from dataclasses import replace

from pregao.exchange.draft import Draft, Execution
from pregao.exchange.implied import available, fill_implied
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderPlace, OrderType, SelfTrade, TimeInForce, key_of
from pregao.exchange.retail import levels_for, provider_before, trade_with_provider
from pregao.exchange.strategies import ImpliedOrder
from pregao.model.events import OrderUpdate, Trade
from pregao.model.market import Action, Side, TradeSubType

# Cancels by self-trade prevention are published before the trades, though in the engine fills may have come
# first (13.1.2). Positions are told as a reader of the messages in their order sees them.


def cancel_resting(draft: Draft, market: InstrumentMarket, order: EnteredOrder) -> None:
    """Cancel a resting order; its DELETE goes before the trades unless the event told of it already."""
    if _already_deleted(draft, order):
        draft.cancel(market, order)
        return
    position = market.book.side(order.side).remove(order)
    order.place = OrderPlace.NOWHERE
    draft.prevented.append(
        OrderUpdate(
            order.security_id, Action.DELETE, order.side, order.secondary_id, order.price, order.shown,
            position + _unseen(draft, order), order.inserted_ns, draft.now_ns, None, order.firm,
        )
    )  # fmt: skip
    draft.changed[market] = None
    market.cancelled += order.leaves
    draft.floor.forget(order)
    _move_up(draft, order)


def _already_deleted(draft: Draft, order: EnteredOrder) -> bool:
    return any(
        isinstance(update, OrderUpdate)
        and update.order_id == order.secondary_id
        and update.security_id == order.security_id
        for update in draft.books
    )


def _is_before(update: OrderUpdate, order: EnteredOrder) -> bool:
    return key_of(update.side, update.price, update.order_id) < order.key


def _unseen(draft: Draft, order: EnteredOrder) -> int:
    """How many more orders the reader still sees before it: deletes not told yet, less news."""
    difference = 0
    for update in draft.books:
        if not isinstance(update, OrderUpdate) or update.side is not order.side:
            continue
        if update.security_id == order.security_id and _is_before(update, order):
            difference += (update.action is Action.DELETE) - (update.action is Action.NEW)
    return difference


def _move_up(draft: Draft, order: EnteredOrder) -> None:
    """The reader has lost the order before any of the book updates: those behind it stand one higher."""
    for index, update in enumerate(draft.books):
        if (
            isinstance(update, OrderUpdate)
            and update.side is order.side
            and update.security_id == order.security_id
            and not _is_before(update, order)
        ):
            draft.books[index] = replace(update, position=update.position - 1)


_BUY = Side.BUY
_LIMIT, _MARKET, _RLP = OrderType.LIMIT, OrderType.MARKET, OrderType.RLP
_IOC, _FOK = TimeInForce.IOC, TimeInForce.FOK


class Matching:
    """The matching of one event: one or, after an election, several aggressors (13.1.3)."""

    __slots__ = ("draft", "execution", "market")

    def __init__(self, draft: Draft, market: InstrumentMarket) -> None:
        self.draft = draft
        self.market = market
        self.execution = draft.execution = Execution(market.security_id)

    def run(self, order: EnteredOrder, limit: int | None, sub_type: TradeSubType | None = None) -> bool:
        """Match an order that is not in the book. False: what is left of it must not rest."""
        opposite = self.market.book.opposite(order.side)
        buying = order.side is _BUY
        meets_hidden = order.retail
        while order.leaves:
            resting = opposite.orders[0] if opposite.orders else None
            price = None if resting is None else resting.price
            if meets_hidden and (provider := provider_before(self.market, order, price)) is not None:
                price, resting = provider
            if resting is None or price is None:
                break
            if limit is not None and (price > limit if buying else price < limit):
                break
            if not self.draft.may_trade(self.market, price):
                refuse_trade(self.draft, self.market, order, price)
                break
            if resting.type is _RLP:
                trade_with_provider(self.draft, self.market, order, resting, price)
                continue
            if isinstance(resting, ImpliedOrder):
                if not self._trade_implied(order, resting, price, sub_type):
                    return False
                continue
            if order.investor_id is not None and order.investor_id == resting.investor_id:
                if not self._prevent(order, resting):
                    return False
                continue
            size = min(order.leaves, resting.shown)
            self._trade(order, resting, price, size, sub_type)
            self.draft.fill(self.market, resting, size)
        return True

    def _trade_implied(
        self, order: EnteredOrder, resting: ImpliedOrder, price: int, sub_type: TradeSubType | None
    ) -> bool:
        """Whether the incoming order goes on; an implied order that a leg's guard refuses is withdrawn."""
        wanted = min(order.leaves, resting.shown)
        size = available(self.draft, order, resting, wanted)
        if size is None:
            self.draft.remove(self.market, resting)
            return True
        if size:
            trade = self._trade(order, resting, price, size, sub_type)
            fill_implied(self.draft, resting, trade, order.firm)
        if size < wanted:  # the next would be the investor's own order in a leg
            self.execution.cancelled += order.leaves
        return size == wanted

    def _trade(
        self, order: EnteredOrder, resting: EnteredOrder, price: int, size: int, sub_type: TradeSubType | None
    ) -> Trade:
        order.executed += size
        order.leaves -= size
        self.market.executed += size
        buyer, seller = (order.firm, resting.firm) if order.side is _BUY else (resting.firm, order.firm)
        trade = self.draft.trade(
            self.market, price, size, buyer, seller, sub_type=sub_type, implied=resting.implied,
            from_legs=resting.implied,
        )  # fmt: skip
        # All of an iceberg counts as hidden, not only what was unseen (13.1.1).
        self.execution.count(price, size, order.side, 0 if resting.max_floor is None else size)
        return trade

    def _prevent(self, order: EnteredOrder, resting: EnteredOrder) -> bool:
        """Two orders of one investor met. Whether the incoming one goes on."""
        for listener in self.draft.floor.hooks.on_self_trade:
            listener(self.market, order, resting, self.draft.now_ns)
        self.draft.changed[self.market] = None  # followers look at it even if no order of the book moved
        if order.stp is not SelfTrade.CANCEL_AGGRESSOR:
            self.execution.cancelled += resting.leaves
            cancel_resting(self.draft, self.market, resting)
        if order.stp is SelfTrade.CANCEL_RESTING:
            return True
        self.execution.cancelled += order.leaves
        return False


def enter_orders(draft: Draft, market: InstrumentMarket, orders: Sequence[EnteredOrder]) -> None:
    """Orders aggress an open book in turn, under one summary; what is left rests or ends."""
    matching = Matching(draft, market)
    for order in orders:
        goes_on = fits(market, order, draft) and matching.run(order, order.price)
        if not order.leaves:
            draft.floor.forget(order)
        elif goes_on and rests(order):
            draft.insert(market, order)
        else:
            draft.cancel(market, order)


def is_passive(market: InstrumentMarket, order: EnteredOrder) -> bool:
    """Whether an order simply rests: the common case, told without the machinery of matching."""
    tif = order.tif
    if order.type is not _LIMIT or tif is _IOC or tif is _FOK or order.min_quantity is not None:
        return False
    if order.retail and market.hidden:
        return False
    orders = market.book.opposite(order.side).orders
    if not orders:
        return True
    best, price = orders[0].price, order.price
    if best is None or price is None:
        return False
    return price < best if order.side is _BUY else price > best


def rests(order: EnteredOrder) -> bool:
    return order.type is not _MARKET and order.tif is not _IOC and order.tif is not _FOK


def refuse_trade(draft: Draft, market: InstrumentMarket, order: EnteredOrder, price: int) -> None:
    """A trade at this price is outside the range of the event: whoever guards it is told."""
    for listener in draft.floor.hooks.on_trade_refused:
        listener(market, order, price, draft.now_ns)
    draft.changed[market] = None  # followers look at it even if no order of the book moved


def fits(market: InstrumentMarket, order: EnteredOrder, draft: Draft) -> bool:
    """Whether FOK or the minimum quantity can be had now; other orders always fit. One that only the range
    of the event keeps from its quantity is refused by it, as an order that trades up to it is."""
    if order.tif is _FOK:
        wanted = order.leaves
    elif order.min_quantity is not None and not order.executed:
        wanted = order.min_quantity
    else:
        return True
    found, refused = fillable(market, order, wanted, draft)
    if found >= wanted and refused is not None:
        refuse_trade(draft, market, order, refused)
    return found >= wanted and refused is None


def fillable(
    market: InstrumentMarket,
    order: EnteredOrder,
    wanted: int,
    draft: Draft,
) -> tuple[int, int | None]:
    """How much of the order would match, counted until `wanted` is reached, and the first price on the way
    that is outside the range of the event."""
    found, limit, buying = 0, order.price, order.side is _BUY
    refused: int | None = None
    for price, level in levels_for(market, order):
        if price is None or (limit is not None and (price > limit if buying else price < limit)):
            break
        if refused is None and not draft.may_trade(market, price):
            refused = price
        count, goes_on = _fillable_at(list(level), order, draft)
        found += count
        if found >= wanted or not goes_on:
            break
    return found, refused


def _fillable_at(level: list[EnteredOrder], order: EnteredOrder, draft: Draft) -> tuple[int, bool]:
    """What a price level gives, and whether the order would go on after it. Where prevention would stop
    it, icebergs before that give only what they show: the rest of them comes behind (13.1.1)."""
    shown = whole = 0
    for resting in level:
        if isinstance(resting, ImpliedOrder):
            size = available(draft, order, resting, resting.shown)  # it is the last of its level
            return whole + (size or 0), size is None or size == resting.shown
        if order.investor_id is not None and order.investor_id == resting.investor_id:
            if order.stp is not SelfTrade.CANCEL_RESTING:
                return shown, False
            continue
        shown += resting.shown
        whole += resting.leaves
    return whole, True
