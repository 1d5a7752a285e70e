"""What publishers of several systems share: several deletions as one sweep, a whole book again, what a trade
carries of the trades before it, and the pace of streams that say everything again and again.

An aggressor that trades through several orders deletes them one by one from position 1. By position that is
one deletion from the last position on: everything up to position 1 goes (UMDF FIX/FAST 9.4, from where Binary
UMDF below wire version 15 took it). Only executions are said so.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from pregao.feeds.publishing import InstrumentBook, LoopPace
from pregao.model import events as e
from pregao.model.instruments import Instrument
from pregao.model.market import Action, PriceOrigin, Side, StateEvent

_CATCH_UP: Final = 64  # packets that a late call of a loop may send at once
_FINER: Final = 10_000  # of a closing price, beside a price
_EXECUTIONS: Final = (e.Trade, e.ExecutionSummary)


def swept(updates: Sequence[e.Update]) -> Sequence[e.Update]:
    """The same event with its sweeps said at once."""
    return joined_sweeps(updates) if any(isinstance(update, _EXECUTIONS) for update in updates) else updates


def joined_sweeps(updates: Sequence[e.Update]) -> Sequence[e.Update]:
    """The same without asking what made them."""
    return [said for run in _runs(updates) for said in (run if len(run) == 1 else [_sweep(run)])]


def _runs(updates: Iterable[e.Update]) -> list[list[e.Update]]:
    """Updates one by one, except deletions at the top of one side that follow each other."""
    runs: list[list[e.Update]] = []
    for update in updates:
        if runs and _follows(runs[-1][-1], update):
            runs[-1].append(update)
        else:
            runs.append([update])
    return runs


def _follows(before: e.Update, update: e.Update) -> bool:
    return (
        isinstance(before, e.OrderUpdate)
        and isinstance(update, e.OrderUpdate)
        and _at_top(before)
        and _at_top(update)
        and (before.security_id, before.side) == (update.security_id, update.side)
    )


def _at_top(update: e.OrderUpdate) -> bool:
    return update.action is Action.DELETE and update.position == 1


def _sweep(run: Sequence[e.Update]) -> e.SideDeleted:
    last = run[-1]
    assert isinstance(last, e.OrderUpdate)
    return e.SideDeleted(last.security_id, Action.DELETE_FROM, last.side, last.transact_ns, position=len(run))


def orders_again(security_id: int, book: InstrumentBook) -> Iterator[e.OrderUpdate]:
    """All orders of a book as new ones, after it was emptied."""
    for side, orders in ((Side.BUY, book.bids), (Side.SELL, book.offers)):
        for position, order in enumerate(orders, 1):
            yield e.OrderUpdate(
                security_id, Action.NEW, side, order.order_id, order.price, order.size, position,
                order.inserted_ns, order.transact_ns, firm=order.firm, implied=order.implied, recovery=True,
            )  # fmt: skip


# What trades carry of the trades before them: volume, net change, direction of the price.


class Tick(IntEnum):
    """TickDirection (274): against the price before it, or the last that differed."""

    PLUS = 0
    ZERO_PLUS = 1
    MINUS = 2
    ZERO_MINUS = 3


class Figures(NamedTuple):
    """Of one trade; None where nothing is known to compare it with."""

    volume: int
    net_change_fine: int | None
    tick: Tick | None


class TradeFigures:
    """By instrument. Tell it of every event (`begin`), then of its trades (`of`) and of all else
    (`observe`)."""

    def __init__(self) -> None:
        self._volumes: dict[int, int] = {}
        self._prices: dict[int, int] = {}
        self._moved: dict[int, Tick] = {}
        self._closings: dict[int, int] = {}

    def list(self, instruments: Iterable[Instrument]) -> None:
        for each in instruments:
            if each.closing_price is not None:
                self._closings.setdefault(each.security_id, each.closing_price)

    def start_session(self, security_id: int) -> None:
        self._volumes.pop(security_id, None)

    def observe(self, update: e.Update) -> None:
        if isinstance(update, e.ExecutionStatistics):
            self._volumes[update.security_id] = update.volume
        elif isinstance(update, e.ClosingPrice) and update.origin is PriceOrigin.PREVIOUS_DAY:
            self._closings[update.security_id] = update.price_fine
        elif isinstance(update, e.Definition):
            self.list([update.instrument])
        elif isinstance(update, e.StateChanged) and update.event is StateEvent.SESSION_CHANGE:
            self.start_session(update.security_id)

    def begin(self, updates: Sequence[e.Update]) -> None:
        """An event tells the volume after it: so that of before its trades is known, corrections or not."""
        for update in updates:
            if isinstance(update, e.ExecutionStatistics):
                security_id = update.security_id
                trades = (each for each in updates if isinstance(each, e.Trade))
                traded = (each.size for each in trades if each.security_id == security_id)
                self._volumes[security_id] = update.volume - sum(traded)

    def of(self, trade: e.Trade) -> Figures:
        security_id = trade.security_id
        volume = self._volumes[security_id] = self._volumes.get(security_id, 0) + trade.size
        closing = self._closings.get(security_id)
        net = None if closing is None else trade.price * _FINER - closing
        return Figures(volume, net, self.tick(security_id, trade.price))

    def tick(self, security_id: int, price: int) -> Tick | None:
        """Where the price, or the value of an index, went."""
        before = self._prices.get(security_id)
        self._prices[security_id] = price
        if before is not None and price != before:
            moved = self._moved[security_id] = Tick.PLUS if price > before else Tick.MINUS
            return moved
        last = self._moved.get(security_id)
        return None if last is None else Tick(last + 1)


# Streams that say everything, again and again.

MessageT = TypeVar("MessageT")


class Heartbeating(Protocol):
    """A numbered stream of packets: it says that it is there when it has nothing else to say."""

    def on_timeout(self, now_ns: int) -> None: ...


class PacedLoop(ABC, Generic[MessageT]):
    """Sends the messages of `begin` as time passes, then starts over. None: there is nothing to say yet, and
    only heartbeats go out. How messages become packets is the system's (`send_some`)."""

    def __init__(
        self,
        stream: Heartbeating,
        pace: LoopPace,
        begin: Callable[[], Iterator[MessageT] | None],
        now_ns: int,
    ) -> None:
        self._timer, self._pace, self._begin = stream, pace, begin
        self._messages: Iterator[MessageT] | None = None
        self.due_ns = now_ns  # when the next packet of a loop is
        self.held = False  # no other loop begins

    @property
    def under_way(self) -> bool:
        """Whether a loop has begun and not ended."""
        return self._messages is not None

    def advance(self, now_ns: int) -> None:
        """Send what is due; a long absence is not made up for."""
        if self.due_ns <= now_ns:
            interval_ns, pause_ns = self._pace
            self.due_ns = max(self.due_ns, now_ns - _CATCH_UP * interval_ns)
            while self.due_ns <= now_ns:
                going_on = self.send_some(now_ns)
                self.due_ns = self.due_ns + interval_ns if going_on else now_ns + max(pause_ns, interval_ns)
        self._timer.on_timeout(now_ns)

    def hold(self, now_ns: int, *, held: bool) -> None:
        """Held, a loop that is under way ends and none begins; released, one begins at once."""
        self.held = held
        if not held:
            self.due_ns = now_ns

    def messages(self) -> Iterator[MessageT] | None:
        """Those of the loop that is under way, begun just now if there was none."""
        if self._messages is None and not self.held:
            self._messages = self._begin()
        return self._messages

    @abstractmethod
    def send_some(self, now_ns: int) -> bool:
        """One packet of the loop; False at its end, or where there is none."""
