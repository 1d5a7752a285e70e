"""Our server of PUMA Conflated and our client, in memory: the client's books are the engine's at every tick,
through cuts. Many seeds, failovers and slow readers: `tests/proofs/conflated_days.py`."""

from random import Random

import pytest

from pregao.exchange import control
from pregao.exchange.commands import CancelSide
from pregao.model.market import Side
from pregao.recovery.instruments import BookStatus
from tests.kits.conflated import SECOND, small_catalogue
from tests.kits.conflated_ends import BothEnds


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_clients_books_are_the_engines_at_every_tick(seed: int) -> None:
    ends = BothEnds(seed)
    draw, ids = Random(seed), [each.security_id for each in small_catalogue().instruments]
    ends.tick(0)
    most = 0
    for place in range(25):
        if place == 8:
            ends.engine.submit(CancelSide(ends.engine.now_ns, draw.choice(ids), Side.SELL))
        if place == 12:
            ends.engine.submit(control.StartAuction(ends.engine.now_ns, draw.choice(ids)))
        if place == 16:
            ends.engine.feed.reset_book(draw.choice(ids), ends.engine.now_ns)
            ends.tick(10)
            ends.tick(0)
            ends.tick(0)
        ends.tick(40)
        most = max(most, ends.check())
    assert most > 50
    assert ends.refused == []
    status = ends.client.status()
    assert (status.counters["rejects"], status.counters["garbled"], status.counters["gaps"]) == (0, 0, 0)
    assert status.unknown_tags == {}


def test_a_cut_makes_books_stale_until_their_snapshot() -> None:
    """Trades that were missed come by 35=UTHQ."""
    ends = BothEnds(5)
    for _ in range(5):
        ends.tick(40)
    ends.trade()
    ends.tick(0)
    ends.check()
    ends.cut()
    assert {book.status for book in ends.handler.books()} == {BookStatus.STALE}
    for _ in range(3):
        ends.trade()
    ends.tick(60)
    ends.engine.pass_time(ends.engine.now_ns + 2 * SECOND)
    ends.pump()
    ends.tick(0)
    assert ends.check() > 20
    assert ends.served_by == ["primary", "primary"]
    counters = ends.client.status().counters
    assert counters["history_requests"] > 0
    assert counters["history_entries"] >= 3
    assert ends.refused == []


def test_a_stopped_primary_sends_the_client_to_the_standby() -> None:
    """4.1: the primary is tried again after a while, then the standby, which has the same books."""
    ends = BothEnds(6)
    ends.tick(40)
    ends.stopped = {0}
    assert ends.connection is not None
    ends.connection.cut("The server is stopped", ends.engine.now_ns)
    ends.pump()
    for _ in range(4):
        ends.engine.pass_time(ends.engine.now_ns + 2 * SECOND)
        ends.pump()
    ends.tick(60)
    assert ends.served_by == ["primary", "standby 1"]
    assert ends.is_settled
    assert ends.check() > 10


def test_a_connection_that_breaks_within_a_message_loses_nothing() -> None:
    ends, draw = BothEnds(7), Random(7)
    ends.tick(40)
    for _ in range(3):
        ends.is_slow = True
        ends.tick(40)
        ends.cut(draw)
        ends.is_slow = False
        ends.engine.pass_time(ends.engine.now_ns + 2 * SECOND)
        ends.pump()
        ends.tick(20)
        assert ends.is_settled
        ends.check()


def test_a_slow_reader_catches_up() -> None:
    ends = BothEnds(8)
    ends.tick(40)
    ends.is_slow = True
    for _ in range(10):
        ends.tick(40)
    ends.is_slow = False
    ends.pump()
    ends.tick(0)
    assert ends.check() > 10
    assert ends.served_by == ["primary"]
