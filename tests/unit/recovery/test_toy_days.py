"""The heart of the proof: whatever is lost, what is shown as clean is the truth, and all heals in the end."""

import pytest

from pregao.recovery.events import FailedOver, GapDetected, QueueOverflow
from pregao.recovery.instrument_events import InstrumentHealed
from pregao.recovery.policy import Site
from pregao.recovery.progress import ChannelState
from tests.unit.recovery.toy_scenarios import (
    SCENARIOS,
    contingency,
    losing_the_tail,
    rough_weather,
    small_queue,
)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", list(SCENARIOS))
def test_what_is_clean_is_true_and_all_heals(name: str, seed: int) -> None:
    day = SCENARIOS[name](seed).run()
    assert not day.unhealed()
    assert day.client.compared["CLEAN"] > 500
    assert day.client.machine.state is ChannelState.LIVE


def test_losses_are_found_and_healed_one_by_one() -> None:
    day = rough_weather(3).run()
    assert sum(isinstance(event, GapDetected) for event in day.events) > 1
    healed = [event for event in day.events if isinstance(event, InstrumentHealed)]
    assert max(event.loops for event in healed) <= 6


def test_a_lost_tail_is_found_by_heartbeats() -> None:
    day = losing_the_tail(1).run()
    assert any(isinstance(event, GapDetected) for event in day.events)


def test_the_other_site_is_followed_and_left_again() -> None:
    day = contingency(0).run()
    assert [event.to for event in day.events if isinstance(event, FailedOver)] == [
        Site.CONTINGENCY,
        Site.PRIMARY,
    ]


def test_a_full_queue_is_told() -> None:
    day = small_queue(0).run()
    assert any(isinstance(event, QueueOverflow) for event in day.events)
    assert day.client.most_held <= 40
