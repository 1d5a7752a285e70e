"""The market of bonds: commands in, model events out. Deterministic, without a clock or chance.

    market = BondMarket(load_default_bonds(), fixings)
    market.open_day(now_ns)                                    # yesterday's prices, all bonds in pre-open
    outcome = market.submit(EnterOrder(now_ns, 500000001, Side.BUY, price, size, firm=3))
    outcome.events, outcome.rejection, outcome.number

An order trades while it meets what rests, by rank and then by time. Trades of a casada are told on the casada
alone. Opening ends the pre-open with one uncross, whose trades are of the auction (AW), the day's first of a
bond also its opening (AWR). `floor.py` has states, terms and trades.
"""

from collections.abc import Callable
from typing import Any, Final

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.book import BondOrder, RateOrder
from pregao.exchange.bonds.catalogue import BondCatalogue
from pregao.exchange.bonds.floor import BondFloor, ListedBond, RejectedError
from pregao.exchange.bonds.negotiation import Negotiations
from pregao.exchange.bonds.pricing import Fixings
from pregao.exchange.commands import Rejection, RejectReason
from pregao.model.events import Event, Update
from pregao.model.market import LimitType, PriceOrigin, State
from pregao.model.records import record
from pregao.model.updates import ClosingPrice, PriceBand, TradeBusted

STATES: Final = (State.PAUSE, State.OPEN, State.RESERVED)


@record
class BondOutcome:
    """`number` is the order, request, quote or trade that the command was about."""

    events: tuple[Event, ...] = ()
    rejection: Rejection | None = None
    number: int | None = None


class BondMarket:
    def __init__(
        self, catalogue: BondCatalogue, fixings: Fixings, *, rate_order: RateOrder = RateOrder.MARKET
    ) -> None:
        self.floor = BondFloor(catalogue, fixings, rate_order)
        self.negotiations = Negotiations(self.floor)
        self.on_taken: Callable[[c.BondCommand], None] | None = None  # told of each command that is taken
        self._handlers: dict[type, Callable[[Any, list[Update]], int | None]] = {
            c.EnterOrder: self._enter, c.AmendOrder: self._change, c.WithdrawOrder: self._cancel,
            c.CancelTrade: self._cancel_trade, c.ChangeTradingState: self._change_state,
            c.SetTunnel: self._set_band, c.CloseDay: self._close_day,
            c.RequestQuote: self.negotiations.request,
            c.AnswerQuote: self.negotiations.answer, c.AcceptQuote: self.negotiations.accept,
            c.RegisterVoice: self.negotiations.register_voice,
        }  # fmt: skip

    def submit(self, command: c.BondCommand) -> BondOutcome:
        """Events of a command that is taken, or why it is not; then nothing has changed."""
        handler, updates = self._handlers.get(type(command)), list[Update]()
        if handler is None:
            return BondOutcome(rejection=Rejection(RejectReason.UNKNOWN_COMMAND, type(command).__name__))
        try:
            number = handler(command, updates)
        except RejectedError as error:
            return BondOutcome(rejection=error.rejection)
        if self.on_taken is not None:
            self.on_taken(command)
        return BondOutcome((Event(tuple(updates)),) if updates else (), None, number)

    def open_day(self, now_ns: int, opens_ns: int = 0) -> tuple[Event, ...]:
        """What is known before the first order: prices of the day before, and states. `opens_ns` is when the
        pre-open is to end, 0: that is not told."""
        events = []
        for listed in self.floor.listed.values():
            instrument, updates = listed.bond.instrument, list[Update]()
            if instrument.closing_price is not None:
                closing, origin = instrument.closing_price, PriceOrigin.PREVIOUS_DAY
                date = self.floor.trade_date
                updates.append(ClosingPrice(instrument.security_id, closing, date, now_ns, origin))
            listed.ends_ns = opens_ns
            self.floor.tell_state(listed, now_ns, updates)
            events.append(Event(tuple(updates)))
        return tuple(events)

    def _enter(self, command: c.EnterOrder, updates: list[Update]) -> int:
        listed = self.floor.find(command.security_id)
        self.floor.check_terms(listed, command.price, command.size, listed.bond.instrument.maximum_quantity)
        if self.floor.state(listed) is State.PAUSE:
            raise RejectedError(RejectReason.STATE_FORBIDS_ENTRY)
        order = BondOrder(
            self.floor.next_number(), command.security_id, command.side, command.price, command.size,
            command.firm, command.now_ns,
        )  # fmt: skip
        self._place(listed, order, command.now_ns, updates)
        return order.order_id

    def _place(self, listed: ListedBond, order: BondOrder, now_ns: int, updates: list[Update]) -> None:
        """Trades while it meets what rests, then rests itself."""
        book = listed.book
        if self.floor.state(listed) is State.OPEN:
            other = book.sides[order.side.opposite]
            while order.size and other.best and book.meets(order.side, order.price, other.best):
                resting = other.best
                size = min(order.size, resting.size)
                order.size -= size
                firms = self.floor.firms_of(order.side, order.firm, resting.firm)
                updates.append(book.reduce(resting, size, now_ns))
                self.floor.forget(listed, resting)
                self.floor.trade(listed, resting.price, size, firms, now_ns, updates)
        if order.size:
            self.floor.order_bonds[order.order_id] = listed
            updates.append(book.enter(order, now_ns))
        self.floor.tell_theoretical(listed, now_ns, updates)

    def _change(self, command: c.AmendOrder, updates: list[Update]) -> int:
        listed, order = self._own_order(command.order_id, command.firm)
        if self.floor.state(listed) is State.PAUSE:
            raise RejectedError(RejectReason.STATE_FORBIDS_ENTRY)
        self.floor.check_terms(listed, command.price, command.size, listed.bond.instrument.maximum_quantity)
        if (command.price, command.size) == (order.price, order.size):
            raise RejectedError(RejectReason.NOTHING_CHANGED)
        if command.price == order.price and command.size < order.size:
            updates.append(listed.book.reduce(order, order.size - command.size, command.now_ns))
            self.floor.tell_theoretical(listed, command.now_ns, updates)
            return order.order_id
        updates.append(listed.book.delete(order, command.now_ns))
        self.floor.forget(listed, order)
        again = BondOrder(
            self.floor.next_number(), order.security_id, order.side, command.price, command.size, order.firm,
            command.now_ns,
        )  # fmt: skip
        self._place(listed, again, command.now_ns, updates)
        return again.order_id

    def _cancel(self, command: c.WithdrawOrder, updates: list[Update]) -> int:
        listed, order = self._own_order(command.order_id, command.firm)
        updates.append(listed.book.delete(order, command.now_ns))
        self.floor.forget(listed, order)
        self.floor.tell_theoretical(listed, command.now_ns, updates)
        return order.order_id

    def _own_order(self, order_id: int, firm: int) -> tuple[ListedBond, BondOrder]:
        listed = self.floor.order_bonds.get(order_id)
        if listed is None:
            raise RejectedError(RejectReason.UNKNOWN_ORDER, str(order_id))
        order = listed.book.orders[order_id]
        if order.firm != firm:
            raise RejectedError(RejectReason.NOT_THE_OWNER)
        return listed, order

    def _cancel_trade(self, command: c.CancelTrade, updates: list[Update]) -> int:
        listed = self.floor.find(command.security_id)
        counted = listed.statistics.trades.get(command.trade_id)
        if counted is None:
            raise RejectedError(RejectReason.UNKNOWN_TRADE, str(command.trade_id))
        trade = counted.trade
        busted = TradeBusted(
            trade.security_id, trade.trade_id, trade.price, trade.size, trade.trade_date, trade.session,
            command.now_ns,
        )  # fmt: skip
        updates.append(busted)
        updates += listed.statistics.remove(command.trade_id, command.now_ns)
        return command.trade_id

    def _change_state(self, command: c.ChangeTradingState, updates: list[Update]) -> None:
        if command.state not in STATES:
            raise RejectedError(RejectReason.NOT_NOW, command.state.name)
        number, listed = command.security_id, self.floor.listed.get(command.security_id)
        affected = list(self.floor.casadas.get(number, []))
        if listed is None and not affected:
            raise RejectedError(RejectReason.UNKNOWN_INSTRUMENT, str(number))
        if listed is not None:
            listed.own_state, listed.ends_ns = command.state, command.ends_ns
            affected.insert(0, listed)
        elif command.state is State.PAUSE:
            self.floor.halted_futures.add(number)
        else:
            self.floor.halted_futures.discard(number)
        for each in affected:
            self.floor.settle_state(each, command.now_ns, updates)

    def _set_band(self, command: c.SetTunnel, updates: list[Update]) -> None:
        listed = self.floor.find(command.security_id)
        if command.low > command.high:
            raise RejectedError(RejectReason.PRICE_INVALID, f"{command.low} to {command.high}")
        listed.bands[command.type] = command.low, command.high
        band = PriceBand(
            command.security_id, command.type, command.now_ns, LimitType.PRICE, command.low, command.high
        )
        updates.append(band)

    def _close_day(self, command: c.CloseDay, updates: list[Update]) -> None:
        """Closing prices of what traded, then every order gone and everything halted."""
        for listed in self.floor.listed.values():
            number, last = listed.bond.instrument.security_id, listed.statistics.last
            if last is not None:
                updates.append(
                    ClosingPrice(number, last, self.floor.trade_date, command.now_ns, PriceOrigin.DAILY)
                )
            for order in list(listed.book.orders.values()):
                updates.append(listed.book.delete(order, command.now_ns))
                self.floor.forget(listed, order)
            listed.own_state = State.PAUSE
            self.floor.settle_state(listed, command.now_ns, updates)
        self.negotiations.end()

    def check_invariants(self) -> None:
        for listed in self.floor.listed.values():
            listed.book.check_invariants()
            if listed.told_state is State.OPEN:
                assert not listed.book.is_crossed, listed.bond.instrument.symbol
            assert listed.told_state in (None, self.floor.state(listed))
            trades = [each.trade for each in listed.statistics.trades.values()]
            assert listed.statistics.volume == sum(trade.size for trade in trades)
            booked = [trade.price for trade in trades if trade.sub_type is None]
            assert listed.statistics.high == max(booked, default=None)
            assert listed.statistics.low == min(booked, default=None)
        resting = {number for listed in self.floor.listed.values() for number in listed.book.orders}
        assert resting == self.floor.order_bonds.keys()
