"""Instruments that come and go on the incremental stream, and phases of those nobody has described yet."""

import pytest

from pregao.feeds.publishing import OutgoingPacket
from pregao.handler.instruments import LineTable
from pregao.model import events as e
from pregao.model.market import DefinitionAction, Phase
from pregao.model.packets import batch_of
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.events import DefinitionsComplete
from pregao.recovery.instrument_events import InstrumentStale
from pregao.recovery.instruments import BookStatus
from tests.unit.feeds.binary.publisher.desk import SECOND, A, B, Book, C, instrument, order, phase, state
from tests.unit.handler.kit import CLEAN, Channel


def test_deleted_and_listed_again() -> None:
    channel = Channel()
    channel.say(order(A, 1), state(A))
    channel.define(instrument(A), DefinitionAction.DELETE)
    assert [book.security_id for book in channel.handler.books()] == [B]
    with pytest.raises(KeyError):
        channel.handler.book("AAAA1")
    channel.define(instrument(A), DefinitionAction.ADD)
    assert channel.known(A) == CLEAN
    assert channel.ids(A) == []
    # rptSeq goes on where it was: only an EmptyBook starts it again (7.4.1).
    channel.say(order(A, 2))
    assert channel.known(A) == CLEAN
    assert channel.ids(A) == [2]
    assert not any(isinstance(event, InstrumentStale) for event in channel.events)


def test_a_symbol_that_gets_another_instruments_id() -> None:
    channel = Channel()
    channel.define(instrument(A, symbol="BBBB3"), DefinitionAction.MODIFY)
    channel.define(instrument(B, symbol="AAAA1"), DefinitionAction.MODIFY)
    channel.say(order(B, 5))
    assert channel.handler.book("AAAA1").security_id == B
    assert channel.handler.book("BBBB3").security_id == A
    assert channel.handler.book("AAAA1").top.bid is not None
    with pytest.raises(KeyError):
        channel.handler.book("AAAA2")


def test_an_instrument_that_is_new() -> None:
    channel = Channel()
    channel.define(instrument(C), DefinitionAction.ADD)
    channel.say(order(C, 1))
    assert channel.known(C) == CLEAN
    assert channel.ids(C) == [1]


def test_a_batch_is_taken_in_the_order_of_its_packets() -> None:
    """A loop begins, an instrument is added, the loop ends without it: all in one batch."""
    channel = Channel(hear=False)
    lines = LineTable([StreamId(84, Stream.INCREMENTAL, Feed.A), StreamId(84, Stream.DEFINITION, Feed.A)])
    channel.deliver(channel.packets(order(A, 1)))
    listed: list[OutgoingPacket] = []
    while len(listed) < 2:  # the list, and the SequenceReset
        channel.publisher.on_timeout(channel.publisher.next_timeout())
        listed += [each for each in channel.publisher.take() if each.stream is Stream.DEFINITION]
    first, last = listed
    added = channel.packets(e.Definition(instrument(C), DefinitionAction.ADD))
    traded = channel.packets(order(C, 1))
    sources = [(1, first), *((0, each) for each in (*added, *traded)), (1, last)]
    batch = batch_of([(source, channel.now_ns, each.payload) for source, each in sources])
    channel.events += channel.handler.receive_batch(batch, lines, channel.now_ns)
    assert any(isinstance(event, DefinitionsComplete) for event in channel.events)
    assert {book.symbol for book in channel.handler.books()} == {"AAAA1", "AAAA2", "AAAA3"}
    assert channel.handler.book("AAAA3").security_id == C


def test_a_name_that_the_incremental_stream_changed_is_not_changed_back_by_an_older_loop() -> None:
    channel = Channel(hear=False)
    channel.deliver(channel.packets(order(A, 1)))
    channel.define(instrument(A, symbol="BBBB3"), DefinitionAction.MODIFY)
    channel.pass_time(SECOND)  # the loops of this market still say AAAA1
    assert channel.handler.machine.definitions.complete
    assert channel.handler.book("BBBB3").security_id == A


def test_a_phase_while_the_definition_is_not_known_makes_statistics_doubtful() -> None:
    channel = Channel()
    channel.market.books[C] = Book()
    channel.say(order(C, 1), state(C))  # nobody has said what C is
    channel.market.books[C].bids[:] = [order(C, 1)]
    channel.pass_time(SECOND)
    assert channel.known(C) == CLEAN
    channel.say(phase("09", Phase.OPEN))
    assert channel.known(C) == (BookStatus.CLEAN, BookStatus.UNVERIFIED)
    channel.pass_time(SECOND)
    assert channel.known(C) == CLEAN
