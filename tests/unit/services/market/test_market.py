"""The library's face over simulated days: what it tells is what the exchange did."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from pregao import Change, Market, Quote
from pregao.feeds.binary.packets import PacketHeader
from pregao.model.events import (
    ClosingPrice,
    Definition,
    ExecutionStatistics,
    HighPrice,
    News,
    PhaseChanged,
    PriceBand,
    StateChanged,
    Trade,
    TradeBusted,
)
from pregao.model.market import DefinitionAction
from pregao.services.market import AmbiguousSymbolError, MarketEvent, UnknownInstrumentError
from pregao.services.market.statistic_texts import Statistic
from pregao.services.simulation.memory import MemoryDay, Packet
from pregao.sessions.events import (
    ChannelReady,
    ChannelWasCleared,
    GapDetected,
    InstrumentHealed,
    JoinStream,
    SequenceVersionChanged,
)
from pregao.sessions.instruments import Known
from tests.unit.services.market.kit import MemoryPackets, day

TOLD = (Trade, TradeBusted, StateChanged, PhaseChanged)


def market(of: MemoryDay, **options: object) -> Market:
    return Market(MemoryPackets(of.packets), **options)  # type: ignore[arg-type]


def whats(events: Iterable[MarketEvent], kind: type) -> list[object]:
    return [each.what for each in events if isinstance(each, Change) and isinstance(each.what, kind)]


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
        done: dict[int, list[object]] = defaultdict(list)
        told: dict[int, list[object]] = defaultdict(list)
        for placed in clean_day.updates:
            # What is told before the start of the recording nobody hears.
            if isinstance(placed.update, kind) and placed.seq_num is not None:
                done[placed.channel].append(placed.update)
        for event in events:
            if isinstance(event, Change) and isinstance(event.what, kind):
                told[event.channel].append(event.what)
        assert bool(told) is bool(done)
        for channel, theirs in told.items():
            assert theirs == done[channel][-len(theirs) :]
            assert len(done[channel]) - len(theirs) <= 2, kind


def test_events_have_names_and_are_lines_for_people(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    symbols = {each.security_id: each.symbol for each in clean_day.instruments}
    trades = [each for each in events if isinstance(each, Change) and isinstance(each.what, Trade)]
    assert all(each.symbol == symbols[each.what.security_id] for each in trades)
    assert all(each.time_ns == each.what.transact_ns for each in trades)
    assert all(str(each) and "\n" not in str(each) for each in events)
    assert str(trades[0]).startswith(f"{trades[0].symbol} trade {trades[0].what.size:,} at ")


def test_statistics_are_told_to_who_asks_for_them(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    seen = market(clean_day, statistics=True)
    told = list(seen)
    found = [each for each in told if isinstance(each, Change) and isinstance(each.what, Statistic)]
    assert [each for each in told if each not in found] == events
    assert {type(each.what) for each in found} >= {ExecutionStatistics, HighPrice, PriceBand, ClosingPrice}
    assert all(each.time_ns == each.what.time_ns for each in found)  # type: ignore[union-attr]
    assert all(str(each).startswith(f"{each.symbol} ") and "None" not in str(each) for each in found)
    for kind in (ExecutionStatistics, HighPrice):
        for channel in {each.channel for each in found if isinstance(each.what, kind)}:
            heard = [each.what for each in found if each.channel == channel and isinstance(each.what, kind)]
            done = [placed.update for placed in clean_day.updates
                    if placed.channel == channel and isinstance(placed.update, kind)]  # fmt: skip
            assert heard == done[-len(heard) :]


def test_every_instrument_is_defined_once(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    defined = [told for told in whats(events, Definition) if isinstance(told, Definition)]
    assert len(defined) == len(set(defined))
    added = {each.instrument.security_id for each in defined if each.action is not DefinitionAction.DELETE}
    assert added >= {each.security_id for each in clean_day.instruments}


def test_news_are_told_whole(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    done = {placed.update.text for placed in clean_day.updates if isinstance(placed.update, News)}
    told = {news.text for news in whats(events, News) if isinstance(news, News)}
    assert told
    assert told <= done


def test_a_book_looked_at_in_between_is_as_the_last_quote_says(clean_day: MemoryDay) -> None:
    """Packet by packet: behind the quotes of one packet no other was read."""
    seen = market(clean_day)
    compared = 0
    for event in seen:
        if isinstance(event, Change) and isinstance(event.what, Quote) and not seen._told:
            top = seen.book(event.what.security_id, event.channel).top
            assert (top.bid, top.offer) == (event.what.bid, event.what.offer)
            compared += 1
    assert compared > 200


def test_whole_batches_tell_the_same(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    fast = list(market(clean_day, exact=False))
    for kind in (*TOLD, Quote, News, Definition):
        assert Counter(whats(fast, kind)) == Counter(whats(events, kind))


def test_only_some_symbols(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    symbol = next(e.symbol for e in events if isinstance(e, Change) and isinstance(e.what, Trade))
    assert symbol is not None
    chosen = [each for each in market(clean_day, symbols=[symbol]) if isinstance(each, Change)]
    assert {each.symbol for each in chosen if not isinstance(each.what, News)} == {symbol, None}
    assert whats(chosen, Trade) == [e.what for e in events if isinstance(e, Change)
                                    and isinstance(e.what, Trade) and e.symbol == symbol]  # fmt: skip
    assert whats(chosen, PhaseChanged) == whats(events, PhaseChanged)


def test_running_to_the_end_gives_the_same_books(clean_day: MemoryDay) -> None:
    slow, quick = market(clean_day), market(clean_day).run()
    for _ in slow:
        pass
    assert quick.ended
    assert [(b.symbol, b.top, b.state, b.known) for b in quick.books()] == [
        (b.symbol, b.top, b.state, b.known) for b in slow.books()
    ]
    assert list(quick) == []
    assert quick.health().whole


def test_leaving_the_loop_loses_nothing(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    halting, told = market(clean_day), []
    while not halting.ended or halting._told:
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
    assert any(isinstance(each, Quote) and each.known is not Known.CLEAN for each in whats(told, Quote))
    healed = next(event for event in told if isinstance(event, InstrumentHealed))
    symbol = lossy.book(healed.security_id).symbol
    assert lossy.describe(healed).startswith(f"{symbol}: ")
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
        assert {type(event) for event in packets.followed} >= {JoinStream}
        assert seen.poll(0.0)
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


def last_version_of(of: MemoryDay) -> list[Packet]:
    """Without the week's end that a day begins with."""
    return [
        each
        for each in of.packets
        if each.stream != 1 or PacketHeader.decode(each.payload).sequence_version == 47
    ]
