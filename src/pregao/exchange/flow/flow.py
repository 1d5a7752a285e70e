"""The loop of the flow: draws become commands, by way of the orders that live."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

import numpy as np

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.commands import CancelOrder, ChangeOrder, NewOrder
from pregao.exchange.flow.blocks import Blocks, Draw
from pregao.exchange.flow.rare import Listed, Rare, RareCommand
from pregao.exchange.flow.settings import FlowSettings, Intent
from pregao.exchange.flow.special import STP_CHOICES, auction_order, special_order
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.events import Event, ExecutionSummary, PhaseChanged, StateChanged, Trade
from pregao.model.market import Side, State

FlowCommand = NewOrder | ChangeOrder | CancelOrder | RareCommand

# Looked up once: the loop runs some hundred thousand times a second.
_OPEN, _BUY, _SELL = State.OPEN, Side.BUY, Side.SELL
_LIMIT, _DAY, _IOC = OrderType.LIMIT, TimeInForce.DAY, TimeInForce.IOC
_IMMEDIATE: Final = int(Intent.IMMEDIATE)
_AUCTIONS: Final = frozenset({State.RESERVED, State.FINAL_CLOSING_CALL})
_REMEMBERED_TRADES = 256


class OpenOrder(Protocol):
    """What the flow looks at in an order before it changes it."""

    side: Side
    price: int | None
    quantity: int
    leaves: int


class Answer(Protocol):
    """What the engine says to a command."""

    @property
    def events(self) -> tuple[Event, ...]: ...
    @property
    def order_ids(self) -> tuple[int, ...]: ...


class Flow:
    """Commands of all participants of a market. Two flows with the same seed and the same answers give
    the same commands. `orders` are the exchange's open orders by id, `markets` its instruments, both looked
    at as they are."""

    def __init__(
        self,
        catalogue: Catalogue,
        seed: int,
        orders: Mapping[int, OpenOrder],
        trading_state: Callable[[int], State],
        settings: FlowSettings | None = None,
        markets: Mapping[int, Listed] | None = None,
    ) -> None:
        self._settings = settings or FlowSettings()
        self._blocks = Blocks(catalogue, np.random.default_rng(seed), self._settings)
        self._instruments = catalogue.instruments
        self._ids = [instrument.security_id for instrument in self._instruments]
        self._index = {security_id: n for n, security_id in enumerate(self._ids)}
        self._orders, self._trading_state = orders, trading_state
        self._books: list[list[int]] = [[] for _ in self._ids]  # ids of orders that may be gone by now
        self._trades: deque[Trade] = deque(maxlen=_REMEMBERED_TRADES)
        self._states = [trading_state(security_id) for security_id in self._ids]
        self._rare = Rare(catalogue, self._blocks.prices, self._states, self._trades, seed, markets)
        self._asked: NewOrder | None = None

    def answered(self, answer: Answer) -> None:
        """Told after every command, the flow's or another's: new orders, trades, states."""
        if self._asked is not None:
            if answer.order_ids and answer.order_ids[0] in self._orders:
                self._books[self._index[self._asked.security_id]].append(answer.order_ids[0])
            self._asked = None
        for event in answer.events:
            first = event.updates[0]
            kind = type(first)
            if kind is ExecutionSummary:
                trade = event.updates[1]
                if type(trade) is Trade and trade.security_id in self._index:
                    self._trades.append(trade)
            elif kind is StateChanged or kind is PhaseChanged:
                self.refresh()

    def refresh(self) -> None:
        """Look at the state of every instrument again."""
        self._states[:] = map(self._trading_state, self._ids)

    def start_day(self) -> None:
        """Trades of another day are no longer busted; orders that ended with it are forgotten."""
        self._trades.clear()
        self._rare.start_day()
        for n, mine in enumerate(self._books):
            self._books[n] = [order_id for order_id in mine if order_id in self._orders]
        self.refresh()

    def commands(self, start_ns: int, end_ns: int, count: int) -> Iterator[tuple[int, FlowCommand]]:
        """About `count` commands from `start_ns` to before `end_ns`, in order of time. Some draws come
        to nothing: there was no order to change, or an instrument closed since the block was drawn."""
        if end_ns <= start_ns or count <= 0:
            return
        self._blocks.prices.start(start_ns)
        blocks = -(-count // self._settings.block)
        for n in range(blocks):
            begin, end = (start_ns + (end_ns - start_ns) * k // blocks for k in (n, n + 1))
            size = count * (n + 1) // blocks - count * n // blocks
            if end > begin and size:
                yield from self._block(begin, end, size)

    def _block(self, start_ns: int, end_ns: int, count: int) -> Iterator[tuple[int, FlowCommand]]:
        active = np.array([state is _OPEN or state in _AUCTIONS for state in self._states])
        states, books, orders, ids = self._states, self._books, self._orders, self._ids
        command: FlowCommand | None
        for draw in self._blocks.draw(start_ns, end_ns, count, active):
            now_ns, which, intent, buys, middle, away, quantity, firm, depth, pick = draw
            if intent > _IMMEDIATE or states[which] is not _OPEN:
                command = self._seldom(draw)
                if command is None:
                    continue
            else:  # inline, since these are more than four of five
                order_id = 0
                if not intent and len(mine := books[which]) > depth:
                    n = _most_exposed(mine, orders, middle, pick)
                    order_id, mine[n] = mine[n], mine[-1]
                    mine.pop()
                if order_id in orders:
                    command = CancelOrder(now_ns, order_id)
                else:
                    command = self._asked = NewOrder(
                        now_ns, ids[which], _BUY if buys else _SELL, quantity,
                        middle - away if buys else middle + away, firm, _LIMIT,
                        _IOC if intent == _IMMEDIATE else _DAY, None, None, None,
                        None if pick & 7 else pick >> 3 & 15, STP_CHOICES[pick >> 8 & 3],
                    )  # fmt: skip
            yield now_ns, command

    def _seldom(self, draw: Draw) -> FlowCommand | None:
        """What is left: the rarer intents, and instruments that are not open."""
        now_ns, which, intent, _, middle, away, _, firm, _, pick = draw
        if self._states[which] is not _OPEN:
            return self._in_auction(draw)
        if intent == Intent.CHANGE:
            return self._change(now_ns, which, middle, away, pick)
        if intent == Intent.RARE:
            command = self._rare.next(now_ns, firm)
            if isinstance(command, NewOrder) and command.security_id in self._index:
                self._asked = command  # not in what was added in the session
            return command
        self._asked = special_order(self._instruments[which], draw)
        return self._asked

    def _in_auction(self, draw: Draw) -> FlowCommand | None:
        """Books fill before they uncross: four come in where one goes out; nothing while closed."""
        now_ns, which, intent, _, middle, away, _, _, depth, pick = draw
        state = self._states[which]
        if state not in _AUCTIONS or intent == Intent.RARE:
            return None
        if intent == Intent.CHANGE:
            return self._change(now_ns, which, middle, away, pick)
        if pick % 5 == 0 or len(self._books[which]) > 2 * depth:
            order_id = self._take(which, pick >> 3)
            return None if order_id is None else CancelOrder(now_ns, order_id)
        self._asked = auction_order(self._instruments[which], state, draw)
        return self._asked

    def _take(self, which: int, pick: int) -> int | None:
        """The id of some living order of an instrument, forgetting those that are gone on the way."""
        mine = self._books[which]
        while mine:
            n = pick % len(mine)
            if mine[n] in self._orders:
                return mine[n]
            mine[n] = mine[-1]
            mine.pop()
        return None

    def _change(self, now_ns: int, which: int, middle: int, away: int, pick: int) -> FlowCommand | None:
        """Less of it keeps its place; another price or more of it loses it (12.2.2)."""
        order_id = self._take(which, pick)
        if order_id is None:
            return None
        order, instrument = self._orders[order_id], self._instruments[which]
        if order.price is None:  # a stop or an order for an auction
            return CancelOrder(now_ns, order_id)
        lots, kind = order.leaves // instrument.lot, pick >> 4 & 7
        if kind < 2 and lots > 1:
            return ChangeOrder(now_ns, order_id, order.quantity - lots // 2 * instrument.lot)
        if kind == 7 and not instrument.is_odd_lot:
            return ChangeOrder(now_ns, order_id, order.quantity + instrument.lot)
        inward = 1 if order.side is _BUY else -1
        price = middle - inward * away
        if price == order.price:
            price -= inward * instrument.tick
        if price <= 0 and not instrument.legs:
            return None
        return ChangeOrder(now_ns, order_id, None, price)


def _most_exposed(mine: list[int], orders: Mapping[int, OpenOrder], middle: int, pick: int) -> int:
    """Of two orders the one that the market has come nearest to, or one that is gone: who is about
    to be run over cancels, and so there are many more cancels than trades."""
    one, other = pick % len(mine), (pick >> 7) % len(mine)
    order = orders.get(mine[one])
    if order is None:
        return one
    rival = orders.get(mine[other])
    if rival is None:
        return other
    price, rivalling = order.price, rival.price
    if price is None or rivalling is None:
        return one
    exposed = price - middle if order.side is _BUY else middle - price
    return one if exposed > (rivalling - middle if rival.side is _BUY else middle - rivalling) else other
