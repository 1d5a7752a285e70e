"""The day of a live market: open from the start, by the day script on the clock, or left to the operator."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum
from typing import Final

from pregao.exchange import control
from pregao.exchange.catalogues.rules import Catalogue, ListedInstrument
from pregao.exchange.day import SECOND_NS, load_regular_day
from pregao.exchange.flow import FlowCommand, OrderFlow
from pregao.exchange.settlement import SettlementStage
from pregao.exchange.timetable import timetable
from pregao.model.local_time import local_day
from pregao.model.market import Phase, Session
from pregao.simulator.settings import as_date, days_since_1970, next_day
from pregao.simulator.venue import fitting

# Of a day that began before the exchange did, only what lasts is made up for.
_LASTS = (control.ChangeSession, control.ChangePhase)


class DayKind(Enum):
    OPEN = "open"
    CLOSED = "closed"
    SCRIPT = "script"


def trade_date_at(now_ns: int) -> int:
    """The local date, as days since 1970."""
    return local_day(now_ns)


class Schedule:
    """Commands that time brings; each is given out with the time it is asked at."""

    def __init__(self, kind: DayKind, catalogue: Catalogue, trade_date: int, seed: int) -> None:
        self.kind, self.trade_date = kind, trade_date
        self._catalogue, self._seed = catalogue, seed
        self._script = fitting(load_regular_day(), catalogue)
        self._commands: list[control.Control] = []
        self._next = 0

    def start(self, now_ns: int) -> Iterator[control.Control]:
        """What happens at once."""
        if self.kind is DayKind.SCRIPT:
            self._plan()
            yield from self._past(now_ns)
            return
        yield from figures(self._catalogue, self.trade_date, now_ns)
        if self.kind is DayKind.OPEN:
            for phase in (Phase.PRE_OPEN, Phase.OPEN):
                for group in self._catalogue.groups:
                    yield control.ChangePhase(now_ns, *group.key, phase)

    def next_timeout(self) -> int | None:
        return self._commands[self._next].now_ns if self._next < len(self._commands) else None

    def take(self, now_ns: int) -> Iterator[control.Control]:
        """What is due; after the last command of a day comes the next trading day."""
        while (due_ns := self.next_timeout()) is not None and due_ns <= now_ns:
            command = self._commands[self._next]
            self._next += 1
            if self._next == len(self._commands):
                self.trade_date = days_since_1970(next_day(as_date(self.trade_date)))
                self._plan()
            yield _at(command, now_ns)

    def _plan(self) -> None:
        self._commands = timetable(self._script, self._catalogue, self.trade_date, seed=self._seed)
        self._next = 0

    def _past(self, now_ns: int) -> Iterator[control.Control]:
        while (due_ns := self.next_timeout()) is not None and due_ns <= now_ns:
            command = self._commands[self._next]
            if self._next + 1 == len(self._commands):
                return  # `take` goes on to the next day with it
            self._next += 1
            if isinstance(command, _LASTS):
                yield _at(command, now_ns)


def _at(command: control.Control, now_ns: int) -> control.Control:
    if isinstance(command, control.ChangePhase) and command.ends_ns is not None and command.ends_ns <= now_ns:
        return replace(command, now_ns=now_ns, ends_ns=None)
    return replace(command, now_ns=now_ns)


def figures(catalogue: Catalogue, trade_date: int, now_ns: int) -> Iterator[control.Control]:
    """The session, and what is known before it."""
    for group in catalogue.groups:
        yield control.ChangeSession(now_ns, *group.key, Session.REGULAR, trade_date)
    for listing in catalogue.listings:
        yield from _known(listing, now_ns)


def _known(listing: ListedInstrument, now_ns: int) -> Iterable[control.Control]:
    security_id = listing.instrument.security_id
    if listing.instrument.closing_price is not None:
        yield control.PublishClosing(now_ns, security_id, of_day_before=True)
    yield control.PublishBands(now_ns, security_id)
    if listing.settlement is not None:
        yield control.PublishSettlement(now_ns, security_id, SettlementStage.PREVIOUS_FINAL)
    if listing.open_interest is not None:
        yield control.PublishOpenInterest(now_ns, security_id)


# Background order flow at a rate: the flow of the simulation on whatever clock there is.


AT_ONCE: Final = 200  # commands of one turn, so that an operator never waits for long


class BackgroundFlow:
    """`rate` commands a second, drawn a second or more at a time. What cannot be done in time is not
    made up for: the next stretch then starts later.

    The flow must hear the answer to each command before the next is drawn; `take` draws.
    """

    def __init__(self, flow: OrderFlow, rate: float) -> None:
        self.flow = flow
        seconds = max(1, math.ceil(1 / rate))
        self._stretch_ns, self._count = seconds * SECOND_NS, max(1, round(rate * seconds))
        self._drawn: Iterator[tuple[int, FlowCommand]] = iter(())
        self._held: tuple[int, FlowCommand] | None = None
        self._ends_ns = 0
        self.entered_ns = 0  # when the command taken last was due: it has waited in the queue since (13.1)

    def next_timeout(self) -> int:
        return self._ends_ns if self._held is None else self._held[0]

    def take(self, now_ns: int) -> FlowCommand | None:
        """The next command that is due, as of now; None if there is none yet."""
        if self._held is None:
            self._held = next(self._drawn, None)
        if self._held is None and now_ns >= self._ends_ns:
            start_ns = max(self._ends_ns, now_ns - self._stretch_ns // 2)
            self._ends_ns = start_ns + self._stretch_ns
            self._drawn = self.flow.commands(start_ns, self._ends_ns, self._count)
            self._held = next(self._drawn, None)
        if self._held is None or self._held[0] > now_ns:
            return None
        self.entered_ns, command = self._held
        self._held = None
        return replace(command, now_ns=now_ns)
