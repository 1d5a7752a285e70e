"""The exchange's truth of one channel, held against a handler at the same sequence number."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from pregao.books.statistics import StatisticSlot, slot_of
from pregao.handler.handler import ChannelHandler
from pregao.handler.views import HandledBook
from pregao.model import events as e
from pregao.model.market import Side, TradeSubType
from pregao.recovery.instruments import BookStatus
from pregao.recovery.progress import ChannelState
from pregao.simulator.memory import BooksCheckpoint, InstrumentTruth

Point = tuple[int, int]

# Times of statistics in the truth are those of the checkpoint.
_TIMES = frozenset(("time_ns", "transact_ns"))
_SINCE_9 = (e.SettlementPrice, e.OpenInterest)  # the wire has no such message before


class DifferenceError(AssertionError):
    """Something shown as clean is not the exchange's."""


def check_phases_known(handler: ChannelHandler) -> None:
    """A channel that says that all is well knows the phase of every group that somebody is of: the exchange's
    loops tell them all (7.4)."""
    if handler.machine.state is ChannelState.LIVE:
        groups = [handler.groups[name] for name in handler.groups.names()]
        unknown = [group.name for group in groups if group.members and not group.verified]
        if unknown:
            raise DifferenceError(f"channel {handler.channel} is live, phases not known of {unknown}")


class TruthFollower:
    """`at_point` once for every place the handler comes to."""

    def __init__(self, checkpoints: Iterable[BooksCheckpoint], version: int, *, groups: bool = True) -> None:
        """`groups`: a phase that is verified is the exchange's. A forged one may be too, while no instrument
        is: then only states of instruments are compared."""
        self._groups = groups
        self._by_point: dict[Point, list[BooksCheckpoint]] = {}
        self._order: list[Point] = []
        for checkpoint in checkpoints:
            point = checkpoint.seq_version, checkpoint.seq_num
            if point not in self._by_point:
                self._order.append(point)
            self._by_point.setdefault(point, []).append(checkpoint)
        self._passed = 0
        self._place = {point: place for place, point in enumerate(self._order)}
        self._known: dict[int, InstrumentTruth] = {}
        self._phases: dict[str, e.PhaseChanged] = {}
        self._version = version
        self.books = self.statistics = self.states = self.points = self.unclean = 0

    def at_point(self, point: Point, handler: ChannelHandler, *, fresh: bool = False) -> None:
        """The handler is at a point; if the truth has one there, everything clean must equal it.
        `fresh`: only what the checkpoint itself has, for truths of every event."""
        place = self._place.get(point)
        if place is None or place < self._passed:
            return
        named: dict[int, InstrumentTruth] = {}
        for each in self._order[self._passed : place + 1]:
            for checkpoint in self._by_point[each]:
                self._known.update(checkpoint.instruments)
                self._phases = {phase.group: phase for phase in checkpoint.phases}
                named = dict(checkpoint.instruments)
        self._passed = place + 1
        self.points += 1
        if self._groups:
            self._compare_phases(handler)
        for security_id, truth in (named if fresh else self._known).items():
            self._compare(handler, security_id, truth)

    def end_at(self, point: Point) -> None:
        """Nothing came behind it: what was sent last was lost by every feed, and nobody can know of it."""
        self._order = [each for each in self._order if each <= point or self._place[each] < self._passed]

    @property
    def is_over(self) -> bool:
        return self._passed == len(self._order)

    def _compare_phases(self, handler: ChannelHandler) -> None:
        known = set(handler.groups.names())
        for name, truth in self._phases.items():
            if name in known and handler.groups[name].verified:
                self.states += 1
                found = handler.groups[name].phase
                if found is not truth.phase:
                    raise DifferenceError(f"group {name}: phase {found!r}, truth {truth.phase!r}")

    def _compare(self, handler: ChannelHandler, security_id: int, truth: InstrumentTruth) -> None:
        try:
            book = handler.book(security_id)
        except KeyError:
            self.unclean += 1
            return
        known, statistics_known = handler.known(book.index)
        if known is BookStatus.CLEAN:
            self._compare_sides(book, truth)
        if statistics_known is BookStatus.CLEAN:
            self._compare_statistics(book, truth)
        if book.state_status is BookStatus.CLEAN:
            self.states += 1
            found, latest = book.trading_state, truth.trading_state
            if found != latest:
                raise DifferenceError(f"{book.symbol}: state {found!r}, truth {latest!r}")
            own = None if truth.state is None else truth.state.state
            if book.own_state is not own:
                raise DifferenceError(f"{book.symbol}: of its own {book.own_state!r}, truth {own!r}")
        self.unclean += min(known, statistics_known) is not BookStatus.CLEAN

    def _compare_sides(self, book: HandledBook, truth: InstrumentTruth) -> None:
        for side, resting in ((Side.BUY, truth.bids), (Side.SELL, truth.offers)):
            self.books += 1
            ours = [
                (o.order_id, o.price, o.size, o.inserted_ns, o.firm, o.implied) for o in book.orders(side)
            ]
            theirs = [
                (o.order_id, o.price, o.size, o.inserted_ns, o.firm, o.implied and self._version >= 10)
                for o in resting
            ]
            if ours != theirs:
                raise DifferenceError(f"{book.symbol} {side.name}: {_first_difference(ours, theirs)}")

    def _as_sent(self, update: e.Update) -> e.Update:
        if isinstance(update, e.SettlementPrice) and self._version < 17:
            return replace(update, settlement_date=None)
        if isinstance(update, e.ExecutionStatistics):
            return replace(update, value=None)  # of other systems: Binary UMDF has no field for it
        if isinstance(update, e.LastTrade):
            # The wire has neither this sub-type nor this bit before.
            sweep = self._version < 9 and update.sub_type is TradeSubType.SWEEP
            sub_type = None if sweep else update.sub_type
            return replace(update, sub_type=sub_type, implied=update.implied and self._version >= 10)
        return update

    def _compare_statistics(self, book: HandledBook, truth: InstrumentTruth) -> None:
        expected: dict[StatisticSlot, Any] = {}
        for update in truth.statistics:
            slot = slot_of(update)
            if slot is not None and not (self._version < 9 and isinstance(update, _SINCE_9)):
                expected[slot] = _without_times(self._as_sent(update))
        ours = {slot: _without_times(latest) for slot, latest in book.statistics.latest.items()}
        ours.pop(StatisticSlot.STATE, None)
        latest = book.statistics.last_trade
        if latest is not None and not latest.condition and StatisticSlot.LAST_TRADE in expected:
            # A LastTradePrice of the incremental stream: it has none of its trade's conditions (13.6).
            expected[StatisticSlot.LAST_TRADE] = _without_times(
                replace(self._as_sent(_last(truth)), condition=latest.condition)
            )
        self.statistics += len(expected)
        if ours != expected:
            slots = [slot for slot in StatisticSlot if ours.get(slot) != expected.get(slot)]
            words = "; ".join(f"{s.name} {ours.get(s)}, truth {expected.get(s)}" for s in slots)
            raise DifferenceError(f"{book.symbol}: {words}")


def _last(truth: InstrumentTruth) -> e.LastTrade:
    return next(update for update in truth.statistics if isinstance(update, e.LastTrade))


def _without_times(update: Any) -> tuple[Any, ...]:
    values = [getattr(update, f.name) for f in fields(update) if f.compare and f.name not in _TIMES]
    return type(update).__name__, *values


def _first_difference(ours: list[Any], theirs: list[Any]) -> str:
    for place, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if one != other:
            return f"{len(ours)} orders, truth {len(theirs)}; at {place}: {one}, truth {other}"
    return f"{len(ours)} orders, truth {len(theirs)}: {(ours + theirs)[min(len(ours), len(theirs))]}"
