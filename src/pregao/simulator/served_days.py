"""The sessions of PUMA Conflated in a simulated day: the market they are served, and who tells them of it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from pregao.exchange.clearing import Clearing
from pregao.feeds.registry import load_serving_system
from pregao.model.events import Event
from pregao.simulator.driver import Task
from pregao.simulator.fault_plan import AppliedFault, DayOfFaults, FaultLog
from pregao.simulator.faults import SessionFault
from pregao.simulator.served_sessions import ServedSessions
from pregao.simulator.venue import OBSERVED, Venue
from pregao.simulator.whole_market import WholeMarket, market_totals

_RETRY_S: Final = 30  # until a client tries the primary again (4.1)
_TOTALS_NS: Final = 10_000_000_000  # a day has many seconds


class ServedDays:
    """Told of every event (`publish`); the files of a day are closed with it."""

    def __init__(
        self,
        system: str,
        venue: Venue,
        clearing: Clearing,
        sessions: int,
        *,
        lending_beside: bool = False,
        squeeze: int = 1,
    ) -> None:
        """`lending_beside`: loans have no ids of their own, but those of their shares. `squeeze`: days are so
        many times shorter, and so is the patience of clients."""
        self.system = system
        self._source = WholeMarket(
            venue.catalogue, venue.engine, venue.desk, clearing, lending_beside=lending_beside
        )
        totals = market_totals(venue.catalogue)
        settings = replace(load_serving_system(system).usual, totals=totals, totals_ns=_TOTALS_NS)
        retry = {"retry_s": max(1, _RETRY_S // squeeze)}
        self._sessions = ServedSessions(system, sessions, settings, self._set_time, retry)

    def _set_time(self, now_ns: int) -> None:
        self._source.now_ns = now_ns

    def open_day(self, trade_date: int, folder: Path, now_ns: int) -> None:
        self._sessions.open_day(self._source, trade_date, folder, now_ns)

    def publish(self, event: Event, now_ns: int) -> None:
        """What is due before it happens first."""
        sessions = self._sessions
        if sessions.is_open:
            sessions.advance(now_ns)
            self._set_time(now_ns)
        for update in event.updates:
            if type(update) in OBSERVED:
                self._source.observe(update)
        if sessions.is_open:
            sessions.publish(self._source.as_told(event), now_ns)

    def fault_tasks(
        self, faults: Iterable[SessionFault], day: DayOfFaults, date: str, log: FaultLog
    ) -> Iterator[Task]:
        """What goes wrong with sessions of a day, each at its time."""
        random = Random(f"sessions/{day.name}")
        for fault in faults:
            at_ns, pick = day.moment(fault.at_s, random), random.random()
            yield at_ns, partial(self._disrupt, fault, pick, date, log)

    def _disrupt(self, fault: SessionFault, pick: float, date: str, log: FaultLog, now_ns: int) -> None:
        if not self._sessions.is_open:
            return
        done = AppliedFault(date, "session", 0, "", self.system, None, None, now_ns, detail=fault.kind)
        log.note(done)
        self._sessions.advance(now_ns)
        if fault.kind == "cut":
            self._sessions.cut(now_ns, pick)
        else:
            self._sessions.stop_primary(now_ns, fault.lasts_ns)

    def close_day(self, now_ns: int) -> int:
        return self._sessions.close_day(now_ns)

    def discard_day(self) -> None:
        self._sessions.discard_day()
