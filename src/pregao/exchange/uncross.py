"""An auction's part in one market: its theoretical price from the book, the uncross, and what a change
of phase does to the orders that wait for it. All of it goes into the event of the state change that
causes it (4.2.1); an uncross has no ExecutionSummary (13.1)."""

from collections.abc import Iterable

from pregao.exchange.auction import ANY_PRICE, AuctionOrder, Levels, Theoretical, allocate, theoretical
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, TimeInForce
from pregao.exchange.transaction import Draft


def levels_of(market: InstrumentMarket) -> Levels:
    """The book as the uncrossing sees it: whole quantities, without implied orders (18)."""
    bids, offers = market.book.buys.auction_levels(), market.book.sells.auction_levels()
    return Levels(bids.sizes, offers.sizes, bids.unpriced, offers.unpriced)


def theoretical_of(market: InstrumentMarket, hard_limits: tuple[int, int] | None) -> Theoretical | None:
    low, high = hard_limits or ANY_PRICE
    tick = market.instrument.tick
    if not market.instrument.legs:
        low = max(low, tick)
    return theoretical(levels_of(market), tick, market.reference_price, (low, high))


def uncross(draft: Draft, market: InstrumentMarket) -> None:
    """Trades all that meets at one price; orders without price that are left are cancelled."""
    found = theoretical_of(market, draft.floor.hooks.hard_limits(market))
    if found is not None:
        _trade(draft, market, found.price)
    for order in [order for order in market.book if order.price is None]:
        draft.cancel(market, order)
    market.book.buys.forget_levels()
    market.book.sells.forget_levels()


def _trade(draft: Draft, market: InstrumentMarket, price: int) -> None:
    orders = {order.secondary_id: order for order in market.book if not order.implied}
    views = [AuctionOrder(order.side, order.price, order.leaves, key) for key, order in orders.items()]
    filled: dict[int, int] = {}
    for fill in allocate(views, price):
        draft.trade(market, price, fill.quantity, orders[fill.buy].firm, orders[fill.sell].firm)
        for key in (fill.buy, fill.sell):
            filled[key] = filled.get(key, 0) + fill.quantity
    for key, size in filled.items():  # each order is told once, however many it traded with
        draft.fill(market, orders[key], size)


def trigger_on_close(draft: Draft, market: InstrumentMarket) -> None:
    """MOC orders enter the book with the final closing call (14.2), without price, oldest first."""
    waiting = list(market.on_close.values())
    market.on_close.clear()
    for order in waiting:
        draft.insert(market, order)


def expire(draft: Draft, floor: Floor, security_ids: Iterable[int]) -> None:
    """The end of the day for day orders, and for those good till a date that has come."""
    closed = frozenset(security_ids)
    for order in list(floor.orders.values()):
        if order.security_id in closed and not order.implied:
            market = floor.markets[order.security_id]
            if _has_expired(order, market.trade_date):
                draft.cancel(market, order)


def expire_overdue(draft: Draft, floor: Floor, security_ids: Iterable[int], trade_date: int) -> None:
    """Another trade date: orders good till a day in between, on which nothing traded, are over."""
    listed = frozenset(security_ids)
    for order in list(floor.orders.values()):
        if order.security_id in listed and order.expire_date is not None and order.expire_date < trade_date:
            draft.cancel(floor.markets[order.security_id], order)


def _has_expired(order: EnteredOrder, trade_date: int) -> bool:
    if order.tif is TimeInForce.GTC:
        return False
    if order.tif is TimeInForce.GTD:
        return order.expire_date is not None and order.expire_date <= trade_date
    return True
