"""Statistics of different streams (MDStreamID) are kept apart; sessions and auctions end in all of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.books import layout as t
from pregao.books.statistics import Statistics
from pregao.books.store import BookStore
from pregao.model import events as e
from pregao.model.market import Phase, StateEvent
from pregao.model.rows import ELECTRONIC
from tests.unit.books.making import SECURITY, row_of
from tests.unit.books.test_statistics import (
    DATE,
    HIGH,
    IMBALANCE,
    NOW,
    OPEN_INTEREST,
    OPENING,
    REGULAR,
    SETTLEMENT,
    THEORETICAL,
    TOTALS,
    state,
    trade,
)

LENDING, INDICES = ord("L"), ord("N")
STREAMS = st.sampled_from((0, LENDING, INDICES, 255))
UPDATES = st.sampled_from(
    (OPENING, THEORETICAL, HIGH, IMBALANCE, SETTLEMENT, TOTALS, OPEN_INTEREST, trade(), trade(11))
) | st.builds(e.TradeBusted, st.just(SECURITY), st.sampled_from((10, 11)), st.just(100), st.just(5),
              st.just(DATE), st.just(REGULAR), st.just(NOW))  # fmt: skip


def test_each_has_its_own_slots() -> None:
    store = BookStore()
    store.apply(row_of(OPENING))
    store.apply(row_of(HIGH, stream=LENDING))
    assert store.statistics(0).opening == OPENING
    assert store.statistics(0).high is None
    assert store.statistics(0, LENDING).high == HIGH
    assert store.statistics(0, LENDING).opening is None
    assert store.statistics(0, INDICES).latest == {}
    assert store.statistics(0, ELECTRONIC) == store.statistics(0), "the electronic market needs no name"
    assert store.streams(0) == [LENDING]
    assert store.statistics_rows(0, LENDING)[t.HIGH]["stream"] == LENDING


def test_one_stream_needs_no_more_memory_than_before() -> None:
    store = BookStore()
    store.apply(row_of(OPENING))
    assert store.used == t.LINE + t.STATISTICS_BLOCK


def test_a_state_has_no_stream() -> None:
    store = BookStore()
    store.apply(row_of(OPENING, stream=LENDING))
    store.apply(row_of(state(None, StateEvent.SESSION_CHANGE), stream=LENDING))
    assert store.statistics(0).state == state(None, StateEvent.SESSION_CHANGE)
    assert store.statistics(0, LENDING).latest == {}, "a new session resets all of them (14.3)"


def test_a_snapshot_takes_the_place_of_all() -> None:
    store = BookStore()
    for stream in (0, LENDING, INDICES):
        store.apply(row_of(OPENING, stream=stream))
    store.load_snapshot(0, row_of(TOTALS, stream=LENDING))
    assert [store.statistics(0, stream).opening for stream in (0, LENDING, INDICES)] == [None] * 3
    assert store.statistics(0, LENDING).totals == TOTALS
    store.check_invariants()


@given(st.lists(st.tuples(STREAMS, UPDATES), max_size=40), st.sampled_from(("", "session", "auction")))
@settings(max_examples=80)
def test_each_is_what_it_would_be_alone(told: list[tuple[int, e.Update]], ends: str) -> None:
    store, plain = BookStore(), {stream: Statistics() for stream in (0, LENDING, INDICES, 255)}
    assert store.add_instrument(SECURITY) == 0
    store.set_phase([0], Phase.PRE_OPEN)
    for stream, update in told:
        store.apply(row_of(update, stream=stream))
        plain[stream].apply(update)
    if ends == "session":
        store.reset_statistics([0])
    elif ends == "auction":
        store.forget_auction([0])
    for stream, statistics in plain.items():
        if ends == "session":
            statistics.reset_session()
        elif ends == "auction":
            statistics.forget_auction()
        assert store.statistics(0, stream) == statistics
    store.check_invariants()
