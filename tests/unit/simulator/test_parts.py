"""Which channel an update goes to."""

from dataclasses import replace

from pregao.exchange.catalogue import load_default_catalogue
from pregao.model import events as e
from pregao.model.market import Action, DefinitionAction, Side
from pregao.simulator.parts import Parts
from pregao.simulator.sources import OBSERVED

CATALOGUE = load_default_catalogue()


def deleted(security_id: int) -> e.OrderUpdate:
    return e.OrderUpdate(security_id, Action.DELETE, Side.BUY, 1, 10_000, 100, 1, 0, 0)


def test_an_event_of_one_channel_stays_whole() -> None:
    parts = Parts(CATALOGUE)
    one = CATALOGUE.instruments[0]
    event = e.Event((deleted(one.security_id), deleted(one.security_id)))
    assert list(parts.of(event)) == [(one.channel, event)]


def test_a_mass_cancel_is_cut_by_channel_and_keeps_its_order() -> None:
    parts = Parts(CATALOGUE)
    chosen = [next(each for each in CATALOGUE.instruments if each.channel == n) for n in parts.channels]
    updates = [deleted(each.security_id) for each in (*chosen, *chosen)]
    found = parts.of(e.Event(tuple(updates)))
    assert [channel for channel, _ in found] == list(parts.channels)
    assert [part.updates for _, part in found] == [
        (deleted(each.security_id), deleted(each.security_id)) for each in chosen
    ]


def test_news_of_no_instrument_is_for_all() -> None:
    parts = Parts(CATALOGUE)
    news = e.Event((e.News(1, "headline", "text", 0),))
    assert list(parts.of(news)) == [(channel, news) for channel in parts.channels]


def test_an_instrument_that_is_added_gets_its_channel() -> None:
    parts = Parts(CATALOGUE)
    added = replace(CATALOGUE.instruments[0], security_id=7, symbol="NEW3")
    event = e.Event((e.Definition(added, DefinitionAction.ADD),))
    assert list(parts.of(event)) == [(added.channel, event)]
    assert parts.by_id[7] == added.channel


def test_a_deleted_instrument_is_heard_of() -> None:
    """Its id may go to another, which has not its closing price."""
    assert e.Definition in OBSERVED
