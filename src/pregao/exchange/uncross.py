"""An auction's part in one market: its theoretical price from the book, the uncross, and what a change
of phase does to the orders that wait for it. All of it goes into the event of the state change that
causes it (4.2.1); an uncross has no ExecutionSummary (13.1)."""

from collections.abc import Callable, Iterable

from pregao.exchange.auction import AuctionOrder, Levels, Theoretical, allocate, theoretical_of_levels
from pregao.exchange.book import BookSide
from pregao.exchange.market import Floor, Market
from pregao.exchange.orders import Order, TimeInForce
from pregao.exchange.transaction import Draft
from pregao.model.market import FINE_SCALE, PRICE_SCALE

FINE = FINE_SCALE // PRICE_SCALE


def reference_price(market: Market) -> int | None:
    """The last trade of the session, else the closing price of the day before, on a tick."""
    last = market.statistics.last_price
    if last is not None:
        return last
    closing, tick = market.statistics.closing_fine, market.instrument.tick
    return None if closing is None else (closing // FINE + tick // 2) // tick * tick


def levels_of(market: Market) -> Levels:
    """The book as the uncrossing sees it: whole quantities, without implied orders (18). Where every
    order has a price, only the levels that meet can matter."""
    buys, sells = market.book.buys, market.book.sells
    if _first_has_no_price(buys) or _first_has_no_price(sells):
        bids, unpriced_bids = _quantities(buys.orders)
        offers, unpriced_offers = _quantities(sells.orders)
        return Levels(bids, offers, unpriced_bids, unpriced_offers)
    bid, offer = buys.best_real_price, sells.best_real_price
    if bid is None or offer is None or bid < offer:
        return Levels({}, {})
    return Levels(
        _meeting(buys.orders, lambda price: price >= offer),
        _meeting(sells.orders, lambda price: price <= bid),
    )


def _meeting(orders: Iterable[Order], meets: Callable[[int], bool]) -> dict[int, int]:
    """Quantities by price of the orders up to the first that does not meet the other side."""
    priced: dict[int, int] = {}
    last, size = None, 0
    for order in orders:
        price = order.price
        if price is None or order.implied:
            continue
        if price != last:
            if not meets(price):
                break
            last, size = price, 0
        size += order.leaves
        priced[price] = size
    return priced


def _first_has_no_price(side: BookSide) -> bool:
    return bool(side.orders) and side.orders[0].price is None


def _quantities(orders: Iterable[Order]) -> tuple[dict[int, int], int]:
    priced: dict[int, int] = {}
    unpriced = 0
    for order in orders:
        if order.implied:
            continue
        if order.price is None:
            unpriced += order.leaves
        else:
            priced[order.price] = priced.get(order.price, 0) + order.leaves
    return priced, unpriced


def theoretical_of(market: Market) -> Theoretical | None:
    return theoretical_of_levels(levels_of(market), market.instrument.tick, reference_price(market))


def uncross(draft: Draft, market: Market) -> None:
    """Trades all that meets at one price; orders without price that are left are cancelled."""
    found = theoretical_of(market)
    if found is not None:
        _trade(draft, market, found.price)
    for order in [order for order in market.book if order.price is None]:
        draft.cancel(market, order)


def _trade(draft: Draft, market: Market, price: int) -> None:
    orders = {order.secondary_id: order for order in market.book if not order.implied}
    views = [AuctionOrder(order.side, order.price, order.leaves, key) for key, order in orders.items()]
    filled: dict[int, int] = {}
    for fill in allocate(views, price):
        draft.trade(market, price, fill.quantity, orders[fill.buy].firm, orders[fill.sell].firm)
        for key in (fill.buy, fill.sell):
            filled[key] = filled.get(key, 0) + fill.quantity
    for key, size in filled.items():  # each order is told once, however many it traded with
        draft.fill(market, orders[key], size)


def trigger_on_close(draft: Draft, market: Market) -> None:
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


def _has_expired(order: Order, trade_date: int) -> bool:
    if order.tif is TimeInForce.GTC:
        return False
    if order.tif is TimeInForce.GTD:
        return order.expire_date is not None and order.expire_date <= trade_date
    return True
