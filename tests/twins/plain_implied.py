"""The slow and obvious twin of implied orders (18.1): every implied book, from nothing but the books."""

from pregao.exchange.engine import Engine
from pregao.model.instruments import PriceMethod
from pregao.model.market import Side, State

Implied = dict[tuple[int, Side], tuple[int, int]]


def implied_of_books(engine: Engine) -> Implied:
    """Price and size of every implied order there must be, by instrument and side."""
    found: Implied = {}
    for security_id in engine.floor.markets:
        if _can_imply(engine, security_id):
            for side in Side:
                worth = _worth(engine, security_id, side)
                if worth is not None and not _crosses(engine, security_id, side, worth[0]):
                    found[security_id, side] = worth
    return found


def _can_imply(engine: Engine, security_id: int) -> bool:
    """Eligible, priced by the sum of its legs, and one lot of it is whole lots of every leg."""
    instrument = engine.market(security_id).instrument
    lots = [engine.market(leg.security_id).instrument.lot for leg in instrument.legs]
    whole = all(leg.ratio * instrument.lot % lot == 0 for leg, lot in zip(instrument.legs, lots, strict=True))
    summed = instrument.price_method in (PriceMethod.NET_PRICE, PriceMethod.YIELD_DIFFERENCE)
    return instrument.implied and len(lots) > 1 and whole and summed


def implied_of_engine(engine: Engine) -> Implied:
    """What stands in the books, which is one a side at most, and the last at its price."""
    found: Implied = {}
    for security_id, market in engine.floor.markets.items():
        for order in market.book:
            if order.implied:
                assert (security_id, order.side) not in found
                assert order.price is not None
                level = [o for o in market.book.side(order.side).orders if o.price == order.price]
                assert level[-1] is order
                found[security_id, order.side] = order.price, order.shown
    return found


def _worth(engine: Engine, security_id: int, side: Side) -> tuple[int, int] | None:
    instrument = engine.market(security_id).instrument
    parts = [(leg.security_id, leg.side, leg.ratio) for leg in instrument.legs]
    if any(engine.trading_state(each) is not State.OPEN for each in (security_id, *(p[0] for p in parts))):
        return None
    price, sizes = 0, []
    for leg_id, leg_side, ratio in parts:
        resting = side if leg_side is Side.BUY else side.opposite
        prices = _levels(engine, leg_id, resting)
        if not prices:
            return None
        best = max(prices) if resting is Side.BUY else min(prices)
        price += ratio * best if leg_side is Side.BUY else -ratio * best
        sizes.append(prices[best] // ratio)
    size = min(sizes) // instrument.lot * instrument.lot
    return (price, size) if size and price % instrument.tick == 0 else None


def _levels(engine: Engine, security_id: int, side: Side) -> dict[int, int]:
    levels: dict[int, int] = {}
    for order in engine.market(security_id).book:
        if order.side is side and not order.implied and order.price is not None:
            levels[order.price] = levels.get(order.price, 0) + order.shown
    return levels


def _crosses(engine: Engine, security_id: int, side: Side, price: int) -> bool:
    """Where it would meet an order it may not trade with, it stays out."""
    others = _levels(engine, security_id, side.opposite)
    return any(price >= other if side is Side.BUY else price <= other for other in others)
