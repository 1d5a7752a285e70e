"""What publishers of all systems share: the pace of a stream that says everything again and again."""

from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from pregao.feeds.publishers import PacedLoop
from pregao.feeds.publishing import LoopPace

PACE = LoopPace(interval_ns=10, pause_ns=100)
MOST_AT_ONCE = 64


class Letters(PacedLoop[str]):
    """A packet is a letter; a loop has `abc`, and its end is a packet of its own."""

    def __init__(self, begin: Callable[[], Iterator[str] | None], now_ns: int = 0) -> None:
        super().__init__(self, PACE, begin, now_ns)
        self.sent: list[tuple[int, str]] = []
        self.looked_ns: list[int] = []

    def on_timeout(self, now_ns: int) -> None:
        self.looked_ns.append(now_ns)

    def send_some(self, now_ns: int) -> bool:
        messages = self.messages()
        if messages is None:
            return False
        letter = next(messages, "")
        self.sent.append((now_ns, letter))
        if not letter:
            self._messages = None
        return bool(letter)


def test_packets_are_an_interval_apart_and_loops_a_pause() -> None:
    loop = Letters(lambda: iter("abc"))
    while loop.due_ns <= 150:
        loop.advance(loop.due_ns)
    assert loop.sent == [(0, "a"), (10, "b"), (20, "c"), (30, ""), (130, "a"), (140, "b"), (150, "c")]
    assert loop.under_way


def test_heartbeats_are_looked_at_whether_or_not_a_packet_is_due() -> None:
    loop = Letters(lambda: None)
    for now_ns in (0, 5, 50):
        loop.advance(now_ns)
    assert (loop.sent, loop.looked_ns, loop.under_way) == ([], [0, 5, 50], False)
    assert loop.due_ns == 100  # nothing to say: asked again after the pause


def test_held_a_loop_ends_and_none_begins_and_released_one_begins_at_once() -> None:
    loop = Letters(lambda: iter("ab"))
    loop.advance(0)
    loop.hold(5, held=True)
    for now_ns in range(10, 500, 10):
        loop.advance(now_ns)
    assert [letter for _, letter in loop.sent] == ["a", "b", ""]
    loop.hold(505, held=False)
    loop.advance(505)
    assert loop.sent[-1] == (505, "a")


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=20))
def test_a_long_absence_is_not_made_up_for(steps_ns: list[int]) -> None:
    loop, now_ns = Letters(lambda: iter("a" * 10_000)), 0
    for step_ns in steps_ns:
        now_ns += step_ns
        before = len(loop.sent)
        loop.advance(now_ns)
        assert len(loop.sent) - before <= min(MOST_AT_ONCE, step_ns // PACE.interval_ns) + 1
        assert now_ns < loop.due_ns <= now_ns + PACE.interval_ns
