"""What must hold before an order touches anything. Each check gives a reason or None."""

from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.hooks import StateRules
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderType, TimeInForce, is_reached
from pregao.model.instruments import Instrument

_LIMIT = OrderType.LIMIT
_DAY = TimeInForce.DAY
_PRICED = frozenset({OrderType.LIMIT, OrderType.STOP_LIMIT, OrderType.RLP})
_STOPS = frozenset({OrderType.STOP, OrderType.STOP_LIMIT})
_AT_ONCE = frozenset({TimeInForce.IOC, TimeInForce.FOK})
_GT = frozenset({TimeInForce.GTC, TimeInForce.GTD})
_ON_AUCTION = frozenset({OrderType.MARKET_ON_AUCTION, OrderType.MARKET_ON_CLOSE})


def check_quantity(instrument: Instrument, quantity: int) -> RejectReason | None:
    if quantity < instrument.minimum_quantity or quantity > instrument.maximum_quantity:
        return RejectReason.QUANTITY_INVALID
    return RejectReason.QUANTITY_INVALID if quantity <= 0 or quantity % instrument.lot else None


def check_price(instrument: Instrument, price: int) -> RejectReason | None:
    """Prices of spreads and strategies are differences: nothing or less is possible (18.1)."""
    if price % instrument.tick or (price <= 0 and not instrument.legs):
        return RejectReason.PRICE_INVALID
    return None


def check_order(
    floor: Floor, market: InstrumentMarket, order: EnteredOrder, rules: StateRules, now_ns: int
) -> Rejection | None:
    """A new order, or a changed one as it would be."""
    if not rules.enter:
        return Rejection(RejectReason.STATE_FORBIDS_ENTRY)
    instrument, is_limit = market.instrument, order.type is _LIMIT
    reason = check_quantity(instrument, order.quantity)
    if reason is None:
        if is_limit and order.price is not None and order.stop_price is None:  # nearly all of them
            reason = check_price(instrument, order.price)
        else:
            reason = _check_prices(instrument, order)
    if reason is None and not (is_limit and order.tif is _DAY and order.expire_date is None):
        reason = _check_type(market, order, rules) or _check_time_in_force(market, order, rules)
    if reason is None and order.max_floor is not None:
        reason = _check_floor(instrument, order)
    if reason is None and order.min_quantity is not None:
        reason = _check_minimum(order, rules)
    if reason is not None:
        return Rejection(reason)
    for hook in floor.hooks.check_order:
        rejection = hook(market, order, now_ns)
        if rejection is not None:
            return rejection
    return None


def _check_prices(instrument: Instrument, order: EnteredOrder) -> RejectReason | None:
    price, stop_price = order.price, order.stop_price
    if order.type in _PRICED:
        reason = RejectReason.PRICE_MISSING if price is None else check_price(instrument, price)
    else:
        reason = None if price is None else RejectReason.PRICE_NOT_ALLOWED
    if reason is not None:
        return reason
    if order.type in _STOPS:
        return RejectReason.STOP_PRICE_MISSING if stop_price is None else check_price(instrument, stop_price)
    return None if stop_price is None else RejectReason.STOP_PRICE_NOT_ALLOWED


def _check_type(market: InstrumentMarket, order: EnteredOrder, rules: StateRules) -> RejectReason | None:
    if order.type is OrderType.MARKET_ON_AUCTION and not rules.auction:
        return RejectReason.TYPE_NEEDS_AUCTION
    if order.type is OrderType.MARKET and not rules.match:
        return RejectReason.TYPE_NEEDS_OPEN
    if order.type in _STOPS and is_reached(order, market.statistics.last_price):
        return RejectReason.STOP_PRICE_REACHED
    return None


def _check_time_in_force(
    market: InstrumentMarket,
    order: EnteredOrder,
    rules: StateRules,
) -> RejectReason | None:
    at_once = order.tif in _AT_ONCE
    if at_once and (not rules.match or order.type in _STOPS or order.type in _ON_AUCTION):
        return RejectReason.TYPE_NEEDS_OPEN
    if order.tif in _GT and not market.instrument.accepts_gt:
        return RejectReason.GT_NOT_ACCEPTED
    date = order.expire_date
    is_wrong = date is not None if order.tif is not TimeInForce.GTD else (date or 0) < market.trade_date
    if is_wrong:
        return RejectReason.EXPIRE_DATE_INVALID
    return None


def _check_floor(instrument: Instrument, order: EnteredOrder) -> RejectReason | None:
    floor = order.max_floor or 0
    wrong = floor <= 0 or floor % instrument.lot or floor > order.quantity or order.tif in _AT_ONCE
    return RejectReason.MAX_FLOOR_INVALID if wrong or order.type in _ON_AUCTION else None


def _check_minimum(order: EnteredOrder, rules: StateRules) -> RejectReason | None:
    minimum = order.min_quantity or 0
    if not 0 < minimum <= order.quantity:
        return RejectReason.MIN_QUANTITY_INVALID
    return None if rules.match or order.executed else RejectReason.TYPE_NEEDS_OPEN
