"""Orders of the rarer types, and those for auctions."""

from pregao.exchange.commands import NewOrder
from pregao.exchange.flow.blocks import Draw
from pregao.exchange.flow.settings import Intent
from pregao.exchange.orders import OrderType, SelfTrade, TimeInForce
from pregao.model.instruments import Instrument
from pregao.model.market import Side, State

_DAY_NS = 86_400_000_000_000
# What prevention is asked to cancel, by two random bits: the aggressor mostly.
STP_CHOICES = (
    SelfTrade.CANCEL_AGGRESSOR,
    SelfTrade.CANCEL_RESTING,
    SelfTrade.CANCEL_AGGRESSOR,
    SelfTrade.CANCEL_BOTH,
)


def special_order(instrument: Instrument, draw: Draw) -> NewOrder | None:
    """An order of an intent that the loop of the flow does not see to itself."""
    now_ns, _, intent, buys, middle, away, quantity, firm, _, pick, _ = draw
    if intent == Intent.STOP:
        return _stop(instrument, draw)
    if intent == Intent.ICEBERG:
        return _iceberg(instrument, draw)
    if intent == Intent.GOOD_TILL:
        return _good_till(instrument, draw)
    side = Side.BUY if buys else Side.SELL
    investor = (pick >> 3) & 15 if pick & 3 == 0 else None
    stp = STP_CHOICES[pick >> 8 & 3]
    if intent == Intent.MARKET:
        return NewOrder(
            now_ns, instrument.security_id, side, quantity, None, firm, OrderType.MARKET, TimeInForce.IOC,
            investor_id=investor, stp=stp,
        )  # fmt: skip
    minimum = max(quantity // instrument.lot // 2, 1) * instrument.lot if intent == Intent.MINIMUM else None
    price = middle - away if buys else middle + away
    return NewOrder(
        now_ns, instrument.security_id, side, quantity, price, firm,
        tif=TimeInForce.IOC if minimum else TimeInForce.FOK,
        min_quantity=minimum, investor_id=investor, stp=stp,
    )  # fmt: skip


def _stop(instrument: Instrument, draw: Draw) -> NewOrder | None:
    """A buy stop waits above the market, a sell stop below; most of them with a limit beyond."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    tick = instrument.tick
    outward = abs(away) + (1 + pick % 12) * tick
    stop = middle + outward if buys else middle - outward
    beyond = stop + 4 * tick if buys else stop - 4 * tick
    if min(stop, beyond) <= 0 and not instrument.legs:
        return None
    limited = bool(pick & 15)
    return NewOrder(
        now_ns, instrument.security_id, Side.BUY if buys else Side.SELL, quantity,
        beyond if limited else None, firm, OrderType.STOP_LIMIT if limited else OrderType.STOP,
        stop_price=stop,
    )  # fmt: skip


def _iceberg(instrument: Instrument, draw: Draw) -> NewOrder:
    """Five to twenty times what it shows; an odd lot cannot hide anything."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    whole = quantity * (5 + pick % 16)
    hidden = whole <= instrument.maximum_quantity and not instrument.is_odd_lot
    return NewOrder(
        now_ns, instrument.security_id, Side.BUY if buys else Side.SELL, whole if hidden else quantity,
        middle - away if buys else middle + away, firm, max_floor=quantity if hidden else None,
        investor_id=(pick >> 3) & 15 if pick & 7 == 0 else None,
    )  # fmt: skip


def _good_till(instrument: Instrument, draw: Draw) -> NewOrder:
    """Orders of other days lie deeper in the book."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    deeper = away + pick % 20 * instrument.tick
    price = max(middle - deeper, instrument.tick) if buys and not instrument.legs else middle - deeper
    tif = TimeInForce.DAY
    if instrument.accepts_gt:
        tif = TimeInForce.GTD if pick % 3 == 0 else TimeInForce.GTC
    return NewOrder(
        now_ns, instrument.security_id, Side.BUY if buys else Side.SELL, quantity,
        price if buys else middle + deeper, firm, tif=tif,
        expire_date=now_ns // _DAY_NS + 1 + pick % 30 if tif is TimeInForce.GTD else None,
    )  # fmt: skip


def auction_order(instrument: Instrument, state: State, draw: Draw) -> NewOrder:
    """Prices on both sides of the value, so that the books cross; one in sixteen without a price."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    side = Side.BUY if buys else Side.SELL
    if pick >> 8 & 15 == 0:
        closing = state is State.FINAL_CLOSING_CALL and pick >> 12 & 1
        kind = OrderType.MARKET_ON_CLOSE if closing else OrderType.MARKET_ON_AUCTION
        return NewOrder(now_ns, instrument.security_id, side, quantity, None, firm, kind)
    eager = pick >> 13 & 1
    toward = -min(abs(away), 6 * instrument.tick) if eager else away
    price = middle - toward if buys else middle + toward
    return NewOrder(now_ns, instrument.security_id, side, quantity, price, firm)
