"""The table of commands: everything an operator can do, and at which path. Fields, checks, documentation
and routes all come from it."""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.exchange.bonds.floor import ListedBond
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder
from pregao.model.fixed_income import BOND_EXPONENT
from pregao.model.market import Side
from pregao.model.streams import Stream
from pregao.simulator.live import bond_commands as bond
from pregao.simulator.live import market as own
from pregao.simulator.live import servers
from pregao.simulator.live.loop import LiveLoop
from pregao.simulator.operator.json_forms import as_json, command_json, day_text, price_text
from pregao.simulator.operator.kinds import KINDS, RefusedError, RequestError


class Call(NamedTuple):
    path: str
    command: type
    summary: str

    @property
    def tag(self) -> str:
        return self.path.split("/")[2]

    @property
    def operation(self) -> str:
        """A name for generated clients."""
        name = self.command.__name__
        return name[0].lower() + name[1:]


CALLS: Final = (
    Call("/v1/orders/new", c.NewOrder, "Enter an order"),
    Call("/v1/orders/change", c.ChangeOrder, "Change an order; its priority stays or goes as in 12.2.2"),
    Call("/v1/orders/cancel", c.CancelOrder, "Cancel an order"),
    Call("/v1/orders/mass-cancel", c.MassCancel, "Cancel all orders of a firm, as one event"),
    Call("/v1/orders/cancel-side", c.CancelSide, "Delete a whole side of a book"),
    Call("/v1/orders/rlp", c.RlpOrder, "Enter a hidden order of a retail liquidity provider"),
    Call("/v1/orders/cross", c.CrossOrder, "Enter both sides of a trade at once"),
    Call("/v1/orders/sweep-and-cross", c.SweepAndCross, "Sweep the book, then cross what is left"),
    Call("/v1/trades/block", c.BlockTrade, "A block trade: RFQ, Block Book or Midpoint"),
    Call("/v1/trades/at-close", c.TacTrade, "A trade at close (TAC)"),
    Call("/v1/trades/at-average", c.TaaTrade, "A trade at average (TAA)"),
    Call("/v1/trades/forward", c.ForwardTrade, "A termo, or a termo vista"),
    Call("/v1/trades/on-behalf", c.TradeOnBehalf, "A trade entered by the marketplace for two firms"),
    Call("/v1/trades/manual", c.ManualTrade, "A trade inserted out of sequence"),
    Call("/v1/trades/bust", c.BustTrade, "Cancel a trade"),
    Call("/v1/trades/amend", c.AmendTrade, "Correct a trade: busted and told again"),
    Call("/v1/phases/change", control.ChangePhase, "Change the phase of a group"),
    Call("/v1/phases/session", control.ChangeSession, "Change the session of a closed group"),
    Call("/v1/states/change", control.ChangeState, "Halt, close or forbid an instrument"),
    Call("/v1/states/rejoin", control.RejoinGroup, "Let an instrument follow its group again"),
    Call("/v1/auctions/start", control.StartAuction, "Put an open or paused instrument into auction"),
    Call("/v1/auctions/extend", control.ExtendAuction, "Prolong an auction"),
    Call("/v1/auctions/end", control.EndAuction, "End an auction now"),
    Call("/v1/bands/set", control.SetBand, "Set a price band"),
    Call("/v1/bands/reference", control.SetReference, "Set the reference price"),
    Call("/v1/bands/quantity", control.SetQuantityBand, "Set the quantity limits"),
    Call("/v1/bands/publish", control.PublishBands, "Tell all bands of an instrument again"),
    Call("/v1/figures/settlement", control.PublishSettlement, "Publish a settlement price"),
    Call("/v1/figures/open-interest", control.PublishOpenInterest, "Publish the open interest"),
    Call("/v1/figures/closing", control.PublishClosing, "Publish a closing price"),
    Call("/v1/news/send", control.SendNews, "Send a news"),
    Call("/v1/instruments/add", control.AddInstrument, "List an instrument like another, or a strategy"),
    Call("/v1/instruments/change", control.ChangeInstrument, "Change an instrument"),
    Call("/v1/instruments/delete", control.DeleteInstrument, "Delete an instrument"),
    Call("/v1/instruments/move", c.MoveInstrument, "Move an instrument to another matching engine"),
    Call("/v1/resets/stream", own.ResetStream, "Reset the incremental stream of a channel"),
    Call("/v1/resets/channel", own.ResetChannel, "Reset a channel"),
    Call("/v1/resets/book", own.ResetBook, "Empty and restate the book of one instrument"),
    Call("/v1/resets/failover", own.FailOver, "Let the secondary instance take over"),
    Call("/v1/resets/week", own.StartWeek, "Start over as on a Monday"),
    Call("/v1/servers/stop", servers.StopServer, "Stop a server: its sessions end, nobody is let in"),
    Call("/v1/servers/start", servers.StartServer, "Let a stopped server listen again"),
    Call("/v1/servers/cut", servers.CutSession, "End the session of a CompID"),
    Call("/v1/servers/history", servers.AllowHistory, "Whether trade history is answered"),
    Call("/v1/bonds/orders/new", bond.EnterBondOrder, "Enter an order for a bond"),
    Call("/v1/bonds/orders/change", bond.ChangeBondOrder, "Change an order for a bond"),
    Call("/v1/bonds/orders/cancel", bond.CancelBondOrder, "Cancel an order for a bond"),
    Call("/v1/bonds/quotes/request", bond.RequestBondQuote, "Ask some firms for quotes (RFQ)"),
    Call("/v1/bonds/quotes/answer", bond.AnswerBondQuote, "Quote a price to who asked for it"),
    Call("/v1/bonds/quotes/accept", bond.AcceptBondQuote, "Accept a quote: one trade (277=RFQ)"),
    Call("/v1/bonds/trades/voice", bond.RegisterVoiceTrade, "Register one side of a voice trade (277=VO)"),
    Call("/v1/bonds/trades/bust", bond.BustBondTrade, "Cancel a trade of a bond"),
    Call("/v1/bonds/states/change", bond.ChangeBondState, "Halt or open a bond, or the leg of a casada"),
    Call("/v1/bonds/bands/set", bond.SetBondBand, "Set a tunnel (269=g)"),
    Call("/v1/loops/snapshots", own.HoldSnapshots, "Hold the loop of snapshots of a channel, or release it"),
)


# The table of what an operator can look at: each a path and a function of the market as it is now.


MOST_ROWS: Final = 1000  # of orders and trades; the newest of these


class View(NamedTuple):
    path: str  # with at most one parameter
    summary: str
    show: Callable[[LiveLoop, str], Any]

    @property
    def parameter(self) -> str | None:
        return self.path.partition("{")[2].rstrip("}") or None


_PATHS: Final = {each.command: each.path for each in CALLS}


def request_text(command: Any) -> str:
    """A command as an operator would send it."""
    body = json.dumps(command_json(command), ensure_ascii=False)
    return f"POST {_PATHS[type(command)]} {body}"


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
    told = []
    for group in loop.market.catalogue.groups:
        status = phases.status(group.key)
        told.append(
            {"group": group.code, "exchange": group.exchange, "channel": group.channel}
            | as_json(status)
            | {"instruments": len(phases.members(group.key))}
        )
    return {"groups": told}


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
