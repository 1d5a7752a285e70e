"""The slow and obvious twin of the uncrossing: every tick, every order, the six steps of `auction` one after
the other as they are written there."""

from collections.abc import Iterable

from pregao.exchange.auction import ANY_PRICE, AuctionOrder, Levels, trades_at
from pregao.exchange.engine import Engine
from pregao.exchange.market import InstrumentMarket
from pregao.model.market import Side


def levels_of_orders(orders: Iterable[AuctionOrder]) -> Levels:
    """What `theoretical` is asked with, added up order by order."""
    priced: dict[Side, dict[int, int]] = {Side.BUY: {}, Side.SELL: {}}
    unpriced = {Side.BUY: 0, Side.SELL: 0}
    for order in orders:
        if order.price is None:
            unpriced[order.side] += order.quantity
        else:
            level = priced[order.side]
            level[order.price] = level.get(order.price, 0) + order.quantity
    return Levels(priced[Side.BUY], priced[Side.SELL], unpriced[Side.BUY], unpriced[Side.SELL])


def slow_theoretical(
    orders: list[AuctionOrder], tick: int, reference: int | None, within: tuple[int, int] = ANY_PRICE
) -> tuple[int, int, int] | None:
    """Price, quantity and surplus."""
    first, last = -(-within[0] // tick) * tick, within[1] // tick * tick
    if reference is not None:
        reference = min(max(reference, first), last)
    limits = [order.price for order in orders if order.price is not None]
    said = limits if reference is None else [*limits, reference]
    if not said:
        return None
    # From the tick below the lowest limit to the one above the highest, and on to the reference.
    ends = [] if reference is None else [reference // tick * tick, -(-reference // tick) * tick]
    if limits:
        ends += [(min(limits) - 1) // tick * tick, (max(limits) // tick + 1) * tick]
    prices = {*limits, *range(max(min(ends), first), min(max(ends), last) + 1, tick)}
    if min(ends) > last or max(ends) < first:  # all of them are past the hard limits: no further than those
        prices |= {last if min(ends) > last else first}

    def wanted(side: Side, price: int) -> int:
        return sum(order.quantity for order in orders if order.side is side and trades_at(order, price))

    found = [(p, wanted(Side.BUY, p), wanted(Side.SELL, p)) for p in sorted(prices)]
    found = [each for each in found if min(each[1:]) > 0]
    if not found:
        return None
    largest = max(min(bought, sold) for _, bought, sold in found)
    found = [each for each in found if min(each[1:]) == largest]
    smallest = min(abs(bought - sold) for _, bought, sold in found)
    found = [each for each in found if abs(each[1] - each[2]) == smallest]
    found = [each for each in found if min(said) <= each[0] <= max(said)] or found
    if all(bought > sold for _, bought, sold in found):
        found = [max(found)]
    elif all(bought < sold for _, bought, sold in found):
        found = [min(found)]
    if reference is not None:
        nearest = min(abs(price - reference) for price, _, _ in found)
        found = [each for each in found if abs(each[0] - reference) == nearest]
    price, bought, sold = max(found)
    return price, largest, bought - sold


def slow_theoretical_of(
    engine: Engine,
    market: InstrumentMarket,
    reference: int | None,
) -> tuple[int, int, int] | None:
    """Of the orders in a book, within the hard limits and above zero unless it is a strategy's."""
    low, high = engine.hooks.hard_limits(market) or ANY_PRICE
    if not market.instrument.legs:
        low = max(low, market.instrument.tick)
    orders = [AuctionOrder(o.side, o.price, o.leaves, o.secondary_id) for o in market.book if not o.implied]
    return slow_theoretical(orders, market.instrument.tick, reference, (low, high))
