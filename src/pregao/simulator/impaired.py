"""Captures with faults: stands between the publisher and a capture, and notes what it does."""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from random import Random
from typing import Final

from pregao.feeds.publishing import Publisher, PublishingSite, PublishingSystem
from pregao.model.streams import Feed, Stream
from pregao.simulator.driver import Driver, Task
from pregao.simulator.fault_plan import TAKES_OVER_NS, TARGETS, AppliedFault, DayOfFaults, FaultLog, Run
from pregao.simulator.faults import IN_LOOP, FaultPlan
from pregao.simulator.line import PublishingLine
from pregao.simulator.outputs import Capture

_LATER_NS: Final = 30_000  # at most, another feed's own SendingTime
_AGAIN_NS: Final = 15_000  # after itself, a packet that comes twice


class ImpairedCapture:
    """One feed of one stream. Packets wait in `_held` until nothing can come before them any more."""

    def __init__(
        self, capture: Capture, system: PublishingSystem, channel: int, stream: Stream, feed: Feed,
        day: DayOfFaults, date: str, log: FaultLog,
    ) -> None:  # fmt: skip
        target = TARGETS[stream, feed]
        self._capture, self._log = capture, log
        self._where = (channel, feed.name, stream.name.lower())
        self._point_of, self._with_other_header = system.point_of, system.with_other_header
        self._date = date
        self._faults = day.of(target)
        self._random = Random(f"faults/{day.name}/{target}")
        self._headers = Random(f"headers/{day.name}/{target}")
        self._shared = Random(f"both/{day.name}")  # A and B draw the same from it
        self._held: list[tuple[int, int, bytes]] = []
        self._aside: list[tuple[int, bytes]] = []  # packets to go, and a packet that comes behind them
        self._order = 0
        self._running: dict[str, int] = {}  # packets still to lose of a run
        skew_ns = self._faults.skew_ns
        if skew_ns:
            log.note(AppliedFault(date, "skew", *self._where, None, None, 0, skew_ns))
        if self._faults.own_header:
            log.note(AppliedFault(date, "header", *self._where, None, None, 0))

    def send(self, payload: bytes, sending_ns: int) -> None:
        if self._faults.own_header:
            # The same messages. The time is drawn for each packet, so that it follows no rule.
            payload = self._with_other_header(payload, self._headers.randrange(1, _LATER_NS))
        ts_ns = self._capture.arrival(sending_ns)
        number = self._point_of(payload).next_number
        why = self._why_lost(number, sending_ns)
        if why is not None:
            self._note(why, payload, sending_ns)
            return
        random, faults = self._random, self._faults
        if number and faults.late and sending_ns >= faults.late[-1]:
            faults.late.pop()
            places = random.randint(1, faults.most_places)
            self._note("reorder", payload, sending_ns, places)
            self._aside.append((places, payload))
            return
        if faults.delay and random.random() < faults.delay:
            self._note("delay", payload, sending_ns, faults.delay_ns)
            self._push(ts_ns + faults.delay_ns, payload)
        else:
            self._push(ts_ns, payload)
            if number and self._aside:
                self._come_behind(ts_ns)
        if faults.dup and random.random() < faults.dup:
            self._note("dup", payload, sending_ns)
            self._push(ts_ns + _AGAIN_NS, payload)
        self._release(ts_ns)

    def _why_lost(self, number: int, sending_ns: int) -> str | None:
        """The first reason there is. Chance is asked every time: one fault does not move another."""
        faults = self._faults
        found = None
        if number:
            both = faults.both_chance and self._shared.random() < faults.both_chance
            if self._in_run("both", faults.both, sending_ns) or both:
                found = "both"
            elif self._in_run("gap", faults.gaps, sending_ns):
                found = "gap"
        for silence in faults.silences:
            if found is None and silence.start_ns <= sending_ns < silence.end_ns:
                found = silence.kind
        if faults.loss and self._random.random() < faults.loss and found is None:
            found = "loss"
        return found

    def _in_run(self, kind: str, runs: list[Run], sending_ns: int) -> bool:
        left = self._running.get(kind, 0)
        if not left and runs and sending_ns >= runs[-1][0]:
            left = runs.pop()[1]
        if left:
            self._running[kind] = left - 1
        return left > 0

    def _come_behind(self, ts_ns: int) -> None:
        waiting = []
        for places, payload in self._aside:
            if places > 1:
                waiting.append((places - 1, payload))
            else:
                self._push(ts_ns + 1, payload)
        self._aside = waiting

    def _push(self, ts_ns: int, payload: bytes) -> None:
        self._order += 1
        heappush(self._held, (ts_ns, self._order, payload))

    def _release(self, until_ns: int) -> None:
        held = self._held
        while held and held[0][0] <= until_ns:
            ts_ns, _, payload = heappop(held)
            self._capture.record(payload, ts_ns + self._faults.skew_ns)

    def finish(self) -> None:
        """The day is over: whatever still waits arrives."""
        last_ns = self._capture.arrival(0)
        for _, payload in self._aside:
            self._push(last_ns, payload)
        self._aside.clear()
        self._release(1 << 63)

    def _note(self, kind: str, payload: bytes, sending_ns: int, amount: int | None = None) -> None:
        version, number = self._point_of(payload)
        self._log.note(AppliedFault(self._date, kind, *self._where, version, number, sending_ns, amount))


# Faults that the exchange itself commits: resets, and the primary site that falls silent.


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

    def __init__(self, plan: FaultPlan, driver: Driver, log: FaultLog) -> None:
        self._plan, self._driver, self._log = plan, driver, log

    def tasks(self, line: PublishingLine, day: DayOfFaults, date: str) -> Iterator[Task]:
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

    def _in_loop(self, line: PublishingLine, act: _Act) -> _Act:
        """At the next moment at which a snapshot loop is under way."""

        def wait(_: int) -> None:
            line.ambushes.append(act)

        return wait

    def _reset(self, line: PublishingLine, kind: str, date: str, slowly: bool, pick: float) -> _Act:
        def act(now_ns: int) -> None:
            driver, publisher = self._driver, line.publisher
            if kind == "book" and not line.books.instruments():
                return  # a channel of news has no books
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
            feed = "A" if line.site is PublishingSite.PRIMARY else "C"
            how = kind if kind == "book" else f"{kind} {'gradually' if slowly else 'at once'}"
            self._log.note(
                AppliedFault(
                    date, "reset", line.channel, feed, "incremental", *point, send_ns, security_id, how
                )
            )

        return act


def _some_book(line: PublishingLine, pick: float) -> int:
    """One of the instruments that have orders, or of all while none has."""
    known = line.books.instruments()
    booked = [each for each in known if (book := line.books.book(each)) and (book.bids or book.offers)]
    among = booked or known
    return among[int(pick * len(among))]
