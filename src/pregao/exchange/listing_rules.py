"""What an instrument must be before it is listed, and what its orders must be after a change."""

from collections.abc import Sequence

from pregao.exchange.checks import check_price, check_quantity
from pregao.exchange.orders import Order
from pregao.model.instruments import Instrument

MOST_LEGS = 10  # so that a definition fits a packet


def contradiction(instrument: Instrument, legs: Sequence[Instrument]) -> str | None:
    """What is wrong with it, in words; `legs` are the instruments of its legs as they are now."""
    if not instrument.symbol.isascii() or not 1 <= len(instrument.symbol) <= 20:
        return "a symbol has 1 to 20 ASCII characters"
    if instrument.tick <= 0 or instrument.lot <= 0:
        return "tick and lot are above zero"
    if instrument.minimum_quantity > instrument.maximum_quantity:
        return "the smallest quantity is above the largest"
    if (instrument.minimum_cross or 0) > instrument.maximum_quantity:
        return "the smallest cross is above the largest quantity"
    if instrument.lot > instrument.maximum_quantity:
        return "the lot is above the largest quantity"
    return _contradiction_of_legs(instrument, legs)


def _contradiction_of_legs(instrument: Instrument, legs: Sequence[Instrument]) -> str | None:
    if instrument.user_defined and not 2 <= len(legs) <= MOST_LEGS:
        return f"a strategy has from 2 to {MOST_LEGS} legs"
    if len({leg.security_id for leg in instrument.legs}) < len(legs):
        return "a leg is there twice"
    if any(leg.ratio <= 0 for leg in instrument.legs):
        return "a ratio is above zero"
    if instrument.implied and any(not leg.implied or leg.segment != instrument.segment for leg in legs):
        return "implied orders need eligible legs in the same segment (18)"
    return None


def off_rules(instrument: Instrument, order: Order) -> bool:
    """Whether an open order could not have been entered as it is under the rules of `instrument`."""
    if order.survives_session and not instrument.accepts_gt:
        return True
    prices = [price for price in (order.price, order.stop_price) if price is not None]
    if any(check_price(instrument, price) is not None for price in prices):
        return True
    floor_fits = order.max_floor is None or order.max_floor % instrument.lot == 0
    parts_fit = order.leaves % instrument.lot == 0 and order.shown % instrument.lot == 0
    return check_quantity(instrument, order.quantity) is not None or not floor_fits or not parts_fit
