"""The loop of the flow: draws become commands, by way of the orders that live and the books they make."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

import numpy as np

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.commands import CancelOrder, ChangeOrder, NewOrder, RlpOrder
from pregao.exchange.flow.deals import STP_CHOICES, auction_order, special_order
from pregao.exchange.flow.draws import Blocks, Draw
from pregao.exchange.flow.impact import Impact
from pregao.exchange.flow.living import (
    EMPTY_SPREADS,
    Agenda,
    Answer,
    Listed,
    LivingOrders,
    OpenOrder,
    best_price,
)
from pregao.exchange.flow.rare import Rare, RareCommand
from pregao.exchange.flow.settings import FlowSettings, OrderIntent
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.events import ExecutionSummary, PhaseChanged, StateChanged, Trade
from pregao.model.market import Side, State

FlowCommand = NewOrder | ChangeOrder | CancelOrder | RareCommand
Timed = tuple[int, FlowCommand]

# Looked up once: the loop runs some hundred thousand times a second.
_OPEN, _BUY, _SELL = State.OPEN, Side.BUY, Side.SELL
_LIMIT, _DAY, _IOC = OrderType.LIMIT, TimeInForce.DAY, TimeInForce.IOC
_IMMEDIATE: Final = int(OrderIntent.IMMEDIATE)
_AUCTIONS: Final = frozenset({State.RESERVED, State.FINAL_CLOSING_CALL})
_PASSIVE: Final = frozenset({OrderIntent.ICEBERG, OrderIntent.GOOD_TILL})
_UNPRICED: Final = frozenset({OrderIntent.MARKET, OrderIntent.STOP})
_REMEMBERED_TRADES = 256
_TAKEN = 7 << 16  # random bits: one of 8 orders that were left behind is taken, the others cancel
_LEFT_AT_ONCE, _AT_ONCE = 16, 100_000_000  # so many go together; parts of the day between two of them
_TOUCH_SPREADS = 3  # farther than so many half spreads nobody sends an order without a price
_PATIENT = 50  # times as long live icebergs and stops
_BRIEF, _STAYS = 6_000, 8  # parts of the day
_ANYWHERE: Final = -1  # in place of the instrument of an order whose book does not matter
_AUCTION_LIFE, _LATER, _SOON = 30, 60, 1_000  # parts of the day: after an auction, until a next look


class OrderFlow:
    """Commands of all participants of a market. Two flows with the same seed and the same answers give
    the same commands. `orders` are the exchange's open orders by id, `markets` its instruments with their
    books, both looked at as they are; without `markets` it reads no book."""

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
        self._blocks = Blocks(catalogue, np.random.default_rng(seed), self._settings, seed)
        self._impact = Impact(self._blocks, catalogue, self._settings.day_ns)
        self._instruments = catalogue.instruments
        self._ids = [instrument.security_id for instrument in self._instruments]
        self._ticks = [each.tick for each in self._instruments]
        self._lowest = [each.tick if not each.legs else -(1 << 60) for each in self._instruments]
        lots = np.maximum(np.rint(self._blocks.sizes.usual_lots), 1).astype(int).tolist()
        self._usual_sizes = [n * each.lot for n, each in zip(lots, self._instruments, strict=True)]
        self._index = {security_id: n for n, security_id in enumerate(self._ids)}
        self._orders, self._trading_state = orders, trading_state
        self._markets: Mapping[int, Listed] = {} if markets is None else markets
        self._living = LivingOrders(orders, len(self._ids), self._settings.shallowest)
        self._agenda = Agenda()
        self._debt = 0  # cancels that came at their own time, each instead of a draw
        self._trades: deque[Trade] = deque(maxlen=_REMEMBERED_TRADES)
        self._states = [trading_state(security_id) for security_id in self._ids]
        self._rare = Rare(catalogue, self._blocks, self._states, self._trades, seed, self._markets)
        self._asked: NewOrder | RlpOrder | None = None
        self._life_ns = 0  # of the order that was asked for: 0 where nothing ends it

    def answered(self, answer: Answer) -> None:
        """Told after every command, the flow's or another's: new orders, trades, states."""
        asked = self._asked
        if asked is not None:
            if answer.order_ids and answer.order_ids[0] in self._orders:
                self._remember(asked, answer.order_ids[0])
            self._asked = None
        for event in answer.events:
            first = event.updates[0]
            kind = type(first)
            if type(first) is ExecutionSummary:
                which = self._index.get(first.security_id)
                if which is not None:
                    self._impact.traded(which, first.aggressor, first.fill_size)
                trade = event.updates[1]
                if type(trade) is Trade and trade.security_id in self._index:
                    self._trades.append(trade)
            elif kind is StateChanged or kind is PhaseChanged:
                self.refresh()

    def _remember(self, order: NewOrder | RlpOrder, order_id: int) -> None:
        life_ns, day_ns = self._life_ns, self._settings.day_ns
        which = self._index.get(order.security_id)
        if which is None or self._is_outside(order, which):  # None: added in the session
            self._living.add(order_id, None)
            self._agenda.add(order.now_ns + life_ns, order_id, _ANYWHERE)
            return
        self._living.add(order_id, which)
        if not life_ns:
            return
        if life_ns > day_ns // _BRIEF and self._living.resting(which) <= self._blocks.thin[which]:
            life_ns += day_ns // _STAYS  # who has time stays where there are few
        self._agenda.add(order.now_ns + life_ns, order_id, which)

    def _is_outside(self, order: NewOrder | RlpOrder, which: int) -> bool:
        """Whether an order waits beside the book: hidden, or for the closing call."""
        if isinstance(order, RlpOrder):
            return True
        return order.type is OrderType.MARKET_ON_CLOSE and self._states[which] is _OPEN

    def refresh(self) -> None:
        """Look at the state of every instrument again."""
        self._states[:] = map(self._trading_state, self._ids)

    def start_day(self) -> None:
        """Trades of another day are no longer busted; orders that ended with it are forgotten."""
        self._trades.clear()
        self._rare.start_day()
        self._blocks.prices.end_day()
        self._living.forget_gone(0)
        self._agenda.keep_orders(self._living.own)
        self.refresh()

    def commands(self, start_ns: int, end_ns: int, count: int) -> Iterator[Timed]:
        """About `count` commands from `start_ns` to before `end_ns`, in order of time. Some draws come
        to nothing: there was no order to change, or an instrument closed since the block was drawn."""
        if end_ns <= start_ns:
            return
        if self._blocks.prices.start(start_ns):
            self._agenda.forget_operations()  # those of the day before that never found their time
            for when_ns, number in self._rare.plan(start_ns, self._settings.day_ns):
                self._agenda.add(when_ns, -1 - number, 0)
        blocks = -(-count // self._settings.block) if count > 0 else 0
        for n in range(blocks):
            begin, end = (start_ns + (end_ns - start_ns) * k // blocks for k in (n, n + 1))
            size = count * (n + 1) // blocks - count * n // blocks
            if end > begin and size:
                yield from self._block(begin, end, size)
        yield from self._due(end_ns - 1, start_ns)

    def _block(self, start_ns: int, end_ns: int, count: int) -> Iterator[Timed]:
        active = np.array([state is _OPEN or state in _AUCTIONS for state in self._states])
        self._living.live = [self._markets.get(security_id) for security_id in self._ids]
        self._impact.fade(start_ns)
        self._living.forget_gone(100)
        states, agenda = self._states, self._agenda
        drawn = self._blocks.draw(start_ns, end_ns, count, active)
        self._living.half_spreads = self._blocks.half_spreads.tolist()
        for draw in drawn:
            now_ns = draw[0]
            if agenda.due_ns <= now_ns:
                yield from self._due(now_ns, start_ns)
            usual = draw[2] <= _IMMEDIATE and states[draw[1]] is _OPEN
            command = self._usual(draw) if usual else self._seldom(draw)
            if command is not None:
                yield now_ns, command

    def _due(self, now_ns: int, earliest_ns: int) -> Iterator[Timed]:
        """Orders whose life is over, and operations whose time has come."""
        agenda, living, day_ns = self._agenda, self._living, self._settings.day_ns
        while agenda.due_ns <= now_ns:
            when_ns, what, which = agenda.take()
            when_ns = max(when_ns, earliest_ns)
            if what < 0:
                if (command := self._operation(when_ns, what)) is not None:
                    yield when_ns, command
            elif what not in self._orders:
                living.own.discard(what)
            elif which == _ANYWHERE:
                yield when_ns, CancelOrder(when_ns, what)
                if what in self._orders:  # not now, said the exchange
                    agenda.add(when_ns + day_ns // _LATER, what, which)
            elif self._states[which] is not _OPEN or living.is_thin(which):
                agenda.add(when_ns + day_ns // _LATER, what, which)
            elif living.holds_touch(which, what):
                agenda.add(when_ns + day_ns // _SOON, what, which)
            else:
                living.own.discard(what)
                self._debt += 1
                yield when_ns, CancelOrder(when_ns, what)

    def _operation(self, when_ns: int, what: int) -> FlowCommand | None:
        command = self._rare.make(-1 - what, when_ns) if _OPEN in self._states else None
        if command is None:
            self._agenda.add(when_ns + self._settings.day_ns // (3 * _LATER), what, 0)
        if isinstance(command, NewOrder | RlpOrder):
            self._asked, self._life_ns = command, self._rare.life_ns(command)
        return command

    def _usual(self, draw: Draw) -> FlowCommand | None:
        """An order of a few intents in an open book: more than four of five draws."""
        now_ns, which, intent, buys, middle, away, quantity, firm, depth, pick, life_ns = draw
        middle += self._impact.shifts[which]
        price = max(middle - away if buys else middle + away, self._lowest[which])
        if not intent:
            if self._debt:
                self._debt -= 1
                return None
            order_id, price = self._look(now_ns, which, buys, middle, price, pick)
            if order_id is None and self._living.resting(which) > depth:
                order_id = self._living.youngest_of_two(which, pick)
            if order_id is not None:
                self._living.own.discard(order_id)
                return CancelOrder(now_ns, order_id)
        self._life_ns = life_ns
        self._asked = NewOrder(
            now_ns, self._ids[which], _BUY if buys else _SELL, quantity, price, firm, _LIMIT,
            _IOC if intent == _IMMEDIATE else _DAY, None, None, None,
            None if pick & 7 else pick >> 3 & 15, STP_CHOICES[pick >> 8 & 3],
        )  # fmt: skip
        return self._asked

    def _look(
        self, now_ns: int, which: int, buys: bool, middle: int, price: int, pick: int
    ) -> tuple[int | None, int]:
        """What somebody about to rest at a price does when he sees the book: an order to cancel, since the
        value has moved on and it was left behind; or the price, at the touch where nobody is near it. Others
        that were left behind see it too, and go at once."""
        living = self._living
        market = living.live[which]
        if market is None:
            return None, price
        near, far = market.book.buys.orders, market.book.sells.orders
        if not buys:
            near, far = far, near
        half = living.half_spreads[which]
        touch = near[0].price if near else None
        if touch is None or abs(middle - touch) > EMPTY_SPREADS * half:
            price = max(middle - half if buys else middle + half, self._lowest[which])
        left = far[0].price if far else None
        if left is not None and _crosses(price, left, buys) and pick & _TAKEN:
            for n, order in enumerate(islice(far, 1, _LEFT_AT_ONCE), 1):
                if order.price is None or not _crosses(price, order.price, buys):
                    break
                if order.order_id in living.own:
                    self._agenda.add(now_ns + n * self._settings.day_ns // _AT_ONCE, order.order_id, which)
            if far[0].order_id in living.own:
                return far[0].order_id, price
            price = max(left + (-1 if buys else 1) * self._ticks[which], self._lowest[which])
        return None, price

    def _seldom(self, draw: Draw) -> FlowCommand | None:
        """What is left: the rarer intents, and instruments that are not open."""
        which, intent, buys = draw[1], draw[2], draw[3]
        middle = draw[4] + self._impact.shifts[which]
        # Who sends an order without a price does not sweep the book with it.
        size = min(draw[6], self._usual_sizes[which]) if intent in _UNPRICED else draw[6]
        draw = (*draw[:4], middle, draw[5], size, *draw[7:])
        if self._states[which] is not _OPEN:
            return self._in_auction(draw)
        if intent == OrderIntent.CHANGE:
            return self._change(draw)
        touch = best_price(self._living.live[which], buys=not buys)
        if intent == OrderIntent.MARKET and touch is not None:
            near = _TOUCH_SPREADS * self._living.half_spreads[which]
            if abs(touch - middle) > near:
                return None
        order = special_order(self._instruments[which], draw)
        if order is None or (order.price is not None and order.price < self._lowest[which]):
            return None
        if intent in _PASSIVE and touch is not None and _crosses(order.price or 0, touch, buys):
            return None
        self._asked, self._life_ns = order, 0 if intent == OrderIntent.GOOD_TILL else draw[10] * _PATIENT
        return order

    def _in_auction(self, draw: Draw) -> FlowCommand | None:
        """Books fill before they uncross: four come in where one goes out; nothing while closed."""
        now_ns, which, intent, _, _, _, _, _, depth, pick, life_ns = draw
        state = self._states[which]
        if state not in _AUCTIONS:
            return None
        if intent == OrderIntent.CHANGE:
            return self._change(draw)
        if pick % 5 == 0 or self._living.resting(which) > 2 * depth:
            order_id = self._living.some(which, pick >> 3)
            return None if order_id is None else CancelOrder(now_ns, order_id)
        order = auction_order(self._instruments[which], state, draw)
        if order.price is not None and order.price < self._lowest[which]:
            return None
        self._asked, self._life_ns = order, life_ns + self._settings.day_ns // _AUCTION_LIFE
        return order

    def _change(self, draw: Draw) -> FlowCommand | None:
        """Less of it keeps its place; another price or more of it loses it (12.2.2)."""
        now_ns, which, _, _, middle, away, _, _, _, pick, _ = draw
        order_id = self._living.some(which, pick)
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
        buys = order.side is _BUY
        inward = 1 if buys else -1
        price = middle - inward * away
        touch = best_price(self._living.live[which], buys=not buys) if self._states[which] is _OPEN else None
        if touch is not None and _crosses(price, touch, buys):
            price = touch - inward * instrument.tick
        if price == order.price:
            price -= inward * instrument.tick
        return None if price < self._lowest[which] else ChangeOrder(now_ns, order_id, None, price)


def _crosses(price: int, touch: int, buys: bool) -> bool:
    return price >= touch if buys else price <= touch
