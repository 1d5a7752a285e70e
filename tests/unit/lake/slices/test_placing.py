"""Packets to their places against a plain loop: foreign flows and channels, short datagrams, heartbeats,
versions that nobody knows, what stands before, after and out of order."""

import struct
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan.index import NUMBER_BITS
from pregao.lake.slices.kernels.merging import LATE, PLACED_FIELDS, place_packets

HEADER = struct.Struct("<BxHIq")
VERSIONS, APPEARANCES = [7, 9, 300], [2, -1, 0]  # the second is none of the unit's
KEY = st.builds(lambda version, number: version << NUMBER_BITS | number, st.integers(0, 2), st.integers(0, 9))
PLACE = st.one_of(st.just(-1), st.just(1 << 62), KEY)
PACKET = st.tuples(
    st.sampled_from([84, 84, 84, 85]),  # channel
    st.sampled_from([7, 7, 9, 300, 300, 8]),  # sequenceVersion
    st.integers(0, 9),  # sequenceNumber
    st.integers(0, 1 << 40),  # sendingTime
    st.sampled_from([0, 0, 0, 40]),  # bytes behind the header
    st.sampled_from([0, 0, 0, 0, 1, 16]),  # bytes of it cut off
    st.sampled_from([5, 5, 5, 6]),  # flow
)
Stream = tuple[int, int, int, int]  # keys from, before; places above, below


def plain(packets: list[Any], stream: Stream) -> list[tuple[int, ...]]:
    first, end, after, before = stream
    found: list[tuple[int, ...]] = []
    for ts, (channel, version, number, sent, more, cut, flow) in enumerate(packets):
        length = HEADER.size + more - cut
        if flow != 5 or channel != 84 or length < HEADER.size or not number or version not in VERSIONS:
            continue
        which = VERSIONS.index(version)
        place = (APPEARANCES[which] << NUMBER_BITS) + number
        if first <= (which << NUMBER_BITS) + number < end and after < place < before:
            late = any(place < other[0] for other in found)
            found.append((place, ts, sent, ts, length, LATE if late else 0))
    return found


def by_kernel(packets: list[Any], stream: Stream, piece: int) -> list[tuple[int, ...]]:
    memory = [
        np.frombuffer(HEADER.pack(channel, version, number, sent) + bytes(more), np.uint8).copy()
        for channel, version, number, sent, more, _, _ in packets
    ]
    address = np.array([each.ctypes.data for each in memory], np.int64)
    lengths = [HEADER.size + more - cut for *_, more, cut, _ in packets]
    length = np.array(lengths, np.uint32)
    flow, ts = np.array([packet[6] for packet in packets], np.int64), np.arange(len(packets), dtype=np.int64)
    known = [word for each in zip(VERSIONS, APPEARANCES, strict=True) for word in each]
    words = np.array([5, 84, *stream, len(VERSIONS), -1, *known], np.int64)
    out = np.zeros((len(PLACED_FIELDS), max(len(packets), 1)), np.int64)
    targets = np.array([each.ctypes.data for each in out], np.int64)
    done = 0
    for start in range(0, len(packets), piece):  # lateness is known from piece to piece
        part = [each[start : start + piece] for each in (ts, address, length, flow)]
        done = place_packets(
            *(each.ctypes.data for each in part), len(part[0]), words.ctypes.data, targets.ctypes.data, done
        )
    numbers = {int(place): number for number, place in enumerate(address)}
    return [(*row[:3], numbers[row[3]], *row[4:]) for row in zip(*out[:, :done].tolist(), strict=True)]


STREAM = st.tuples(KEY, KEY, PLACE, PLACE)


@given(packets=st.lists(PACKET, max_size=30), stream=STREAM, piece=st.integers(1, 9))
def test_equal_to_a_plain_loop(packets: list[Any], stream: Stream, piece: int) -> None:
    assert by_kernel(packets, stream, piece) == plain(packets, stream)


@given(packets=st.lists(PACKET, max_size=30), piece=st.integers(1, 9))
def test_equal_where_all_are_wanted(packets: list[Any], piece: int) -> None:
    stream = 0, 3 << NUMBER_BITS, -1, 1 << 62
    assert by_kernel(packets, stream, piece) == plain(packets, stream)
