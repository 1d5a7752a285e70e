"""Events to the publishers of all channels that a system has an instrument on: virtual days and live."""

from collections import defaultdict
from typing import Any

import pytest

from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.publishing import PublishingSite
from pregao.feeds.registry import load_publishing_system
from pregao.model import events as e
from pregao.model.errors import ConfigurationError
from pregao.model.market import Action, Phase, Session, Side
from pregao.model.streams import Stream
from pregao.simulator.distribution import Distribution
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.resets import ResetBook
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.memory import short_day, simulate_in_memory
from pregao.simulator.routing import Routing
from tests.toy.two_channels import APART, NAME, TWO_CHANNELS

CATALOGUE = load_default_catalogue()
SECOND_NS = 1_000_000_000
START_NS = 1_795_000_000 * SECOND_NS
HEADER = 16


class Books:
    def __init__(self) -> None:
        self.now_ns, self.observed = 0, list[e.Update]()

    def observe(self, update: e.Update) -> None:
        self.observed.append(update)


class Outlet:
    """Sends a second later, and wants a checkpoint after every second event."""

    def __init__(self) -> None:
        self.instant_ns, self.published = 0, list[tuple[e.Event, int]]()

    def send_at(self, now_ns: int) -> int:
        return now_ns + SECOND_NS

    def publish(self, event: e.Event, send_ns: int) -> None:
        self.instant_ns = send_ns
        self.published.append((event, send_ns))

    def is_checkpoint_due(self, event: e.Event) -> bool:
        return len(self.published) >= 2


def order(security_id: int) -> e.Event:
    return e.Event((e.OrderUpdate(security_id, Action.NEW, Side.BUY, 1, 10_000, 100, 1, 0, 0),))


def distribution() -> tuple[Distribution, dict[int, Any], dict[int, list[Outlet]]]:
    routing = Routing(CATALOGUE, TWO_CHANNELS.channels_of)
    books: dict[int, Any] = {channel: Books() for channel in routing.channels}
    outlets = {channel: [Outlet(), Outlet()] for channel in routing.channels}
    return Distribution(routing, books, outlets), books, outlets


def test_an_order_goes_to_every_site_of_both_its_channels() -> None:
    one, _, outlets = distribution()
    instrument = CATALOGUE.instruments[0]
    event = order(instrument.security_id)
    assert one.publish([event], 5) == []
    reached = {instrument.channel, instrument.channel + APART}
    for channel, sites in outlets.items():
        expected = [(event, 5 + SECOND_NS)] if channel in reached else []
        assert [site.published for site in sites] == [expected] * 2
    assert set(one.publish([event], 6)) == reached


def test_events_of_a_moment_leave_one_after_the_other_where_they_are_to() -> None:
    one, _, outlets = distribution()
    instrument = CATALOGUE.instruments[0]
    events = [order(instrument.security_id)] * 3
    assert set(one.publish(events, 5, apart_ns=7)) == {instrument.channel, instrument.channel + APART}
    times = [send_ns - SECOND_NS for _, send_ns in outlets[instrument.channel + APART][1].published]
    assert times == [5, 12, 19]


def test_nothing_is_sent_before_what_was_sent_last() -> None:
    one, _, outlets = distribution()
    instrument = CATALOGUE.instruments[0]
    (late, _) = outlets[instrument.channel]
    late.instant_ns = 10 * SECOND_NS
    one.publish([order(instrument.security_id)] * 2, 5)
    assert [send_ns for _, send_ns in late.published] == [10 * SECOND_NS] * 2


def test_books_hear_of_phases_but_not_of_orders() -> None:
    one, books, _ = distribution()
    instrument = CATALOGUE.instruments[0]
    phase = e.PhaseChanged(instrument.group, instrument.exchange, Session.REGULAR, Phase.OPEN, None, 1, 5)
    one.publish([e.Event((phase,)), order(instrument.security_id)], 5)
    heard = {channel for channel, each in books.items() if each.observed == [phase] and each.now_ns == 5}
    assert heard == {instrument.channel, instrument.channel + APART}
    assert not any(each.observed for channel, each in books.items() if channel not in heard)


def test_both_channels_of_a_live_market_say_the_same() -> None:
    """All streams, loops and a reset of one book among them: only the channel in the header differs."""
    market = LiveMarket(CATALOGUE, LiveSettings(flow=400.0, system=NAME), (PublishingSite.PRIMARY,), START_NS)
    market.start(START_NS)
    said: dict[tuple[int, Stream], list[tuple[int, int, bytes]]] = defaultdict(list)
    for turn in range(1, 100):
        now_ns = START_NS + turn * SECOND_NS // 20
        if turn == 50:
            reset = market.execute(ResetBook(now_ns, CATALOGUE.instruments[0].security_id), now_ns)
            assert reset.rejection is None
        market.on_timeout(now_ns)
        for channel, packet in market.take():
            said[channel, packet.stream].append((packet.version, packet.number, packet.payload[HEADER:]))
    assert {channel for channel, _ in said} == {
        *CATALOGUE.channels,
        *(channel + APART for channel in CATALOGUE.channels),
    }
    for channel in CATALOGUE.channels:
        for stream in (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT):
            assert len(said[channel, stream]) > 5
            assert said[channel, stream] == said[channel + APART, stream]


def test_both_channels_of_a_virtual_day_have_the_same_events_and_books() -> None:
    (day,) = simulate_in_memory(short_day(messages=1_500, seed=4, system=NAME))
    updates: dict[int, list[e.Update]] = defaultdict(list)
    for placed in day.updates:
        # An index value is counted once; what a publisher makes itself has its own times.
        if not isinstance(placed.update, e.IndexValue | e.ChannelWasReset | e.BookEmptied):
            updates[placed.channel].append(placed.update)
    last = {checkpoint.channel: checkpoint.instruments for checkpoint in day.checkpoints}
    firsts = {each.channel for each in day.instruments}
    assert set(updates) == {*firsts, *(channel + APART for channel in firsts)}
    for channel in firsts:
        assert updates[channel] == updates[channel + APART]
        assert last[channel] == last[channel + APART]


def test_a_system_that_only_listens_publishes_nothing() -> None:
    assert load_publishing_system("binary").versions[-1] == 17
    with pytest.raises(ConfigurationError, match="publishes nothing"):
        load_publishing_system("tests.toy.system:TOY")
