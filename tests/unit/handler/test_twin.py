"""The handler's kernels against the plain handler, after every packet of impaired days."""

import pytest

from pregao.recovery.events import FailedOver, GapDetected
from pregao.recovery.policy import ChannelSettings
from pregao.simulator.memory import CapturedPacket, short_day, simulate_in_memory
from tests.twins.handlers import HandlerPair

# Four minutes of the clock: heartbeats are most of a quiet day.
QUICK = {"messages": 800, "squeeze": 160, "loops": 24, "truth": False}
CHANNEL = 84


def day(seed: int, version: int, faults: str, **other: object) -> list[CapturedPacket]:
    settings = short_day(**(QUICK | {"seed": seed, "version": version, "faults": faults} | other))
    (only,) = simulate_in_memory(settings)
    return [packet for packet in only.packets if packet.channel == CHANNEL]


@pytest.mark.parametrize(
    ("seed", "version", "faults"),
    [
        (1, 16, "loss=2%,both=6,dup=1%"),
        (2, 8, "both=4x3,reset=channel@?"),
        (3, 16, "reset=2xbook@?,reset=stream@?,reset=failover@?,both=1%"),
        (4, 16, "reset=definitions@?,delay=2%:20ms,loss=1%@I+S"),
        (5, 8, "reorder=20:40,silence=?+10s,reset=week@?"),
    ],
)
def test_the_same_is_known_and_kept(seed: int, version: int, faults: str) -> None:
    pair = HandlerPair(CHANNEL)
    for packet in day(seed, version, faults):
        pair.receive(packet)
    pair.compare_all()
    assert pair.healed > 0
    assert pair.comparisons > 100


def test_the_same_when_the_contingency_site_takes_over() -> None:
    pair = HandlerPair(CHANNEL)
    for packet in day(6, 16, "contingency=12:00+20s", contingency=True):
        pair.receive(packet)
    pair.compare_all()
    assert sum(isinstance(event, FailedOver) for event in pair.events) == 2


def test_the_same_with_hardly_any_memory() -> None:
    """Held rows overflow again and again, and most instruments are of no interest."""
    packets = day(7, 16, "both=2%")
    first = HandlerPair(CHANNEL)
    for packet in packets[:2_000]:
        first.receive(packet)
    few = frozenset(first.handler.machine.table.security_ids[::2])
    assert few
    pair = HandlerPair(CHANNEL, ChannelSettings(held_rows=4, interest=few))
    for packet in packets:
        pair.receive(packet)
    pair.compare_all()
    assert pair.handler.machine.counters.overflows > 0
    assert any(isinstance(event, GapDetected) for event in pair.events)
    assert frozenset(pair.handler.machine.table.security_ids) <= few
