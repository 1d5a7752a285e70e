"""A day on a channel of FIX/FAST, from bytes to what is known: auctions, sessions that change, instruments
that come and go."""

from typing import Any

import pytest

from pregao.codecs.fast import Scaled
from pregao.handler.views import HandledBook
from pregao.model.market import ImbalanceSide, Phase, Side, State
from pregao.model.streams import Stream
from tests.kits.fast_market import MS, ToyOrder
from tests.unit.feeds.fast.test_handler import Listener, listed

FIRST = 200_000_000_002  # of group G0, as its neighbours with even numbers
AUCTION: tuple[dict[str, Any], ...] = (
    {"MDEntryType": "4", "OpenCloseSettlFlag": 5, "MDEntryPx": Scaled(1_010, -2), "MDEntrySize": 300},
    {"MDEntryType": "A", "MDEntrySize": 700, "TradeCondition": "Q"},
)
TOLD_IN_A_SESSION: tuple[dict[str, Any], ...] = (
    {"MDEntryType": "2", "MDEntryPx": Scaled(1_010, -2), "MDEntrySize": 3, "TradeID": "9999"},
    {"MDEntryType": "3", "MDEntryPx": Scaled(1_010, -2), "IndexSeq": 1},
    {"MDEntryType": "4", "OpenCloseSettlFlag": 0, "MDEntryPx": Scaled(1_010, -2)},
    {"MDEntryType": "4", "OpenCloseSettlFlag": 5, "MDEntryPx": Scaled(1_010, -2), "MDEntrySize": 3},
    {"MDEntryType": "7", "MDEntryPx": Scaled(1_010, -2)},
    {"MDEntryType": "8", "MDEntryPx": Scaled(1_010, -2)},
    {"MDEntryType": "9", "MDEntryPx": Scaled(1_010, -2)},
    {"MDEntryType": "B", "MDEntryPx": Scaled(1_010, -2), "MDEntrySize": 3, "TradeVolume": 5},
    {"MDEntryType": "5", "OpenCloseSettlFlag": 4, "MDEntryPx": Scaled(1_000, -2)},
    {"MDEntryType": "6", "OpenCloseSettlFlag": 4, "SettPriceType": 1, "MDEntryPx": Scaled(1_000, -2)},
    {"MDEntryType": "C", "MDEntrySize": 12},
)


def tell(listener: Listener, *entries: dict[str, Any], security_id: int = FIRST) -> None:
    toy = listener.toy
    toy.now_ns += MS
    entries = tuple({"MDUpdateAction": 0} | entry for entry in entries)
    listener.hear(toy.number + 1, toy.refresh(toy.instruments[security_id], list(entries)))


def phase(listener: Listener, phase: int, event: int | None = None) -> None:
    listener.toy.now_ns += MS
    listener.hear(listener.toy.number + 1, listener.toy.phase("G0", phase, event))


def state(listener: Listener, **fields: Any) -> None:
    """35=f of the instrument."""
    toy = listener.toy
    toy.now_ns += MS
    common = {"SecurityID": FIRST, "SecurityExchange": "BVMF", "TradeDate": 20131016}
    clock = {"TransactTime": 20131016130000000}
    listener.hear(toy.number + 1, toy._send(142, common | clock | fields))


def started(
    entries: tuple[dict[str, Any], ...] = (), monkeypatch: pytest.MonkeyPatch | None = None
) -> Listener:
    """In the auction of G0; `entries` come in its first instrument's snapshot."""
    listener = Listener(41)
    toy = listener.toy
    listener.step(30)
    phase(listener, 21)
    if monkeypatch is not None:
        whole, when = toy._whole, {"MDEntryDate": 20131016, "MDEntryTime": "130000000"}
        more = [entry | when for entry in entries]
        added = lambda one: [*whole(one), *(more if one.security_id == FIRST else ())]  # noqa: E731
        monkeypatch.setattr(toy, "_whole", added)
    listener.loop(Stream.DEFINITION)
    listener.loop(Stream.SNAPSHOT)
    listener.loop(Stream.SNAPSHOT)
    return listener


def theoretical(book: HandledBook) -> tuple[Any, ...] | None:
    price, imbalance = book.statistics.theoretical, book.statistics.imbalance
    if price is None or imbalance is None:
        assert price is None
        assert imbalance is None
        return None
    return price.price, price.size, imbalance.size, imbalance.side


@pytest.mark.parametrize("by_snapshot", [True, False])
@pytest.mark.parametrize("after", [17, 2, 4])
def test_theoretical_price_and_imbalance_end_with_the_auction(
    monkeypatch: pytest.MonkeyPatch, by_snapshot: bool, after: int
) -> None:
    """10.7: no delete comes, whether they came in the middle of an auction by a snapshot or one by one."""
    listener = started(AUCTION, monkeypatch) if by_snapshot else started()
    if not by_snapshot:
        tell(listener, *AUCTION)
    book = listener.handler.book(FIRST)
    assert theoretical(book) == (101_000, 300, 700, ImbalanceSide.MORE_SELLERS)
    phase(listener, after)
    assert theoretical(book) is None


def test_one_that_is_in_an_auction_of_its_own_keeps_them() -> None:
    """10.7: but for those whose own state is 21, until that ends (326, 1174=101 and 102)."""
    listener = started()
    tell(listener, *AUCTION)
    book = listener.handler.book(FIRST)
    state(listener, SecurityTradingStatus=21, SecurityTradingEvent=101, TradSesOpenTime=20131016140000000)
    phase(listener, 17)
    assert theoretical(book) is not None
    assert (book.phase, book.state) == (Phase.OPEN, State.RESERVED)
    state(listener, SecurityTradingStatus=17, SecurityTradingEvent=102)
    assert theoretical(book) is None
    assert book.trading_state is State.OPEN


def test_what_102_lets_one_infer(monkeypatch: pytest.MonkeyPatch) -> None:
    """11: the phase of the group, where nothing else has told it; 101 says nothing of it."""
    listener = Listener(41)
    listener.step(30)
    whole = listener.toy._whole
    stateless = lambda one: [each for each in whole(one) if each["MDEntryType"] != "c"]  # noqa: E731
    monkeypatch.setattr(listener.toy, "_whole", stateless)
    listener.loop(Stream.DEFINITION)
    listener.loop(Stream.SNAPSHOT)
    book, other = listener.handler.book(FIRST), listener.handler.book(FIRST + 2)
    assert (book.phase, other.phase) == (None, None)
    state(listener, SecurityTradingStatus=2, SecurityTradingEvent=101)
    assert (book.state, other.phase) == (State.PAUSE, None)
    state(listener, SecurityTradingStatus=17, SecurityTradingEvent=102)
    assert (book.phase, book.state, other.phase, other.state) == (Phase.OPEN,) * 4


@pytest.mark.parametrize("of_group", [True, False])
def test_a_change_of_session_resets_what_11_3_lists(of_group: bool) -> None:
    """35=f with 1174=4: 2, 3, 4 (both), 7, 8, 9 and B, of every stream; closing, settlement and open interest
    stay."""
    listener = started()
    tell(listener, *TOLD_IN_A_SESSION)
    tell(listener, {"MDEntryType": "7", "MDEntryPx": Scaled(5, 0), "MDStreamID": "O"})
    book = listener.handler.book(FIRST)
    before = book.statistics
    assert None not in (before.last_trade, before.opening, before.theoretical, before.high, before.low)
    if of_group:
        phase(listener, 4, 4)
    else:
        state(listener, SecurityTradingStatus=4, SecurityTradingEvent=4)
    known = book.statistics
    assert (known.last_trade, known.opening, known.theoretical, known.high, known.low) == (None,) * 5
    assert book.statistics_of("O").high is None
    assert None not in (known.previous_closing, known.previous_settlement, known.open_interest)
    assert len(known.latest) == 4, "and the state"


def test_a_phase_in_the_middle_of_a_session_does_not_reset() -> None:
    listener = started()
    tell(listener, *TOLD_IN_A_SESSION)
    phase(listener, 17)
    assert listener.handler.book(FIRST).statistics.last_trade is not None


def test_instruments_that_come_and_go_in_a_session() -> None:
    """8.1 to 8.3: a delete invalidates the book; who comes again begins anew, and others are not touched."""
    listener = started()
    assert listener.compare() == 6
    toy = listener.toy
    listed(listener, FIRST, "D")
    with pytest.raises(KeyError):
        listener.handler.book("TOY2")
    assert FIRST not in [book.security_id for book in listener.handler.books()]
    assert not listener.handler.book(FIRST).is_clean
    one = toy.instruments.pop(FIRST)
    listener.step(10)
    assert listener.compare() == 5
    one.reports = 0
    one.bids.orders.clear()
    one.offers.orders.clear()
    toy.instruments[FIRST] = one
    listed(listener, FIRST, "A")
    tell(listener, *one.bids.add(ToyOrder(77, 1_000, 100)))
    assert listener.compare() == 6
    assert [level.price for level in listener.handler.book(FIRST).bids] == [100_000]


def test_a_modified_instrument_keeps_its_book() -> None:
    """8.2: all of its characteristics come again."""
    listener = started()
    before = [(level.price, level.size) for level in listener.handler.book(FIRST).bids]
    toy, kept = listener.toy, listener.toy._listed
    toy._listed = lambda security_id: kept(security_id) | {"Symbol": "RENAMED"}  # type: ignore[method-assign]
    listed(listener, FIRST, "M")
    book = listener.handler.book("RENAMED")
    assert (book.security_id, [(level.price, level.size) for level in book.bids]) == (FIRST, before)
    assert book.is_clean


def test_lending_beside_the_electronic_book_on_one_channel() -> None:
    """A book per instrument and 1500: rows of L leave the other alone, and positions are each book's own."""
    listener = started()
    book = listener.handler.book(FIRST)
    before = [(order.order_id, order.price) for order in book.orders(Side.BUY)]
    offer = {"MDEntryType": "0", "MDEntryPx": Scaled(5, -1), "MDEntrySize": 10, "MDEntryPositionNo": 1}
    tell(
        listener, offer | {"OrderID": "501", "MDStreamID": "L"}, offer | {"OrderID": "502", "MDStreamID": "L"}
    )
    assert [(order.order_id, order.price) for order in book.orders(Side.BUY)] == before
    lending = listener.handler.book(FIRST, stream="L")
    assert [order.order_id for order in lending.orders(Side.BUY)] == [502, 501]
    tell(listener, {"MDEntryType": "0", "MDUpdateAction": 3, "MDEntryPositionNo": 1, "MDStreamID": "L"})
    assert lending.orders(Side.BUY) == []
    assert listener.compare() == 6
