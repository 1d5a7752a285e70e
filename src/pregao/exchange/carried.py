"""What outlives a restart of the platform: orders good till a date or cancelled, day orders that are named,
trades at close and at average that wait for their price (13.3.2), who is forbidden (14), and the numbers that
never start over: secondaryOrderIDs (12.1), tradeIDs on the same date (13.3), private order ids and the ids of
news.

    carried = carry_over(engine, forbidden)       before the end
    restore(engine, carried, trade_date)          into an engine in which nothing has happened yet

A day order is carried with its trade date as the date it is good till: it comes back on that date only. So
does a trade that waits for the closing price or the average of that date.
Restored orders have their place and their secondaryOrderID as before; where an instrument is now in another
segment they get new ones, in their old order (12.1). Nothing is published: a platform that starts tells
its books whole (6.5.11).
"""

from collections.abc import Container, Iterable

from pregao.exchange.checks import check_price
from pregao.exchange.engine import Engine
from pregao.exchange.market import Agreed, Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderPlace, OrderType, SelfTrade, TimeInForce, segment_of
from pregao.model.market import Side, TradeSubType
from pregao.model.records import record


@record
class CarriedOrder:
    """`secondary_id` and `shown` are of its place in the book, 0 of an order that waits outside of it."""

    order_id: int
    security_id: int
    side: Side
    type: OrderType
    tif: TimeInForce
    quantity: int
    executed: int
    firm: int | None
    inserted_ns: int
    secondary_id: int
    shown: int
    price: int | None
    stop_price: int | None
    max_floor: int | None
    min_quantity: int | None
    investor_id: int | None
    expire_date: int | None
    stp: SelfTrade
    client_order_id: str
    place: OrderPlace
    retail: bool = False


@record
class CarriedAgreement:
    """A trade at close or at average that waits for its price."""

    security_id: int
    trade_date: int
    sub_type: TradeSubType
    quantity: int
    buyer: int
    seller: int


@record
class LastIds:
    segment: int
    ordinary: int
    implied: int


@record
class LastTradeId:
    security_id: int
    trade_date: int
    trade_id: int


@record
class CarriedState:
    orders: tuple[CarriedOrder, ...] = ()
    forbidden: tuple[int, ...] = ()
    last_ids: tuple[LastIds, ...] = ()
    last_trades: tuple[LastTradeId, ...] = ()
    last_order_id: int = 0
    last_news_id: int = 0
    agreements: tuple[CarriedAgreement, ...] = ()


def carry_over(
    engine: Engine, forbidden: Iterable[int], *, day_orders: Container[int] = (), last_news_id: int = 0
) -> CarriedState:
    """`day_orders` are the private ids of those that are carried too."""
    floor = engine.floor
    orders = (carried_order(floor, order_id, day_orders) for order_id in floor.orders)
    return CarriedState(
        tuple(order for order in orders if order is not None),
        tuple(sorted(forbidden)),
        last_ids(floor),
        tuple(last for security_id in floor.markets if (last := last_trade(floor, security_id)) is not None),
        floor.last_order_id,
        last_news_id,
        tuple(each for security_id in floor.markets for each in carried_agreements(floor, security_id)),
    )


def carried_agreements(floor: Floor, security_id: int) -> tuple[CarriedAgreement, ...]:
    """Of one instrument, in the order in which they were agreed; none where it is not there."""
    market = floor.markets.get(security_id)
    if market is None:
        return ()
    return tuple(CarriedAgreement(security_id, market.trade_date, *each) for each in market.agreed)


def last_ids(floor: Floor) -> tuple[LastIds, ...]:
    return tuple(LastIds(number, *ids.last()) for number, ids in floor.segments.items())


def last_trade(floor: Floor, security_id: int) -> LastTradeId | None:
    """None where the instrument has not traded on its date, or is not there."""
    market = floor.markets.get(security_id)
    if market is None or not market.trade_ids.last:
        return None
    return LastTradeId(security_id, market.trade_date, market.trade_ids.last)


def carried_order(floor: Floor, order_id: int, day_orders: Container[int]) -> CarriedOrder | None:
    """None where there is no such order, or it does not outlive a restart."""
    order = floor.orders.get(order_id)
    if order is None or order.implied or order.place is OrderPlace.NOWHERE:
        return None
    if order.survives_session:
        return _carried(order, order.expire_date)
    return _carried(order, floor.markets[order.security_id].trade_date) if order_id in day_orders else None


def _carried(order: EnteredOrder, good_till: int | None) -> CarriedOrder:
    in_book = order.place is OrderPlace.BOOK
    return CarriedOrder(
        order.order_id, order.security_id, order.side, order.type, order.tif, order.quantity, order.executed,
        order.firm, order.inserted_ns, order.secondary_id if in_book else 0,
        order.shown if in_book else 0, order.price, order.stop_price, order.max_floor, order.min_quantity,
        order.investor_id, good_till, order.stp, order.client_order_id, order.place, order.retail,
    )  # fmt: skip


def restore(
    engine: Engine, carried: CarriedState, trade_date: int
) -> tuple[CarriedOrder | CarriedAgreement, ...]:
    """What could not be restored: its instrument is gone or has other rules, or its date is past."""
    floor = engine.floor
    for last in carried.last_ids:
        floor.segment(last.segment).continue_after(last.ordinary, last.implied)
    for trade in carried.last_trades:
        if trade.trade_date == trade_date:
            floor.continue_trades(trade.security_id, trade_date, trade.trade_id)
    floor.continue_after(carried.last_order_id)
    left: list[CarriedOrder | CarriedAgreement] = []
    for each in sorted(carried.orders, key=lambda order: (order.secondary_id, order.order_id)):
        market = floor.markets.get(each.security_id)
        if market is None or not _fits(market, each, trade_date):
            left.append(each)
        else:
            _put_back(engine, market, each)
    left += [each for each in carried.agreements if not _agree_again(floor, each, trade_date)]
    return tuple(left)


def _agree_again(floor: Floor, carried: CarriedAgreement, trade_date: int) -> bool:
    market = floor.markets.get(carried.security_id)
    if market is None or carried.trade_date != trade_date or carried.quantity % market.instrument.lot:
        return False
    market.agreed.append(Agreed(carried.sub_type, carried.quantity, carried.buyer, carried.seller))
    return True


def _fits(market: InstrumentMarket, order: CarriedOrder, trade_date: int) -> bool:
    instrument = market.instrument
    prices = [price for price in (order.price, order.stop_price) if price is not None]
    in_time = order.expire_date is None or order.expire_date >= trade_date
    fits = all(check_price(instrument, price) is None for price in prices)
    accepted = order.tif is TimeInForce.DAY or instrument.accepts_gt
    return in_time and fits and accepted and order.quantity % instrument.lot == 0


def _put_back(engine: Engine, market: InstrumentMarket, carried: CarriedOrder) -> None:
    order = EnteredOrder(
        carried.order_id, carried.security_id, carried.side, carried.type, carried.tif, carried.quantity,
        carried.price, carried.firm, carried.inserted_ns,
    )  # fmt: skip
    order.executed, order.leaves = carried.executed, carried.quantity - carried.executed
    order.stop_price, order.max_floor = carried.stop_price, carried.max_floor
    order.min_quantity, order.investor_id = carried.min_quantity, carried.investor_id
    order.expire_date = None if carried.tif is TimeInForce.DAY else carried.expire_date
    order.stp = carried.stp
    order.client_order_id, order.retail = carried.client_order_id, carried.retail
    engine.floor.keep(order)
    market.entered += order.leaves
    if carried.place is not OrderPlace.BOOK:
        _wait_again(market, order, carried.place)
        return
    if segment_of(carried.secondary_id) == market.ids.segment:
        order.secondary_id, order.shown = carried.secondary_id, carried.shown
        order.rank()
    else:
        order.take_priority(market.ids.ordinary(), carried.inserted_ns)
    order.place = OrderPlace.BOOK
    market.book.side(order.side).insert(order)


def _wait_again(market: InstrumentMarket, order: EnteredOrder, place: OrderPlace) -> None:
    """Outside of the book, as before."""
    if place is OrderPlace.STOP:
        market.stops.add(order)
    else:
        order.place = place
        (market.on_close if place is OrderPlace.ON_CLOSE else market.hidden)[order.order_id] = order
