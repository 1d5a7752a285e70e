"""The library's face over simulated days: what it tells is what the exchange did."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

import pytest

from pregao import (
    AmbiguousSymbolError,
    BookStatus,
    ChannelReady,
    ChannelWasCleared,
    ClosingPrice,
    Definition,
    DefinitionAction,
    ExecutionStatistics,
    GapDetected,
    HighPrice,
    InstrumentHealed,
    JoinStream,
    Market,
    MarketEvent,
    News,
    PhaseChanged,
    PriceBand,
    Quote,
    SequenceVersionChanged,
    StateChanged,
    Trade,
    TradeBusted,
    UnknownInstrumentError,
)
from pregao.feeds.binary.packets import PacketHeader
from pregao.market.statistic_events import Statistic
from pregao.model import events as model
from pregao.recovery.events import JoinStream as SessionJoinStream
from pregao.simulator.memory import CapturedPacket, MemoryDay
from tests.unit.market.kit import MemoryPackets, as_sent, day, differences, market

TOLD = (Trade, TradeBusted, StateChanged, PhaseChanged)


@pytest.fixture(scope="module")
def clean_day() -> MemoryDay:
    return day(seed=3, messages=1_500)


@pytest.fixture(scope="module")
def events(clean_day: MemoryDay) -> list[MarketEvent]:
    return list(market(clean_day))


def test_trades_states_and_phases_are_those_of_the_exchange(
    clean_day: MemoryDay, events: list[MarketEvent]
) -> None:
    for kind in TOLD:
        told: dict[int, list[MarketEvent]] = defaultdict(list)
        for event in events:
            if isinstance(event, kind):
                told[event.channel].append(event)
        done = as_sent(clean_day, getattr(model, kind.__name__))
        assert bool(told) is bool(done)
        for channel, theirs in told.items():
            # What is told before the start of the recording nobody hears.
            assert len(done[channel]) - len(theirs) <= 2, kind
            for event, update in zip(theirs, done[channel][-len(theirs) :], strict=True):
                assert not differences(event, update)


def test_events_have_names_and_are_lines_for_people(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    symbols = {each.security_id: each.symbol for each in clean_day.instruments}
    trades = [each for each in events if isinstance(each, Trade)]
    assert all(each.symbol == symbols[each.security_id] for each in trades)
    assert all(str(each) and "\n" not in str(each) for each in events)
    assert str(trades[0]).startswith(f"{trades[0].symbol} trade {trades[0].size:,} at ")


def test_every_event_says_where_and_when_it_happened(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    """Positions of what the incremental stream tells are those of its packets; they never go back."""
    first_ns, last_ns = clean_day.packets[0].ts_ns, clean_day.packets[-1].ts_ns
    channels = {each.channel for each in clean_day.packets}
    placed = {(each.channel, each.seq_num, each.update.trade_id) for each in clean_day.updates
              if isinstance(each.update, model.Trade)}  # fmt: skip
    reached: dict[int, int] = defaultdict(int)
    for event in events:
        assert event.channel in channels
        assert 0 < event.time_ns <= last_ns  # orders that were carried over are days old
        assert isinstance(event, (*TOLD, Quote, News)) or event.time_ns >= first_ns
        assert event.stream_position >= 0
        if isinstance(event, Trade):
            assert (event.channel, event.stream_position & 0xFFFF_FFFF, event.trade_id) in placed
        if isinstance(event, (*TOLD, Quote)):
            assert event.stream_position >= reached[event.channel]
            reached[event.channel] = event.stream_position


def test_what_a_channel_says_has_the_time_at_which_it_was_so(clean_day: MemoryDay) -> None:
    """Not the time of the last packet that was read with it: in quiet times that is minutes later."""
    apart, at_once = ([each for each in Market(MemoryPackets(clean_day.packets, at_once=size))
                       if isinstance(each, InstrumentHealed | ChannelReady)]
                      for size in (1, 4_096))  # fmt: skip
    assert len(apart) > 4
    assert Counter(map(type, apart)) == Counter(map(type, at_once))
    for one, other in zip(sorted(apart, key=str), sorted(at_once, key=str), strict=True):
        assert abs(one.time_ns - other.time_ns) <= 100_000_000, (one, other)


def test_statistics_are_told_to_who_asks_for_them(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    told = list(market(clean_day, statistics=True))
    found = [each for each in told if isinstance(each, Statistic)]
    assert [each for each in told if not isinstance(each, Statistic)] == events
    assert {type(each) for each in found} >= {ExecutionStatistics, HighPrice, PriceBand, ClosingPrice}
    assert all(str(each).startswith(f"{each.symbol} ") and "None" not in str(each) for each in found)
    assert not any("?" in str(each) for each in found)
    for kind in {type(each) for each in found}:
        done = as_sent(clean_day, getattr(model, kind.__name__))
        for channel in {each.channel for each in found if isinstance(each, kind)}:
            heard = [each for each in found if each.channel == channel and isinstance(each, kind)]
            for event, update in zip(heard, done[channel][-len(heard) :], strict=True):
                assert not differences(event, update)


def test_every_instrument_is_defined_once(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    defined = [told for told in events if isinstance(told, Definition)]
    assert len(defined) == len({(each.instrument, each.action) for each in defined})
    added = {each.instrument.security_id for each in defined if each.action is not DefinitionAction.DELETE}
    assert added >= {each.security_id for each in clean_day.instruments}


def test_news_are_told_whole(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    done = {placed.update.text for placed in clean_day.updates if isinstance(placed.update, model.News)}
    told = {news.text for news in events if isinstance(news, News)}
    assert told
    assert told <= done


def test_a_book_looked_at_in_between_is_as_the_last_quote_says(clean_day: MemoryDay) -> None:
    """Packet by packet: behind the quotes of one packet no other was read."""
    seen = market(clean_day)
    compared = 0
    for event in seen:
        if isinstance(event, Quote) and not seen._pump.waiting:
            top = seen.book(event.security_id, event.channel).top
            assert (top.bid, top.offer) == (event.bid, event.offer)
            compared += 1
    assert compared > 200


def test_whole_batches_tell_the_same(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    fast = list(market(clean_day, exact=False))
    for kind in (*TOLD, Quote, News, Definition):
        assert Counter(map(timeless, of_kind(fast, kind))) == Counter(map(timeless, of_kind(events, kind)))


def of_kind(events: Iterable[MarketEvent], kind: type) -> list[MarketEvent]:
    return [each for each in events if isinstance(each, kind)]


def timeless(event: MarketEvent) -> MarketEvent:
    """A definition has the time of its arrival, and that of a batch is one for all."""
    return replace(event, time_ns=0, stream_position=0) if isinstance(event, Definition | News) else event


def test_running_to_the_end_gives_the_same_books(clean_day: MemoryDay) -> None:
    slow, quick = market(clean_day), market(clean_day).run()
    for _ in slow:
        pass
    assert quick.ended
    assert [(b.symbol, b.top, b.state, b.status) for b in quick.books()] == [
        (b.symbol, b.top, b.state, b.status) for b in slow.books()
    ]
    assert list(quick) == []
    assert quick.health().whole


def test_leaving_the_loop_loses_nothing(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    halting, told = market(clean_day), []
    while not halting.ended or halting._pump.waiting:
        before = len(told)
        for event in halting:
            told.append(event)
            if len(told) == before + 7:
                break
        if len(told) == before:
            break
    assert told == events


def test_polling_tells_the_same(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    polled, told = market(clean_day), []
    while not polled.ended:
        told += polled.poll(0.0)
    assert told == events


def test_with_asyncio_other_tasks_run(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def listen() -> list[MarketEvent]:
        counting = asyncio.create_task(count())
        told = [event async for event in market(clean_day)]
        counting.cancel()
        return told

    assert asyncio.run(listen()) == events
    assert turns > 5


def test_a_task_that_is_cancelled_loses_no_packets(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    async def listen() -> list[MarketEvent]:
        listened, told = market(clean_day), []
        for _ in range(20):
            waiting = asyncio.ensure_future(anext(aiter(listened)))
            await asyncio.sleep(0)
            waiting.cancel()
            told += [each for each in await asyncio.gather(waiting, return_exceptions=True)
                     if not isinstance(each, BaseException)]  # fmt: skip
        async for event in listened:
            told.append(event)
        return told

    assert asyncio.run(listen()) == events


def test_losses_are_told_with_names() -> None:
    lossy = market(day(seed=4, messages=1_500, faults="loss=3%,both=3x5"))
    told = list(lossy)
    kinds = Counter(type(event) for event in told)
    assert kinds[GapDetected]
    assert kinds[InstrumentHealed]
    assert kinds[ChannelReady]
    assert any(isinstance(each, Quote) and each.status is not BookStatus.CLEAN for each in told)
    healed = next(event for event in told if isinstance(event, InstrumentHealed) and event.symbol.isalnum())
    book = lossy.book(healed.security_id)
    assert (healed.channel, healed.symbol) == (book.channel, book.symbol)
    assert str(healed).startswith(f"{book.symbol}: ")
    assert lossy.health().channels[0].counters["gaps"] + lossy.health().channels[1].counters["gaps"]


def test_unknown_symbols_are_told_with_near_ones(clean_day: MemoryDay) -> None:
    seen = market(clean_day)
    with pytest.raises(KeyError, match="no definitions were heard yet"):
        seen.book("PETR4")
    seen.run()
    with pytest.raises(UnknownInstrumentError, match=r"no instrument PETR5 among .*PETR4"):
        seen.book("PETR5")
    with pytest.raises(KeyError, match="no channel 99; there are: "):
        seen.book("PETR4", channel=99)
    assert seen.book("PETR4").symbol == "PETR4"
    assert seen.book(seen.book("PETR4").security_id).symbol == "PETR4"


def test_a_symbol_on_two_channels_must_be_told_apart(clean_day: MemoryDay) -> None:
    """The same channel again under another number: every symbol is there twice."""
    twice = list(clean_day.packets)
    channel = clean_day.packets[0].channel
    other = next(n for n in range(1, 255) if n not in {each.channel for each in clean_day.packets})
    for each in clean_day.packets:
        if each.channel == channel:
            twice.append(each._replace(channel=other, payload=bytes([other]) + each.payload[1:]))
    twice.sort(key=lambda each: each.ts_ns)
    seen = Market(MemoryPackets(twice)).run()
    symbol = next(each.symbol for each in clean_day.instruments if each.channel == channel)
    with pytest.raises(
        AmbiguousSymbolError, match=f"channels {min(channel, other)} and {max(channel, other)}"
    ):
        seen.book(symbol)
    one, two = seen.book(symbol, channel), seen.book(symbol, other)
    assert (one.channel, two.channel) == (channel, other)
    assert one.top == two.top


def test_health_counts_what_came(clean_day: MemoryDay) -> None:
    seen = market(clean_day).run()
    health = seen.health()
    assert health.ended
    assert health.reception is None
    for channel in health.channels:
        theirs = [each for each in clean_day.packets if each.channel == channel.channel and each.stream == 1]
        received = {feed.feed.name: feed.counters.received for feed in channel.feeds}
        assert received == Counter({"A": 0, "B": 0, "C": 0} | Counter(each.feed.name for each in theirs))
        assert channel.race is not None
        assert channel.race.a_first > 0.9  # the simulation sends A first
        assert channel.clean == channel.instruments
        assert all(feed.delay is None or 0 < feed.delay.p50 < 1_000_000 for feed in channel.feeds)


def test_a_live_market_joins_what_its_channels_need(clean_day: MemoryDay) -> None:
    packets = MemoryPackets(clean_day.packets)
    packets.speed = None
    with Market(packets) as seen:
        assert any(isinstance(event, SessionJoinStream) for event in packets.followed)
        assert any(isinstance(event, JoinStream) for event in seen.poll(0.0))
    assert packets.closed


@pytest.mark.parametrize("reset", ["failover", "stream", "channel", "week"])
def test_an_exchange_that_starts_its_sequence_again_is_followed(reset: str) -> None:
    seen = market(day(seed=5, messages=1_500, faults=f"reset={reset}@?"))
    kinds = Counter(type(event) for event in seen)
    assert kinds[ChannelWasCleared if reset == "channel" else SequenceVersionChanged]
    assert seen.health().whole


def test_an_exchange_that_starts_again_with_the_same_version_is_followed() -> None:
    """As `pregao exchange` does when it is killed and started: version 2 again from number 1."""
    first, second = (last_version_of(day(seed=5, messages=n)) for n in (3_000, 1_500))
    second = [each for each in second if PacketHeader.decode(each.payload).sequence_number]  # it is busy
    later_ns = first[-1].ts_ns - second[0].ts_ns + 10_000_000_000
    packets = [*first, *(each._replace(ts_ns=each.ts_ns + later_ns) for each in second)]
    seen = Market(MemoryPackets(packets)).run()
    alone = Market(MemoryPackets(second)).run()
    assert [each.number for each in seen.health().channels] == [
        each.number for each in alone.health().channels
    ]


def last_version_of(of: MemoryDay) -> list[CapturedPacket]:
    """Without the week's end that a day begins with."""
    return [
        each
        for each in of.packets
        if each.stream != 1 or PacketHeader.decode(each.payload).sequence_version == 47
    ]
