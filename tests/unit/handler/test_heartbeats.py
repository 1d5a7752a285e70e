"""Heartbeats: runs of them by kernel, and the plain handler beside it."""

import struct
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.feeds.binary.headers import PacketHeaders
from pregao.feeds.binary.packets import frame
from pregao.feeds.binary.system import BINARY
from pregao.handler.handler import ChannelHandler
from pregao.handler.instruments import LineTable
from pregao.model.packets import NO_NEXT, batch_of
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.arbitration_state import ACCEPTED, DEADLINE, OUT_AT, OUT_VERSION, RING, STOP
from pregao.recovery.counters import feed_counters
from pregao.recovery.events import FeedAlive
from tests.twins.foreign import foreign
from tests.twins.plain_handler import PlainHandler
from tests.unit.feeds.binary.publisher.desk import MS, NOW, SCHEMA

SECOND = 1_000 * MS
LINES = LineTable([StreamId(84, Stream.INCREMENTAL, feed) for feed in (Feed.A, Feed.B)])
VERSIONS = (7, 8, 16, 17, 99)
# What belongs to the kernels alone: addresses and why they returned. A kernel that takes the packet that was
# waited for leaves the deadline, which is looked at once more and forgotten.
_KERNELS_OWN = {RING, STOP, ACCEPTED, DEADLINE, *range(OUT_AT, OUT_VERSION + 8, 8)}


def beat(
    next_number: int, sequence: int = 46, *, version: int = 16, channel: int = 84, more: int = 0
) -> bytes:
    """`more` messages of the same kind follow."""
    message = struct.pack("<HHHHI", 4, 2, 2, version, next_number)
    return struct.pack("<BBHIQ", channel, 0, sequence, 0, NOW) + frame(message) * (1 + more)


def data(number: int, sequence: int = 46) -> bytes:
    """A packet with a message of a template that nobody knows."""
    return struct.pack("<BBHIQ", 84, 0, sequence, number, NOW) + frame(struct.pack("<HHHH", 0, 9_999, 2, 16))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_that_says_what_is_known_is_not_read(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = ChannelHandler(84, BINARY)
    handler.receive(data(7), Stream.INCREMENTAL, Feed.A, NOW)
    handler.receive(beat(8, version=version), Stream.INCREMENTAL, Feed.A, NOW)

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("it was read")

    monkeypatch.setattr(PacketHeaders, "_next_number", refuse)
    run = batch_of((n % 2, NOW + n * MS, beat(8, version=version)) for n in range(1_000))
    handler.receive_batch(run, LINES, NOW + 999 * MS)
    counted = [feed_counters(handler.machine.arbiter, feed) for feed in (Feed.A, Feed.B)]
    assert [each.received for each in counted] == [502, 500]
    assert [each.heard_ns for each in counted] == [NOW + 998 * MS, NOW + 999 * MS]
    with pytest.raises(AssertionError, match="it was read"):
        handler.receive(beat(9, version=version, more=1), Stream.INCREMENTAL, Feed.A, NOW + SECOND)


packets = st.one_of(
    st.builds(
        beat,
        st.integers(5, 12),
        st.sampled_from((46, 46, 46, 47)),
        version=st.sampled_from(VERSIONS),
        channel=st.sampled_from((84, 84, 84, 85)),
        more=st.sampled_from((0, 0, 0, 1)),
    ),
    st.builds(data, st.integers(6, 12), st.sampled_from((46, 46, 46, 47))),
    st.binary(max_size=40),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40), packets), max_size=40))
def test_whatever_comes_the_plain_handler_knows_the_same(arrived: list[tuple[int, int, bytes]]) -> None:
    handler, plain = ChannelHandler(84, BINARY), PlainHandler(84, SCHEMA)
    now_ns, stamped = NOW, []
    for source, wait_ms, payload in [(0, 0, data(6)), *arrived]:
        now_ns += wait_ms * MS
        stamped.append((source, now_ns, payload))
    ours = handler.start(NOW) + handler.receive_batch(batch_of(stamped), LINES, now_ns)
    theirs = [
        event
        for source, at_ns, payload in stamped
        for event in plain.receive(payload, Stream.INCREMENTAL, (Feed.A, Feed.B)[source], at_ns)
    ]
    # Who is heard is looked at now and then, and the plain one settles after every packet, so that its looks
    # are at other times: both look once more.
    looked_ns = now_ns + handler.machine.settings.beat_ns // 2
    ours += handler.on_timeout(looked_ns)
    theirs += plain.on_timeout(looked_ns)
    assert sorted(map(str, ours)) == sorted(map(str, theirs))
    heard = [event.feed for event in ours if isinstance(event, FeedAlive)]
    assert sorted(heard) == [
        feed for feed in (Feed.A, Feed.B) if feed_counters(plain.machine.arbiter, feed).received
    ]
    blocks = [each.machine.arbiter.state.block.copy() for each in (handler, plain)]
    for block in blocks:
        block[[place // 8 for place in _KERNELS_OWN]] = 0
    assert np.array_equal(*blocks)
    assert handler.machine.counters == plain.machine.counters
    assert handler.next_timeout() == plain.machine.next_timeout()


def test_a_schema_without_heartbeats_has_no_shape() -> None:
    schema = foreign("littleEndian", False)
    headers = PacketHeaders(schema)
    assert headers._shape["size"] == -1
    assert headers.split(beat(8))[0].next_number == NO_NEXT


@settings(max_examples=150, deadline=None)
@given(st.lists(packets, max_size=20), st.data())
def test_headers_by_columns_are_those_of_each_packet(payloads: list[bytes], data: st.DataObject) -> None:
    """The kernel and its plain twin, of all packets and of some of them."""
    headers = PacketHeaders(SCHEMA)
    batch = batch_of((0, NOW, payload) for payload in payloads)
    chosen = data.draw(st.lists(st.integers(0, max(len(payloads) - 1, 0)), max_size=len(payloads)))
    base, offsets, lengths, _, _ = batch.addresses
    for rows in (range(len(payloads)), chosen):
        picked = np.array([*rows], np.uint32)
        meant = picked.ctypes.data if rows is chosen else 0
        units = headers.read(base, offsets, lengths, len(rows), meant)
        assert units.count == len(rows)
        for index, row in enumerate(rows):
            (unit,) = headers.split(payloads[row])
            start = int(units.offset[index])
            payload = bytes(batch.buffer[start : start + int(units.length[index])])
            found = (units.channel, units.epoch, units.number, units.sent_ns)
            assert int(units.row[index]) == row
            assert payload == unit.payload == payloads[row]
            assert tuple(int(each[index]) for each in found)[:3] == unit[:3]
            assert int(units.sent_ns[index]) & (1 << 64) - 1 == unit.sent_ns
            assert int(units.next_number[index]) == unit.next_number
