"""Some instruments only: `symbols=` and `subscribe`."""

from collections.abc import Iterable

import pytest

from pregao import (
    BookStatusChanged,
    Definition,
    DefinitionAction,
    InstrumentHealed,
    Market,
    MarketEvent,
    News,
    PhaseChanged,
    Quote,
    Trade,
    UnknownInstrumentError,
)
from pregao.recovery.policy import ChannelSettings
from pregao.simulator.memory import MemoryDay
from tests.unit.market.kit import MemoryPackets, day, market

LOSSY = {"seed": 4, "messages": 1_500, "faults": "loss=3%,both=3x5"}


@pytest.fixture(scope="module")
def clean_day() -> MemoryDay:
    return day(seed=3, messages=1_500)


@pytest.fixture(scope="module")
def events(clean_day: MemoryDay) -> list[MarketEvent]:
    return list(market(clean_day))


@pytest.fixture(scope="module")
def symbol(events: list[MarketEvent]) -> str:
    return next(event.symbol for event in events if isinstance(event, Trade))


def of_market(events: Iterable[MarketEvent], symbol: str | None = None) -> list[MarketEvent]:
    """What the exchange did, of one instrument or of all."""
    return [event for event in events if isinstance(event, Trade | Quote | PhaseChanged)
            and (symbol is None or event.symbol in (symbol, None))]  # fmt: skip


def test_only_events_of_the_symbols_are_told(
    clean_day: MemoryDay, events: list[MarketEvent], symbol: str
) -> None:
    chosen = list(market(clean_day, symbols=[symbol]))
    assert {each.symbol for each in chosen if not isinstance(each, News)} == {symbol, None}
    known_from = next(event.time_ns for event in chosen if event.symbol == symbol)
    late = [event for event in of_market(events, symbol) if isinstance(event, Trade | PhaseChanged)]
    told = [event for event in of_market(chosen) if isinstance(event, Trade | PhaseChanged)]
    assert told == [event for event in late if event.symbol is None or event.time_ns >= known_from]


def test_only_books_of_the_symbols_are_kept(clean_day: MemoryDay, symbol: str) -> None:
    seen, whole = market(clean_day, symbols=[symbol]).run(), market(clean_day).run()
    (book,) = seen.books()
    other = whole.book(symbol)
    assert (book.symbol, book.status, book.top) == (symbol, other.status, other.top)
    assert (book.bids, book.offers, book.statistics) == (other.bids, other.offers, other.statistics)
    handler = seen._channels.handlers[book.channel]
    assert len(handler.store) == 1
    assert handler.incremental.skipped > 100
    assert sum(len(each.store) for each in seen._channels.handlers.values()) == 1
    assert seen.health().whole
    unwanted = next(each.symbol for each in clean_day.instruments if each.symbol != symbol)
    with pytest.raises(UnknownInstrumentError, match=f"{unwanted} is not among the symbols"):
        seen.book(unwanted)


@pytest.mark.parametrize("at_once", [1, 500])
def test_a_chosen_book_is_never_called_clean_before_it_is(at_once: int) -> None:
    """Rows before its definition were skipped: a snapshot older than that makes nothing whole."""
    lossy = day(**LOSSY)
    for instrument in lossy.instruments[:4]:
        whole = Market(MemoryPackets(lossy.packets, at_once=at_once))
        alone = Market(MemoryPackets(lossy.packets, at_once=at_once), symbols=[instrument.symbol])
        while not whole.ended:
            whole.poll(0.0), alone.poll(0.0)
            books = [book for book in alone.books() if book.is_clean]
            if books:
                other = whole.book(instrument.security_id)
                if other.is_clean:
                    assert (books[0].bids, books[0].offers) == (other.bids, other.offers)
        assert alone.book(instrument.symbol).is_clean


def test_ids_of_the_settings_go_before_symbols(clean_day: MemoryDay, symbol: str) -> None:
    ids = {each.security_id for each in clean_day.instruments if each.symbol in (symbol, "PETR4")}
    seen = market(clean_day, symbols=[symbol], settings=ChannelSettings(interest=ids))
    told = {event.symbol for event in seen if isinstance(event, Trade | Quote)}
    assert told == {symbol}
    assert {book.security_id for book in seen.books()} == ids


def test_subscribers_are_called_before_the_loop_goes_on(
    clean_day: MemoryDay, events: list[MarketEvent], symbol: str
) -> None:
    called: list[MarketEvent] = []
    seen = market(clean_day)
    seen.subscribe(symbol, called.append)
    for event in seen:
        if event.symbol == symbol:
            assert called[-1] is event
    assert called == [event for event in events if event.symbol == symbol]


def test_running_calls_subscribers_and_nobody_else(
    clean_day: MemoryDay, events: list[MarketEvent], symbol: str
) -> None:
    one: list[MarketEvent] = []
    other: list[MarketEvent] = []
    seen = market(clean_day)
    seen.subscribe(symbol, one.append)
    with seen.subscribe(symbol, other.append):
        seen.poll(0.0)
        seen.poll(0.0)
    heard = len(other)
    seen.run()
    assert len(other) == heard < len(one)
    assert one == [event for event in events if event.symbol == symbol]
    assert list(seen) == []


def test_a_subscription_can_be_ended_by_its_own_call(clean_day: MemoryDay, symbol: str) -> None:
    called: list[MarketEvent] = []
    seen = market(clean_day)

    def first_trade(event: MarketEvent) -> None:
        if isinstance(event, Trade):
            called.append(event)
            subscription.cancel()
            subscription.cancel()

    subscription = seen.subscribe(symbol, first_trade)
    assert seen.run().ended
    assert len(called) == 1


def test_nobody_subscribes_to_what_was_not_chosen(clean_day: MemoryDay) -> None:
    with pytest.raises(UnknownInstrumentError, match=r"VALE3 is not among the symbols .*PETR4"):
        market(clean_day, symbols=["PETR4"]).subscribe("VALE3", print)


def test_after_running_only_what_changes_is_told(clean_day: MemoryDay) -> None:
    """What happened while nobody listened is not told afterwards."""
    half = MemoryPackets(clean_day.packets[: len(clean_day.packets) // 2])
    seen = Market(half).run()
    half._packets = clean_day.packets
    rest = list(seen)
    deleted = {event.symbol for event in rest if isinstance(event, Definition)
               and event.action is DefinitionAction.DELETE}  # fmt: skip
    changed = [event for event in rest if isinstance(event, BookStatusChanged | InstrumentHealed)]
    assert {event.symbol for event in changed} <= deleted
    assert [event for event in rest if isinstance(event, Quote)]
