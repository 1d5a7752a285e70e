"""What outlives a restart of the platform: orders good till a date or cancelled, who is forbidden (14), and
the numbers that never start over: secondaryOrderIDs (12.1), and tradeIDs on the same date (13.3).

    carried = carry_over(engine, forbidden)       before the end
    restore(engine, carried, trade_date)          into an engine in which nothing has happened yet

Restored orders have their place and their secondaryOrderID as before; where an instrument is now in another
segment they get new ones, in their old order (12.1). Nothing is published: a platform that starts tells
its books whole (6.5.11).
"""

from collections.abc import Iterable

from pregao.exchange.checks import check_price
from pregao.exchange.engine import Engine
from pregao.exchange.identifiers import segment_of
from pregao.exchange.market import Market
from pregao.exchange.orders import Order, OrderType, Place, SelfTrade, TimeInForce
from pregao.model.market import Side
from pregao.model.records import record


@record
class CarriedOrder:
    """`secondary_id` and `shown` are of its place in the book, 0 of a stop that waits."""

    order_id: int
    security_id: int
    side: Side
    type: OrderType
    tif: TimeInForce
    quantity: int
    executed: int
    firm: int
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
    retail: bool = False


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
class Carried:
    orders: tuple[CarriedOrder, ...] = ()
    forbidden: tuple[int, ...] = ()
    last_ids: tuple[LastIds, ...] = ()
    last_trades: tuple[LastTradeId, ...] = ()
    last_order_id: int = 0


def carry_over(engine: Engine, forbidden: Iterable[int]) -> Carried:
    floor = engine.floor
    kept = [order for order in floor.orders.values() if order.survives_session]
    trades = [
        LastTradeId(security_id, market.trade_date, market.trade_ids.last)
        for security_id, market in floor.markets.items()
        if market.trade_ids.last
    ]
    return Carried(
        tuple(_carried(order) for order in kept if order.place in (Place.BOOK, Place.STOP)),
        tuple(sorted(forbidden)),
        tuple(LastIds(number, *ids.last()) for number, ids in floor.segments.items()),
        tuple(trades),
        floor.last_order_id,
    )


def _carried(order: Order) -> CarriedOrder:
    in_book = order.place is Place.BOOK
    return CarriedOrder(
        order.order_id, order.security_id, order.side, order.type, order.tif, order.quantity, order.executed,
        order.firm or 0, order.inserted_ns, order.secondary_id if in_book else 0,
        order.shown if in_book else 0, order.price, order.stop_price, order.max_floor, order.min_quantity,
        order.investor_id, order.expire_date, order.stp, order.client_order_id, order.retail,
    )  # fmt: skip


def restore(engine: Engine, carried: Carried, trade_date: int) -> tuple[CarriedOrder, ...]:
    """The orders that could not be restored: their instrument is gone or has other rules, or their date
    is past."""
    floor = engine.floor
    for last in carried.last_ids:
        floor.segment(last.segment).continue_after(last.ordinary, last.implied)
    for trade in carried.last_trades:
        market = floor.markets.get(trade.security_id)
        if market is not None and trade.trade_date == trade_date:
            market.trade_ids.start_over(trade.trade_id)
    floor.continue_after(carried.last_order_id)
    left: list[CarriedOrder] = []
    for each in sorted(carried.orders, key=lambda order: (order.secondary_id, order.order_id)):
        market = floor.markets.get(each.security_id)
        if market is None or not _fits(market, each, trade_date):
            left.append(each)
        else:
            _put_back(engine, market, each)
    return tuple(left)


def _fits(market: Market, order: CarriedOrder, trade_date: int) -> bool:
    instrument = market.instrument
    prices = [price for price in (order.price, order.stop_price) if price is not None]
    in_time = order.expire_date is None or order.expire_date >= trade_date
    fits = all(check_price(instrument, price) is None for price in prices)
    return in_time and fits and instrument.accepts_gt and order.quantity % instrument.lot == 0


def _put_back(engine: Engine, market: Market, carried: CarriedOrder) -> None:
    order = Order(
        carried.order_id, carried.security_id, carried.side, carried.type, carried.tif, carried.quantity,
        carried.price, carried.firm, carried.inserted_ns,
    )  # fmt: skip
    order.executed, order.leaves = carried.executed, carried.quantity - carried.executed
    order.stop_price, order.max_floor = carried.stop_price, carried.max_floor
    order.min_quantity, order.investor_id = carried.min_quantity, carried.investor_id
    order.expire_date, order.stp = carried.expire_date, carried.stp
    order.client_order_id, order.retail = carried.client_order_id, carried.retail
    engine.floor.keep(order)
    market.entered += order.leaves
    if not carried.secondary_id:
        market.stops.add(order)
        return
    if segment_of(carried.secondary_id) == market.ids.segment:
        order.secondary_id, order.shown = carried.secondary_id, carried.shown
        order.rank()
    else:
        order.take_priority(market.ids.ordinary(), carried.inserted_ns)
    order.place = Place.BOOK
    market.book.side(order.side).insert(order)
