"""Loops of A and B that are not the same: 5.2.3 promises it of the incremental streams only."""

from collections.abc import Iterator
from random import Random

import pytest

from pregao.model.streams import Feed, Stream
from tests.kits.fast_market import MS, FastToy
from tests.unit.feeds.fast.test_handler import BOTH, Listener

INSTRUMENTS = 20
LOOPS = (Stream.DEFINITION, Stream.SNAPSHOT)


def telling(toy: FastToy, stream: Stream) -> Iterator[tuple[int, bytes]]:
    """A site's own loops, without end."""
    while True:
        yield from enumerate(toy.definitions() if stream is Stream.DEFINITION else toy.snapshots(), 1)


class Sites:
    """A market whose sites loop on their own: B is `lag` messages behind A."""

    def __init__(self, seed: int, lag: int, kind: str = "MBO") -> None:
        self.listener = Listener(seed, kind)
        self.toy = self.listener.toy = FastToy(seed, kind, instruments=INSTRUMENTS)
        self.listener.step(60)
        self.loops = {(feed, stream): telling(self.toy, stream) for feed in BOTH for stream in LOOPS}
        for stream in LOOPS:
            self.tell(Feed.A, stream, lag)

    def tell(self, feed: Feed, stream: Stream, count: int = 1, *, lost: bool = False) -> None:
        for _ in range(count):
            self.toy.now_ns += MS
            number, message = next(self.loops[feed, stream])
            if not lost:
                self.listener.hear(number, message, stream, (feed,))

    @property
    def is_ready(self) -> bool:
        return self.listener.handler.machine.ready and self.listener.compare() == INSTRUMENTS


@pytest.mark.parametrize("kind", ["MBO", "MBP"])
@pytest.mark.parametrize("lag", [1, 7, 13])
def test_one_of_them_is_followed(lag: int, kind: str) -> None:
    """Three loops are enough, as if there were one feed; all is right meanwhile."""
    sites = Sites(71, lag, kind)
    rounds = 0
    while not sites.is_ready:
        rounds += 1
        assert rounds <= 3 * (INSTRUMENTS + 1), "three loops of snapshots"
        for feed in BOTH:
            for stream in LOOPS:
                sites.tell(feed, stream)
        if rounds % 5 == 0:
            sites.listener.step()
        if sites.listener.handler.machine.definitions.complete:
            sites.listener.compare()
    machine = sites.listener.handler.machine
    assert (machine.definitions.tracker.broken, machine.snapshots.tracker.broken) == (0, 0)


def test_what_is_lost_costs_a_loop_and_no_more() -> None:
    """A loop that is broken is left for the other site's."""
    sites, random = Sites(73, 9), Random(73)
    rounds = 0
    while not sites.is_ready:
        rounds += 1
        assert rounds <= 10 * (INSTRUMENTS + 1)
        for feed in BOTH:
            for stream in LOOPS:
                sites.tell(feed, stream, lost=random.random() < 0.03)


def test_a_site_that_falls_silent_is_left() -> None:
    sites = Sites(75, 5)
    rounds = 0
    while not sites.is_ready:
        rounds += 1
        assert rounds <= 256 + 4 * (INSTRUMENTS + 1)
        for stream in LOOPS:
            sites.tell(Feed.B, stream)
