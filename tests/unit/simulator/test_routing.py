"""Which channel an update goes to."""

from dataclasses import replace

from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.binary.system import BINARY
from pregao.model import events as e
from pregao.model.market import Action, DefinitionAction, Side
from pregao.simulator.routing import Routing
from pregao.simulator.venue import OBSERVED

CATALOGUE = load_default_catalogue()


def deleted(security_id: int) -> e.OrderUpdate:
    return e.OrderUpdate(security_id, Action.DELETE, Side.BUY, 1, 10_000, 100, 1, 0, 0)


def test_an_event_of_one_channel_stays_whole() -> None:
    routing = Routing(CATALOGUE, BINARY.channels_of)
    one = CATALOGUE.instruments[0]
    event = e.Event((deleted(one.security_id), deleted(one.security_id)))
    assert list(routing.split(event)) == [(one.channel, event)]


def test_a_mass_cancel_is_cut_by_channel_and_keeps_its_order() -> None:
    routing = Routing(CATALOGUE, BINARY.channels_of)
    chosen = [next(each for each in CATALOGUE.instruments if each.channel == n) for n in routing.channels]
    updates = [deleted(each.security_id) for each in (*chosen, *chosen)]
    found = routing.split(e.Event(tuple(updates)))
    assert [channel for channel, _ in found] == list(routing.channels)
    assert [part.updates for _, part in found] == [
        (deleted(each.security_id), deleted(each.security_id)) for each in chosen
    ]


def test_news_of_no_instrument_is_for_all() -> None:
    routing = Routing(CATALOGUE, BINARY.channels_of)
    news = e.Event((e.News(1, "headline", "text", 0),))
    assert list(routing.split(news)) == [(channel, news) for channel in routing.channels]


def test_an_instrument_that_is_added_gets_its_channel() -> None:
    routing = Routing(CATALOGUE, BINARY.channels_of)
    added = replace(CATALOGUE.instruments[0], security_id=7, symbol="NEW3")
    event = e.Event((e.Definition(added, DefinitionAction.ADD),))
    assert list(routing.split(event)) == [(added.channel, event)]
    assert routing.by_id[7] == (added.channel,)


def test_a_deleted_instrument_is_heard_of() -> None:
    """Its id may go to another, which has not its closing price."""
    assert e.Definition in OBSERVED


def test_an_instrument_may_be_on_two_channels() -> None:
    """As in FIX/FAST, where one carries orders and the other levels."""
    routing = Routing(CATALOGUE, lambda each: (each.channel, each.channel + 100))
    one = CATALOGUE.instruments[0]
    event = e.Event((deleted(one.security_id),))
    assert list(routing.split(event)) == [(one.channel, event), (one.channel + 100, event)]
    homes = CATALOGUE.channels
    assert routing.channels == tuple(sorted((*homes, *(channel + 100 for channel in homes))))
    assert routing.of_group((one.group, one.exchange)) == (one.channel, one.channel + 100)


def test_two_instruments_may_share_one_of_their_channels() -> None:
    """An event over both is cut: the shared channel has it whole."""
    first, other = CATALOGUE.instruments[:2]
    routing = Routing(CATALOGUE, lambda each: (1, 2) if each is first else (1,))
    updates = (deleted(first.security_id), deleted(other.security_id))
    assert list(routing.split(e.Event(updates))) == [(1, e.Event(updates)), (2, e.Event(updates[:1]))]


def test_a_group_without_instruments_has_the_channels_of_its_neighbours() -> None:
    empty = replace(CATALOGUE.groups[0], code="??")
    catalogue = replace(CATALOGUE, groups=(*CATALOGUE.groups, empty))
    routing = Routing(catalogue, lambda each: (each.channel + 100,))
    assert routing.of_group(empty.key) == (empty.channel + 100,)
    alone = replace(empty, channel=9)
    assert Routing(replace(CATALOGUE, groups=(alone,)), BINARY.channels_of).of_group(alone.key) == (9,)


def test_the_default_routing_is_the_catalogues() -> None:
    assert Routing(CATALOGUE, BINARY.channels_of).channels == CATALOGUE.channels
