"""What channels say, as events of the library: the same, with symbol, time and stream position."""

from dataclasses import fields
from typing import get_args

import pytest

import pregao
from pregao.market import channel_events
from pregao.model.streams import Feed
from pregao.recovery import events as recovery

KINDS = get_args(recovery.Event)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_of_a_channel_has_its_place_in_the_library(kind: type) -> None:
    made = kind(**{field.name: Feed.A if field.name == "feed" else 7 for field in fields(kind)})
    event = channel_events.channel_event(made, 84, "PETR4", 5, 6)
    assert type(event) is getattr(pregao, kind.__name__)
    assert isinstance(event, kind)
    for field in fields(kind):
        assert getattr(event, field.name) == getattr(made, field.name)
    assert (event.symbol, event.time_ns, event.stream_position) == ("PETR4", 5, 6)
    assert event.channel in (7, 84)


def test_positions_are_what_the_event_is_about() -> None:
    assert channel_events.position_of(recovery.GapDetected(84, 1, 11, 12), 99) == 12
    assert channel_events.position_of(recovery.StreamReset(84, 13), 99) == 13
    assert channel_events.position_of(recovery.ChannelReady(84, 1, 0), 99) == 99
