"""The live benchmark's schedule, and what it counts as an event's latency."""

import numpy as np

from tests.benchmarks.live import Heard, parts_of_the_wait, rows_of
from tests.benchmarks.live_events import OTHER, QUOTE, ROW
from tests.benchmarks.live_sender import NS, due_times, group_of, streams_of


def test_recovery_packets_go_with_the_one_before() -> None:
    incremental = np.array([True, False, True, True, False, False, True])
    assert due_times(incremental, rate=1_000).tolist() == [
        each * NS // 1_000 for each in (1, 1, 2, 3, 3, 3, 4)
    ]


def test_every_stream_has_a_group_of_its_own() -> None:
    streams = streams_of([68, 72])
    assert len(streams) == 8
    assert len({group_of(*each) for each in streams}) == 8


def test_an_event_is_as_late_as_the_packet_it_came_with() -> None:
    one, two, other = 84 << 32 | 1, 84 << 32 | 2, 72 << 32 | 1
    keys, sent_ns = np.array([two, one, other]), np.array([2_000, 1_000, 3_000_000])
    heard = Heard(
        np.array([one, one, 84 << 32, two, other]),  # the third is what a channel said of itself
        np.array([6_000, 8_000, 9_000, 3_000, 3_900_000]), np.array([ROW, QUOTE, OTHER, ROW, ROW]),
        0, 0, 1, 10, 4096,
    )  # fmt: skip
    spans = {"calm": (500, 5_000, 7), "burst 0": (2_000_000, 4_000_000, 0), "fast": (2_000_000, 4_000_000, 0)}
    rows = {row.name: row for row in rows_of(heard, keys, sent_ns, spans, 1.0)}
    assert rows["live, 1 s at 5,000/s: wire to event, p50"].value == 5.0
    assert rows["live, 1 s at 5,000/s: wire to event, p100"].value == 7.0
    assert rows["live, 1 s at 5,000/s: events"].value == 3
    assert rows["live, 12,000 packets in 100 ms: wire to event, p50"].value == 900.0
    assert rows["live: not clean at the end, of 10"].passed is False


def test_a_wait_has_two_parts() -> None:
    """A trade of packet 1 whose event ends with packet 2: 1 µs on the wire, 3 µs from there to the loop."""
    one, two = 84 << 32 | 1, 84 << 32 | 2
    keys, sent_ns = np.array([one, two]), np.array([1_000, 2_000])
    heard = Heard(np.array([one, two]), np.array([5_000, 5_000]), np.array([ROW, QUOTE]), 0, 0, 0, 10, 4096)
    parts = parts_of_the_wait(heard, keys, sent_ns, (500, 5_000, 0), 1.0, {one: [two]})
    rows = {row.name: row.value for row in parts}
    run = "live, 1 s at 5,000/s:"
    assert rows[f"{run} events that wait for another packet"] == 50.0
    assert rows[f"{run} the exchange's event on the wire, p100"] == 1.0
    assert rows[f"{run} last packet of the exchange's event to event, p100"] == 3.0
    assert rows[f"{run} last packet of the exchange's event to event, p50"] == 3.0
