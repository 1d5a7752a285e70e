"""Faults that the exchange itself commits: resets, and the primary site that falls silent."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from pregao.feeds.publishing import Publisher, Site
from pregao.model.streams import Stream
from pregao.simulator.applied_faults import Deed, DeedLog
from pregao.simulator.driver import Driver, Task
from pregao.simulator.fault_plan import TAKES_OVER_NS, DayOfWrongs
from pregao.simulator.faults import IN_LOOP, FaultPlan
from pregao.simulator.line import Line

_Act = Callable[[int], None]
_CARRY_OUT: Final[dict[str, Callable[[Publisher, int, bool], None]]] = {
    "channel": lambda publisher, ns, slowly: publisher.reset_channel(ns, gradually=slowly),
    "definitions": lambda publisher, ns, slowly: publisher.reset_channel(
        ns, definitions=True, gradually=slowly
    ),
    "stream": lambda publisher, ns, slowly: publisher.reset_stream(ns, gradually=slowly),
    "failover": lambda publisher, ns, slowly: publisher.fail_over(ns, gradually=slowly),
    "week": lambda publisher, ns, slowly: publisher.start_week(ns, gradually=slowly),
}
_NEXT_VERSION: Final = frozenset(("failover",))  # their first packet is number 1 of the next version


class Injector:
    """Puts the resets of a plan on the clock of a day."""

    def __init__(self, plan: FaultPlan, driver: Driver, log: DeedLog) -> None:
        self._plan, self._driver, self._log = plan, driver, log

    def tasks(self, line: Line, day: DayOfWrongs, date: str) -> Iterator[Task]:
        """What happens to one channel, each at its time."""
        random = Random(f"resets/{day.name}")
        for reset in self._plan.resets:
            at_ns = day.any_time(random) if reset.at_s == IN_LOOP else day.moment(reset.at_s, random)
            act = self._reset(line, reset.kind, date, random.random() < 0.5, random.random())
            yield at_ns, self._in_loop(line, act) if reset.at_s == IN_LOOP else act
        for start_ns, end_ns in day.failures:
            if line.standby is not None:
                takes_over = self._reset(line.standby, "failover", date, False, 0.0)
                yield start_ns + TAKES_OVER_NS, takes_over
            yield end_ns, self._reset(line, "failover", date, False, 0.0)

    def _in_loop(self, line: Line, act: _Act) -> _Act:
        """At the next moment at which a snapshot loop is under way."""

        def wait(_: int) -> None:
            line.ambushes.append(act)

        return wait

    def _reset(self, line: Line, kind: str, date: str, slowly: bool, pick: float) -> _Act:
        def act(now_ns: int) -> None:
            driver, publisher = self._driver, line.publisher
            line.books.now_ns = now_ns
            driver.checkpoint(line, now_ns)
            send_ns = line.send_at(now_ns)
            before = publisher.point(Stream.INCREMENTAL)
            security_id = None
            if kind == "book":
                security_id = _some_book(line, pick)
                publisher.reset_book(security_id, send_ns)
            else:
                _CARRY_OUT[kind](publisher, send_ns, slowly)
            driver.checkpoint(line, now_ns)
            driver.look_again(line)
            after = publisher.point(Stream.INCREMENTAL)
            point = (after.version, 1) if kind in _NEXT_VERSION else before
            feed = "A" if line.site is Site.PRIMARY else "C"
            how = kind if kind == "book" else f"{kind} {'gradually' if slowly else 'at once'}"
            self._log.note(
                Deed(date, "reset", line.channel, feed, "incremental", *point, send_ns, security_id, how)
            )

        return act


def _some_book(line: Line, pick: float) -> int:
    """One of the instruments that have orders, or of all while none has."""
    known = line.books.instruments()
    booked = [each for each in known if (book := line.books.book(each)) and (book.bids or book.offers)]
    among = booked or known
    return among[int(pick * len(among))]
