"""Instruments that come, change, are renamed and go while a day runs: what the list of a channel is made of.

Not part of an ordinary simulated day: whoever proves something of listeners asks for it.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from pregao.exchange.control import AddInstrument, ChangeInstrument, DeleteInstrument
from pregao.exchange.market import InstrumentMarket
from pregao.simulator.driver import Driver, Task

_FIRST_ID: Final = 900_000_000_000
_IN_LOOPS: Final = 0.7
Deed = Callable[[int], None]


class Relisting:
    """A number of operations a day, at moments by seed. What the exchange refuses is not done: an instrument
    that has traded, or that others are made of, cannot go."""

    def __init__(self, driver: Driver, seed: int) -> None:
        self._driver, self._random = driver, Random(f"relisting/{seed}")
        self._made = 0
        self._channel: int | None = None
        self._ours: list[int] = []  # ids that were added, also those that are deleted again
        self._deeds = (self._add, self._add, self._change, self._rename, self._delete, self._come_back)

    def tasks(self, count: int, starts_ns: int, ends_ns: int) -> list[Task]:
        return sorted(self._tasks(count, starts_ns, ends_ns), key=lambda task: task[0])

    def _tasks(self, count: int, starts_ns: int, ends_ns: int) -> Iterator[Task]:
        for number in range(count):
            # Some in bursts, as when a series is listed. Most in the middle of a loop of definitions, which
            # goes on with the list of its beginning.
            now_ns = self._random.randrange(starts_ns, ends_ns)
            deed: Deed = self._deeds[number % len(self._deeds)]
            if self._random.random() < _IN_LOOPS:
                deed = self._ambush(deed)
            for place in range(self._random.choice((1, 1, 1, 3))):
                yield now_ns + place * 1_000_000, deed

    def _ambush(self, deed: Deed) -> Deed:
        line = self._random.choice(self._driver.lines)

        def wait(_: int) -> None:
            line.list_ambushes.append(act)

        def act(now_ns: int) -> None:
            self._channel = line.channel
            deed(now_ns)
            self._channel = None

        return wait

    @property
    def _markets(self) -> dict[int, InstrumentMarket]:
        return self._driver.venue.engine.floor.markets

    def _candidates(self) -> list[InstrumentMarket]:
        """Of the channel whose loop is going on, if that is what was waited for."""
        markets = self._markets.values()
        return [each for each in markets if self._channel in (None, each.instrument.channel)]

    def _any(self) -> InstrumentMarket:
        return self._random.choice(self._candidates())

    def _plain(self) -> InstrumentMarket | None:
        """One that others may be like."""
        found = [each for each in self._candidates() if not each.instrument.legs]
        return self._random.choice(found) if found else None

    def _add(self, now_ns: int) -> None:
        self._made += 1
        self._list(now_ns, _FIRST_ID + self._made)

    def _list(self, now_ns: int, security_id: int) -> None:
        like = self._plain()
        if like is not None and security_id not in self._markets:
            self._made += 1
            self._ours.append(security_id)
            self._driver.submit(AddInstrument(now_ns, security_id, f"NEW{self._made}", like.security_id))

    def _change(self, now_ns: int) -> None:
        self._made += 1
        command = ChangeInstrument(now_ns, self._any().security_id, description=f"Version {self._made}")
        self._driver.submit(command)

    def _rename(self, now_ns: int) -> None:
        self._made += 1
        self._driver.submit(ChangeInstrument(now_ns, self._any().security_id, symbol=f"REN{self._made}"))

    def _delete(self, now_ns: int) -> None:
        candidates = [each.security_id for each in self._candidates()]
        ours = [each for each in self._ours if each in candidates]
        chosen = self._random.choice(ours or candidates)
        self._driver.submit(DeleteInstrument(now_ns, chosen))

    def _come_back(self, now_ns: int) -> None:
        """One that was deleted, under its old id (7.4.1: its rptSeq goes on)."""
        gone = [each for each in self._ours if each not in self._markets]
        if gone:
            self._list(now_ns, self._random.choice(gone))
