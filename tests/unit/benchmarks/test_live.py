"""The live benchmark's schedule, and what it counts as a packet's latency."""

import numpy as np
import pytest

from pregao.model.packets import PacketBatch
from tests.benchmarks.live import Latencies
from tests.benchmarks.live_sender import BURST, BURST_NS, NS, RATE, due_times

SLOT = 2_048


@pytest.mark.parametrize(("seconds", "bursts"), [(2.0, 0), (5.0, 1), (20.0, 4), (60.0, 12)])
def test_an_even_rate_with_bursts(seconds: float, bursts: int) -> None:
    due_ns = due_times(seconds)
    calm_s = seconds - bursts * BURST_NS / NS
    assert len(due_ns) == pytest.approx(calm_s * RATE + bursts * BURST, rel=0.001)
    assert due_ns[-1] == pytest.approx(seconds * NS, rel=0.001)
    assert (np.diff(due_ns) > 0).all()
    within = np.searchsorted(due_ns, due_ns + BURST_NS) - np.arange(len(due_ns))
    assert within.max() == pytest.approx(BURST if bursts else RATE * BURST_NS / NS, rel=0.01)


def batch(*packets: tuple[int, int]) -> PacketBatch:
    """Of (number, time of sending)."""
    count = len(packets)
    buffer = np.zeros(count * SLOT, np.uint8)
    for place, (number, sent_ns) in enumerate(packets):
        buffer[place * SLOT + 4 : place * SLOT + 8] = np.array([number], "<u4").view(np.uint8)
        buffer[place * SLOT + 8 : place * SLOT + 16] = np.array([sent_ns], "<i8").view(np.uint8)
    offsets = np.arange(count, dtype=np.int64) * SLOT
    return PacketBatch(
        buffer, count, offsets, np.full(count, 16, np.uint32), np.zeros(count, np.uint16), offsets
    )


def test_a_packet_counts_once_and_when_its_event_has_ended() -> None:
    latencies = Latencies(4)
    latencies.note(batch((1, 100), (2, 110), (1, 100)), in_books=1, now_ns=150)
    assert latencies.ns[1:].tolist() == [50, -1, -1, -1]
    latencies.note(batch((2, 110), (3, 190), (4, 195)), in_books=4, now_ns=200)
    assert latencies.ns[1:].tolist() == [50, 90, 10, 5]
