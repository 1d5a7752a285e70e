"""The table of what an operator can look at: each a path and a function of the market as it is now."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pregao.exchange.bonds.floor import ListedBond
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder
from pregao.model.fixed_income import BOND_EXPONENT
from pregao.model.market import Side
from pregao.model.streams import Stream
from pregao.simulator.live.loop import LiveLoop
from pregao.simulator.operator.json_forms import as_json, day_text, price_text
from pregao.simulator.operator.kinds import KINDS, RefusedError, RequestError

MOST_ROWS: Final = 1000  # of orders and trades; the newest of these


class View(NamedTuple):
    path: str  # with at most one parameter
    summary: str
    show: Callable[[LiveLoop, str], Any]

    @property
    def parameter(self) -> str | None:
        return self.path.partition("{")[2].rstrip("}") or None


def find_market(loop: LiveLoop, text: str) -> InstrumentMarket:
    """By securityID or symbol."""
    market = loop.market
    security_id = market.instruments.by_symbol.get(text)
    if security_id is None and text.isascii() and text.isdecimal() and len(text) <= 12:
        security_id = int(text)
    found = None if security_id is None else market.engine.floor.markets.get(security_id)
    if found is None:
        raise RefusedError(Rejection(RejectReason.UNKNOWN_INSTRUMENT, text[:60]))
    return found


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        raise RequestError("wrong-type", "must be a whole number", name)
    value: int = KINDS[name].read(int(text), name, _NO_DESK)
    return value


class _NoDesk:
    """Numbers need no market."""

    def now_ns(self) -> int:
        raise AssertionError

    def find(self, symbol: str) -> int:
        raise AssertionError

    find_bond = find


_NO_DESK: Final = _NoDesk()


def _session(loop: LiveLoop, _: str) -> Any:
    market, sender = loop.market, loop.sender
    phases = market.desk.surveillance.phases
    return {
        "now_ns": loop.clock.now_ns(),
        "trade_date": day_text(max(phases.status(key).trade_date for key in phases.groups())),
        "day": market.schedule.kind.value,
        "schema_version": market.settings.version,
        "instruments": len(market.engine.floor.markets),
        "open_orders": len(market.engine.floor.orders),
        "commands": market.commands,
        "rejected": market.rejected,
        "waiting": loop.waiting,
        "packets_sent": 0 if sender is None else sender.sent,
        "packets_lost": 0 if sender is None else sender.lost,
    }


def _channels(loop: LiveLoop, _: str) -> Any:
    streams = [
        {"channel": channel, "stream": stream.name, "feed": feed.name, "group": to[0], "port": to[1]}
        for (channel, stream, feed), to in loop.routes.items()
    ]
    sequences = [
        {
            "channel": channel,
            "site": site.name,
            "sequence_version": point.version,
            "next_sequence_number": point.next_number,
        }
        for (channel, site), publisher in loop.market.publishers.items()
        for point in [publisher.point(Stream.INCREMENTAL)]
    ]
    return {"streams": streams, "incremental": sequences}


def _groups(loop: LiveLoop, _: str) -> Any:
    phases = loop.market.desk.surveillance.phases
    groups = []
    for group in loop.market.catalogue.groups:
        status = phases.status(group.key)
        groups.append(
            {"group": group.code, "exchange": group.exchange, "channel": group.channel}
            | as_json(status)
            | {"instruments": len(phases.members(group.key))}
        )
    return {"groups": groups}


def _instruments(loop: LiveLoop, _: str) -> Any:
    markets = loop.market.engine.floor.markets.values()
    return {"instruments": [_brief(loop, market) for market in markets]}


def _brief(loop: LiveLoop, market: InstrumentMarket) -> dict[str, Any]:
    instrument = market.instrument
    return {
        "security_id": instrument.security_id,
        "symbol": instrument.symbol,
        "group": instrument.group,
        "channel": instrument.channel,
        "state": loop.market.engine.trading_state(instrument.security_id).name,
    }


def _instrument(loop: LiveLoop, which: str) -> Any:
    return as_json(find_market(loop, which).instrument)


def _book(loop: LiveLoop, which: str) -> Any:
    market = find_market(loop, which)
    return _brief(loop, market) | {
        "bids": [_order(order) for order in market.book.buys.orders],
        "offers": [_order(order) for order in market.book.sells.orders],
    }


def _order(order: EnteredOrder) -> dict[str, Any]:
    return {
        "order_id": order.order_id,
        "secondary_order_id": order.secondary_id,
        "security_id": order.security_id,
        "side": order.side.name,
        "type": order.type.name,
        "tif": order.tif.name,
        "price": price_text(order.price),
        "shown": order.shown,
        "leaves": order.leaves,
        "executed": order.executed,
        "firm": order.firm,
        "implied": order.implied,
        "place": order.place.name,
    }


def _state(loop: LiveLoop, which: str) -> Any:
    market = find_market(loop, which)
    surveillance = loop.market.desk.surveillance
    running = surveillance.auctions.get(market.security_id)
    return _brief(loop, market) | {
        "own": as_json(surveillance.phases.own(market.security_id)),
        "auction": None
        if running is None
        else {"auction": running.kind.name, "ends_ns": running.ends_ns, "extensions": running.extensions},
    }


def _statistics(loop: LiveLoop, which: str) -> Any:
    market = find_market(loop, which)
    books = loop.market.books[loop.market.routing.channels_of(market.instrument)[0]]
    books.now_ns = loop.clock.now_ns()
    book = books.book(market.security_id)
    return _brief(loop, market) | {"statistics": [] if book is None else as_json(tuple(book.statistics))}


def _trades(loop: LiveLoop, which: str) -> Any:
    market = find_market(loop, which)
    trades = list(market.statistics.trades.values())
    return _brief(loop, market) | {"trades": as_json(trades[-MOST_ROWS:])}


def _one_order(loop: LiveLoop, which: str) -> Any:
    order = loop.market.engine.floor.orders.get(_number(which, "order_id"))
    if order is None:
        raise RefusedError(Rejection(RejectReason.UNKNOWN_ORDER, which[:60]))
    return _order(order)


def _orders_of_firm(loop: LiveLoop, which: str) -> Any:
    orders = list(loop.market.engine.floor.orders_of(_number(which, "firm")))
    return {"order_count": len(orders), "orders": [_order(order) for order in orders[-MOST_ROWS:]]}


def _servers(loop: LiveLoop, _: str) -> Any:
    running = (loop.market.servers, loop.market.bond_servers)
    return {"servers": [view for each in running if each is not None for view in each.view()]}


def _bonds(loop: LiveLoop, _: str) -> Any:
    bonds = loop.market.bonds
    if bonds is None:
        return {"bonds": []}
    return {"bonds": [_brief_bond(each) for each in bonds.market.floor.listed.values()]}


def _bond(loop: LiveLoop, which: str) -> Any:
    """Its book, what it traded, and its definition."""
    bonds = loop.market.bonds
    number = int(which) if which.isascii() and which.isdecimal() and len(which) <= 12 else None
    found = None if bonds is None else bonds.market.floor.listed.get(number or bonds.find(which) or 0)
    if found is None:
        raise RefusedError(Rejection(RejectReason.UNKNOWN_INSTRUMENT, which[:60]))
    size = found.bond.instrument.size_exponent
    sides = {
        name: [
            {
                "order_id": order.order_id,
                "price": price_text(order.price, BOND_EXPONENT),
                "size": price_text(order.size, size),
                "firm": order.firm,
            }
            for order in found.book.sides[side].orders[:MOST_ROWS]
        ]
        for name, side in (("bids", Side.BUY), ("offers", Side.SELL))
    }
    trades = [counted.trade for counted in found.statistics.trades.values()][-MOST_ROWS:]
    exponents = (BOND_EXPONENT, size)
    return (
        _brief_bond(found)
        | sides
        | {"trades": as_json(trades, exponents=exponents), "bond": as_json(found.bond, exponents=exponents)}
    )


def _brief_bond(listed: ListedBond) -> dict[str, Any]:
    instrument = listed.bond.instrument
    return {
        "security_id": instrument.security_id,
        "symbol": instrument.symbol,
        "price_kind": listed.bond.price_kind.name,
        "state": None if listed.told_state is None else listed.told_state.name,
    }


VIEWS: Final = (
    View("/v1/session", "How the exchange is", _session),
    View("/v1/channels", "Where each stream is sent, and how far it is", _channels),
    View("/v1/servers", "Servers of sessions, and who is connected", _servers),
    View("/v1/groups", "The phase of every group", _groups),
    View("/v1/instruments", "All instruments and their states", _instruments),
    View("/v1/instruments/{instrument}", "One instrument", _instrument),
    View("/v1/books/{instrument}", "The book of an instrument, in order of priority", _book),
    View("/v1/states/{instrument}", "The state of an instrument and its auction", _state),
    View("/v1/statistics/{instrument}", "The newest statistic of each kind", _statistics),
    View("/v1/trades/{instrument}", "The trades of the session", _trades),
    View("/v1/orders/{order_id}", "One open order", _one_order),
    View("/v1/bonds", "All bonds and their states", _bonds),
    View("/v1/bonds/{bond}", "The book, trades and definition of a bond", _bond),
    View("/v1/firms/{firm}", "The open orders of a firm", _orders_of_firm),
)
