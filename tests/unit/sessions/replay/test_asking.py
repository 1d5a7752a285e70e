"""One request at a time, and all that was answered to it."""

import pytest

from pregao.sessions.fix import SessionDirectory, SessionRecord, SessionSettings
from pregao.sessions.replay import NumberRange, ReplayAnswer, ReplayAsking, ReplayServer, ReplayServerSettings
from tests.kits.replay_link import DICTIONARY, SECOND, START, archive, packed


class Ends:
    """A client and a replayer, joined by bytes."""

    def __init__(self, numbers: range = range(1, 5001), settings: ReplayServerSettings | None = None) -> None:
        directory = SessionDirectory()
        directory.add(SessionRecord("B3", "CLIENT"))
        self.archive = archive(numbers)
        self.server = ReplayServer(
            settings or ReplayServerSettings(), SessionSettings("B3", reset_on_logon=True), DICTIONARY,
            directory, self.archive,
        )  # fmt: skip
        self.asking = ReplayAsking("CLIENT", "B3", DICTIONARY)
        self.server.connect(START)
        self.asking.connect(START)
        self.run()

    def run(self) -> None:
        for _ in range(20):
            self.server.receive(self.asking.data_to_send(), START)
            self.asking.receive(self.server.session.data_to_send(), START)

    def ask(self, begin: int, end: int, channel: str = "5") -> ReplayAnswer | None:
        self.asking.ask(NumberRange(channel, begin, end), START)
        self.run()
        return self.asking.take_answer()


def test_a_range_comes_whole() -> None:
    ends = Ends()
    assert ends.asking.is_ready
    answer = ends.ask(17, 36)
    assert answer is not None
    assert answer.messages == {number: packed(number) for number in range(17, 37)}
    assert (answer.response, answer.report, answer.error) == (0, 3, None)
    assert answer.is_complete
    assert ends.asking.take_answer() is None


@pytest.mark.parametrize(
    ("begin", "end", "channel", "response", "report", "error", "count"),
    [
        (1, 20, "999", 1, None, 0, 0),  # no such channel: nothing has to follow
        (1, 20, "6", 0, 4, 1, 0),  # not available any more: told at the end
        (95, 120, "6", 1, None, 5, 0),
        (4990, 5010, "6", 1, None, 6, 0),
        (1, 3000, "6", 1, None, 4, 0),
    ],
)
def test_what_is_refused_says_why(
    begin: int, end: int, channel: str, response: int, report: int | None, error: int, count: int
) -> None:
    answer = Ends(range(101, 5001)).ask(begin, end, channel)
    assert answer is not None
    assert (answer.response, answer.report, answer.error) == (response, report, error)
    assert not answer.is_complete
    assert len(answer.messages) == count


def test_an_answer_to_an_earlier_request_is_not_taken() -> None:
    """The report of an unknown channel comes after its acknowledgement, which ended the answer."""
    ends = Ends()
    assert ends.ask(1, 20, "999") is not None
    answer = ends.ask(1, 20)
    assert answer is not None
    assert answer.is_complete


def test_a_replayer_that_is_not_available_refuses() -> None:
    ends = Ends()
    ends.archive.is_available = False
    answer = ends.ask(1, 20)
    assert answer is not None
    assert (answer.response, answer.report) == (7, None)


def test_messages_may_have_a_clock_of_their_own() -> None:
    """What was sent half a second ago, by that clock, cannot be asked for yet where it takes a second."""
    ends = Ends(settings=ReplayServerSettings(delay_ns=SECOND))
    ends.archive.clock = lambda: START - SECOND // 2
    answer = ends.ask(1, 20)
    assert answer is not None
    assert answer.error == 6
    ends.archive.clock = lambda: START
    answer = ends.ask(1, 20)
    assert answer is not None
    assert answer.is_complete


def test_a_session_ends() -> None:
    ends = Ends()
    ends.asking.logout(START)
    ends.run()
    assert ends.asking.is_over
    assert not ends.asking.is_ready
