"""What makes a live market quick, held to its plain twins: delays by kernel, kernels loaded before they are
needed, sockets drained by whoever takes the packets."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.feeds.binary.packets import PacketHeader
from pregao.market.kernels import KEPT
from pregao.market.times import FeedTimes
from pregao.model.packets import batch_of
from pregao.model.streams import Feed, Stream, StreamId
from tests.unit.market.kit import units_of

LINES = [
    StreamId(channel, stream, feed)
    for channel in (84, 72)
    for stream, feed in ((Stream.INCREMENTAL, Feed.A), (Stream.INCREMENTAL, Feed.B),
                         (Stream.INCREMENTAL, Feed.C), (Stream.SNAPSHOT, Feed.A))
]  # fmt: skip
PACKETS = st.lists(
    st.tuples(
        st.integers(0, len(LINES) - 1), st.integers(0, 5), st.integers(0, 1), st.integers(0, 255),
        st.integers(0, 1_000), st.booleans(),
    ),
    max_size=80,
)  # fmt: skip


def plain_times(
    packets: Sequence[tuple[int, int, bytes]],
) -> tuple[dict[tuple[int, Feed], list[int]], dict[int, list[int]]]:
    """Delays of each feed of each channel, and how much later B was than A, packet by packet."""
    delays: dict[tuple[int, Feed], list[int]] = defaultdict(list)
    leads: dict[int, list[int]] = defaultdict(list)
    came: dict[tuple[Feed, int, int, int], int] = {}
    for source, arrival_ns, payload in packets:
        line = LINES[source]
        if line.stream is not Stream.INCREMENTAL or len(payload) < PacketHeader.SIZE:
            continue
        header = PacketHeader.decode(payload)
        if not header.sequence_number:
            continue
        assert line.channel is not None
        delays[line.channel, line.feed].append(arrival_ns - header.sending_time_ns)
        if line.feed is Feed.C:
            continue
        other = Feed.B if line.feed is Feed.A else Feed.A
        place = header.channel, header.sequence_version, header.sequence_number
        if (other, *place) in came:
            later_ns = arrival_ns - came[(other, *place)]
            leads[line.channel].append(later_ns if line.feed is Feed.B else -later_ns)
        came[(line.feed, *place)] = arrival_ns
    return delays, leads


@settings(max_examples=200, deadline=None)
@given(PACKETS, st.integers(1, 9))
def test_delays_and_leads_are_those_of_the_plain_twin(
    drawn: list[tuple[int, int, int, int, int, bool]], at_once: int
) -> None:
    packets, arrival_ns = [], 1_000_000
    for source, number, version, reserved, step_ns, cut in drawn:
        arrival_ns += step_ns
        header = PacketHeader(LINES[source].channel or 0, version, number, 999_000)
        payload = bytearray(header.encode() + b"rest")
        payload[1] = reserved
        packets.append((source, arrival_ns, bytes(payload[:7] if cut else payload)))
    times = FeedTimes(LINES[:3])
    times.set_lines(LINES)  # captures show their streams as they are read
    for first in range(0, len(packets), at_once):
        batch = batch_of(packets[first : first + at_once])
        times.take(batch, units_of(batch))
    delays, leads = plain_times(packets)
    for channel in (84, 72):
        for feed in (Feed.A, Feed.B, Feed.C):
            spread, expected = times.delay(channel, feed), delays.get((channel, feed))
            assert (spread is None) == (expected is None)
            if spread is not None and expected is not None:
                assert (spread.count, spread.greatest) == (len(expected), max(expected))
                assert spread.p50 == int(np.percentile(expected, 50))
        race, expected = times.race(channel), leads.get(channel)
        assert (race is None) == (expected is None)
        if race is not None and expected is not None:
            assert (race.lead.count, race.lead.greatest) == (len(expected), max(expected))
            assert race.a_first == np.mean([lead > 0 for lead in expected])


def test_channels_whose_last_eight_bits_are_equal_are_not_compared() -> None:
    """A byte for the channel is Binary UMDF's: other systems may have more."""
    far = 84 + 256
    times = FeedTimes([StreamId(84, Stream.INCREMENTAL, Feed.A), StreamId(far, Stream.INCREMENTAL, Feed.B)])
    batch = batch_of([(source, 2_000, PacketHeader(84, 1, 7, 1_000).encode()) for source in (0, 1)])
    units = units_of(batch)
    units.channel[1] = far
    times.take(batch, units)
    assert times.race(84) is None
    assert times.race(far) is None


def test_only_the_last_delays_are_kept() -> None:
    times = FeedTimes(LINES)
    sent = [(0, 1_000 + (9 if number < 10 else 5), PacketHeader(84, 1, number, 1_000).encode())
            for number in range(1, KEPT + 10)]  # fmt: skip
    batch = batch_of(sent)
    times.take(batch, units_of(batch))
    spread = times.delay(84, Feed.A)
    assert spread is not None
    assert (spread.count, spread.p50, spread.greatest) == (KEPT + 9, 5, 5)


_NOTHING_IS_COMPILED_LATER = """
import sys

from pregao.market import Market
from pregao.feeds.registry import load_system
from pregao.market.live import warm_up
from tests.unit.market.kit import MemoryPackets, day

warm_up(load_system())
kernels = {
    (name, each): len(value.overloads)
    for name, module in list(sys.modules.items()) if name.startswith("pregao.")
    for each, value in vars(module).items() if hasattr(value, "overloads")
}
packets = day(seed=5, faults="loss=1%,both=3x10,reset=channel@11:00").packets
market = Market(MemoryPackets(packets), exact=False)
for _ in market:
    pass
assert market.books()
late = [
    each for each, count in kernels.items() if len(getattr(sys.modules[each[0]], each[1]).overloads) > count
]
sys.exit(f"loaded only when packets came: {late}" if late else 0)
"""


def test_no_kernel_is_loaded_while_packets_come() -> None:
    """In a process of its own: here other tests have loaded them."""
    done = subprocess.run([sys.executable, "-c", _NOTHING_IS_COMPILED_LATER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
