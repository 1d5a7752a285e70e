"""What an instrument follows is a phase, what it has of its own is a state (14)."""

import pytest

from pregao.market.events import StateChanged
from pregao.model import events as e
from pregao.model.market import Phase, Session, State, StateEvent
from tests.unit.feeds.binary.publisher.desk import DATE, NOW, SECOND, A, B, Book, phase, state
from tests.unit.handler.kit import Channel


def told(security_id: int, of: State, event: StateEvent | None = None) -> e.StateChanged:
    return e.StateChanged(security_id, Session.REGULAR, of, event, DATE, NOW)


def test_a_group_in_pre_close_is_no_closed_instrument() -> None:
    """18 of a group is PRE_CLOSE for whoever follows it: neither CLOSE nor FORBIDDEN (14.2)."""
    channel = Channel()
    channel.say(phase("01", Phase.PRE_CLOSE))
    book = channel.handler.book(A)
    assert book.state is Phase.PRE_CLOSE
    assert (book.phase, book.own_state, book.trading_state) == (Phase.PRE_CLOSE, None, State.CLOSE)


@pytest.mark.parametrize(
    ("of", "own", "expected"),
    [
        (Phase.PRE_CLOSE, State.FORBIDDEN, State.FORBIDDEN),
        (Phase.PRE_CLOSE, State.RESERVED, State.RESERVED),  # its auction continues (14.2)
        (Phase.PRE_CLOSE, State.OPEN, Phase.PRE_CLOSE),  # the more restrictive rules (14.1)
        (Phase.OPEN, State.PAUSE, State.PAUSE),
        (Phase.PAUSE, State.OPEN, Phase.PAUSE),
        (Phase.OPEN, State.OPEN, State.OPEN),
    ],
)
def test_which_of_both_rules_and_neither_is_lost(of: Phase, own: State, expected: Phase | State) -> None:
    channel = Channel()
    channel.say(phase("01", of))
    channel.say(told(A, own, StateEvent.LEAVES_GROUP))
    book = channel.handler.book(A)
    assert book.state is expected
    assert (book.phase, book.own_state) == (of, own)
    assert channel.handler.book(B).state is of
    channel.say(told(A, State(of.value), StateEvent.REJOINS_GROUP))
    assert book.state is of
    assert book.own_state is None


def test_snapshots_that_say_the_number_of_the_phase() -> None:
    """As B3's do for all instruments of a group in 18: the phase that they follow, no state of their own."""
    channel = Channel(hear=False)
    channel.market.groups = [phase("01", Phase.PRE_CLOSE)]
    for security_id in (A, B):
        channel.market.books[security_id] = Book(state=state(security_id, State.FORBIDDEN))
    channel.pass_time(2 * SECOND)
    for security_id in (A, B):
        book = channel.handler.book(security_id)
        assert (book.state, book.own_state) == (Phase.PRE_CLOSE, None)
        assert isinstance(book.state, Phase)


def test_the_line_of_one_that_rejoins() -> None:
    assert told(A, State.FORBIDDEN, StateEvent.REJOINS_GROUP).followed is Phase.PRE_CLOSE
    assert told(A, State.FORBIDDEN, StateEvent.LEAVES_GROUP).followed is None
    event = StateChanged(
        84, "AAAA1", NOW, 1, A, Session.REGULAR, State.FORBIDDEN, StateEvent.REJOINS_GROUP, DATE, None
    )
    assert str(event) == "AAAA1 follows its group again, phase pre close"
