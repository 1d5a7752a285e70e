"""Whole days through server and client in memory: books equal the engine's after every message, whatever
happens to the connection."""

import re
from random import Random

import pytest

from pregao.exchange.bonds.book import RateOrder
from pregao.feeds.session_port import SessionMessage
from pregao.feeds.trademate.system import TRADEMATE_PLAIN
from pregao.model.errors import Fault
from pregao.model.market import State
from pregao.recovery.instruments import BookStatus
from pregao.sessions.fix import SessionState
from tests.kits.bonds import CATALOGUE, LTN
from tests.kits.trademate import SECOND
from tests.kits.trademate_ends import BothEnds

_OF_LTN = b"\x0148=%d\x01" % LTN


@pytest.mark.parametrize("conflate", [False, True])
@pytest.mark.parametrize("compress", [False, True])
def test_books_are_the_engines_after_every_message(conflate: bool, compress: bool) -> None:
    ends = BothEnds(3, orders=300, conflate=conflate, compress=compress)
    assert ends.is_settled
    most = steps = 0
    while ends.step():
        steps += 1
        if conflate and ends.floor.feed.next_timeout() is not None:
            continue  # books are those of the last tick
        most = max(most, ends.check())
    assert steps > 300
    assert most > 50
    assert ends.findings == []
    assert ends.client.status().counters["gaps"] == 0


class _OddNames(BothEnds):
    """OrderIDs of one bond that are no numbers, as the text would allow."""

    def _hear(self, messages: list[SessionMessage], now_ns: int) -> None:
        odd = rb"(?<=\x01)37=\d(?=\d*\x01)"
        super()._hear(
            [
                each._replace(payload=re.sub(odd, b"37=A", each.payload)) if _OF_LTN in each.payload else each
                for each in messages
            ],
            now_ns,
        )


def test_orders_without_a_number_leave_their_book_in_doubt_and_no_other() -> None:
    ends = _OddNames(3, orders=300)
    book, truth = ends.handler.book(LTN), ends.day.market.floor.listed[LTN].book
    doubted = 0
    while ends.step():
        assert book.is_clean is not bool(truth.orders)
        doubted += not book.is_clean
        assert {each.instrument for each in ends.handler.books() if not each.is_clean} <= {book.instrument}
    assert doubted > 100
    assert 0 < len(ends.findings) < 50
    assert {each.what for each in ends.findings} == {Fault.FIX_UNKNOWN_VALUE.name}
    assert ends.client.status().counters["snapshots"] < 20 * len(
        CATALOGUE
    )  # it is not asked for at every turn


def test_rates_that_rank_as_prices() -> None:
    """With the system's name that says so orders and levels are the engine's, and nothing is found."""
    ends = BothEnds(3, orders=300, system=TRADEMATE_PLAIN, rate_order=RateOrder.PLAIN)
    most = both = 0
    while ends.step():
        most = max(most, ends.check())
        for bond in CATALOGUE:
            number = bond.instrument.security_id
            truth, book = ends.day.market.floor.listed[number], ends.handler.book(number)
            if bond.is_rate and truth.told_state is State.OPEN and book.bids and book.offers:
                assert (book.bids[0].price or 0) < (book.offers[0].price or 0)
                both += 1
    assert most > 50
    assert both > 50
    assert ends.findings == []


def test_another_ranking_than_ours_is_reported_and_positions_decide() -> None:
    """Who takes an exchange that ranks rates as prices for one that does not has its sides all the same."""
    ends = BothEnds(3, orders=300, rate_order=RateOrder.PLAIN)
    most = 0
    while ends.step():
        most = max(most, ends.check(levels_too=False))
    assert most > 50
    assert len(ends.findings) > 30
    assert {each.what for each in ends.findings} == {Fault.FIX_RANKED_OTHERWISE.name}


def test_rates_below_zero_and_fractions_are_in_the_books() -> None:
    ends = BothEnds(4)
    prices, sizes = set[int](), set[int]()
    while ends.step():
        for book in ends.handler.books():
            for level in (*book.bids, *book.offers):
                if book.instrument is not None and book.instrument.size_exponent:
                    sizes.add(level.size % 10**8)
                prices.add(level.price or 0)
    assert min(prices) < 0
    assert len(sizes) > 1


@pytest.mark.parametrize("seed", range(3))
def test_after_a_cut_books_are_stale_until_their_snapshot(seed: int) -> None:
    ends, draw = BothEnds(seed), Random(seed)
    cuts = 0
    while ends.step():
        if draw.random() < 0.02:
            ends.cut(draw)
            cuts += 1
            assert {book.status for book in ends.handler.books()} == {BookStatus.STALE}
        elif ends.is_settled:
            ends.check()
    ends.floor.pass_time(ends.floor.now_ns + 2 * SECOND)
    ends.pump()
    assert ends.is_settled
    ends.check()
    assert cuts > 3
    assert 4 <= ends.began <= cuts + 1  # some cuts found nobody logged on


def test_a_slow_reader_catches_up() -> None:
    ends = BothEnds(5)
    checked = 0
    for number in range(400):
        ends.is_slow = number % 50 > 10
        if not ends.step():
            break
        if not ends.is_slow and ends.is_settled:
            ends.check()
            checked += 1
    ends.is_slow = False
    for seconds in range(1, 60):
        ends.floor.pass_time(ends.floor.now_ns + seconds * SECOND)
        ends.pump()
    ends.check()
    assert checked > 30
    assert ends.is_settled  # who did not read for minutes was cut, and came again


@pytest.mark.parametrize(
    "settings", [{"password": "wrong"}, {"user": "nobody"}], ids=["a wrong password", "an unknown user"]
)
def test_who_is_refused_is_told_nothing(settings: dict[str, str]) -> None:
    ends = BothEnds(1, settings=settings)
    assert (ends.began, ends.client.is_live) == (0, False)
    assert ends.lost == 1
    assert not list(ends.handler.books())
    for seconds in (1, 2, 5):  # delays grow: it is not even looked at
        ends.floor.pass_time(ends.floor.now_ns + seconds * SECOND)
        ends.pump()
    assert ends.began == 0
    assert ends.server.guard.refused >= 2


def test_where_passwords_may_be_left_out() -> None:
    ends = BothEnds(1, settings={"user": "desk"}, password_required=False)
    assert ends.began == 1


def test_states_come_with_books() -> None:
    ends = BothEnds(2, orders=100)
    assert ends.handler.book(LTN).own_state is State.RESERVED
    seen = set()
    while ends.step():
        told = ends.day.market.floor.listed[LTN].told_state
        assert ends.handler.book(LTN).own_state is told
        seen.add(told)
    assert {State.RESERVED, State.OPEN, State.PAUSE} == seen


def test_statistics_are_those_of_the_engine() -> None:
    ends = BothEnds(6)
    compared = 0
    while ends.step():
        pass
    for bond in CATALOGUE:
        number = bond.instrument.security_id
        known, truth = ends.handler.book(number).statistics, ends.day.market.floor.listed[number].statistics
        high = None if known.high is None else known.high.price
        low = None if known.low is None else known.low.price
        assert (high, low) == (truth.high, truth.low)
        if known.totals is not None:
            vwap = None if known.vwap is None else known.vwap.price
            assert (known.totals.volume, vwap) == (truth.volume, truth.average)
            compared += 1
    assert compared > 10


def test_a_wrong_book_is_asked_for_again() -> None:
    ends = BothEnds(7)
    for _ in range(200):
        ends.step()
    ends.handler.machine.suspect(LTN, ends.handler.machine.at)
    assert ends.handler.book(LTN).status is not BookStatus.CLEAN
    while ends.step():
        if ends.handler.book(LTN).is_clean:
            break
    assert ends.handler.book(LTN).is_clean
    ends.check()
    assert ends.connection is not None
    assert ends.connection.session.state is SessionState.ACTIVE
    assert len(ends.connection.subscriber.market_data) == 1  # the one more was cancelled
