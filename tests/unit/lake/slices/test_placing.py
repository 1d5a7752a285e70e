"""Units to their places against a plain loop: foreign flows and channels, what is no unit, heartbeats,
versions that nobody knows, what stands before, after and out of order; packets with several units."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan.index import NUMBER_BITS
from pregao.lake.slices.kernels.merging import LATE, PLACED_FIELDS, place_units
from pregao.model.packets import Units

VERSIONS, APPEARANCES = [7, 9, 300], [2, -1, 0]  # the second is none of the unit's
KEY = st.builds(lambda version, number: version << NUMBER_BITS | number, st.integers(0, 2), st.integers(0, 9))
PLACE = st.one_of(st.just(-1), st.just(1 << 62), KEY)
UNIT = st.tuples(
    st.sampled_from([84, 84, 84, 85]),  # channel
    st.sampled_from([7, 7, 9, 300, 300, 8]),  # epoch
    st.integers(-1, 9),  # number
    st.integers(0, 1 << 40),  # when it was sent
    st.integers(0, 1 << 40),  # address
    st.integers(0, 1500),  # length
)
PACKET = st.tuples(st.sampled_from([5, 5, 5, 6]), st.lists(UNIT, max_size=3))  # flow
Stream = tuple[int, int, int, int]  # keys from, before; places above, below


def plain(packets: list[Any], stream: Stream) -> list[tuple[int, ...]]:
    first, end, after, before = stream
    found: list[tuple[int, ...]] = []
    units = [(ts, flow, unit) for ts, (flow, each) in enumerate(packets) for unit in each]
    for ts, flow, (channel, version, number, sent, address, length) in units:
        if flow != 5 or channel != 84 or number < 1 or version not in VERSIONS:
            continue
        which = VERSIONS.index(version)
        place = (APPEARANCES[which] << NUMBER_BITS) + number
        if first <= (which << NUMBER_BITS) + number < end and after < place < before:
            late = any(place < other[0] for other in found)
            found.append((place, ts, sent, address, length, LATE if late else 0))
    return found


def by_kernel(packets: list[Any], stream: Stream, piece: int) -> list[tuple[int, ...]]:
    known = [word for each in zip(VERSIONS, APPEARANCES, strict=True) for word in each]
    words = np.array([5, 84, *stream, len(VERSIONS), -1, *known], np.int64)
    out = np.zeros((len(PLACED_FIELDS), 3 * len(packets) + 1), np.int64)
    targets = np.array([each.ctypes.data for each in out], np.int64)
    done = 0
    for start in range(0, len(packets), piece):  # lateness is known from piece to piece
        part = packets[start : start + piece]
        flow = np.array([packet[0] for packet in part], np.int64)
        ts = np.arange(start, start + len(part), dtype=np.int64)
        units = _units(part)
        done = place_units(
            ts.ctypes.data, flow.ctypes.data, *units.addresses[:7], units.count, words.ctypes.data,
            targets.ctypes.data, done,
        )  # fmt: skip
    return list(zip(*out[:, :done].tolist(), strict=True))


def _units(packets: list[Any]) -> Units:
    told = [(row, *unit) for row, (_, each) in enumerate(packets) for unit in each]
    units = Units(len(told) + 1)
    units.count = len(told)
    for index, (row, channel, epoch, number, sent, address, length) in enumerate(told):
        units.row[index], units.channel[index], units.epoch[index] = row, channel, epoch
        units.number[index], units.sent_ns[index] = number, sent
        units.offset[index], units.length[index] = address, length
    return units


STREAM = st.tuples(KEY, KEY, PLACE, PLACE)


@given(packets=st.lists(PACKET, max_size=30), stream=STREAM, piece=st.integers(1, 9))
def test_equal_to_a_plain_loop(packets: list[Any], stream: Stream, piece: int) -> None:
    assert by_kernel(packets, stream, piece) == plain(packets, stream)


@given(packets=st.lists(PACKET, max_size=30), piece=st.integers(1, 9))
def test_equal_where_all_are_wanted(packets: list[Any], piece: int) -> None:
    stream = 0, 3 << NUMBER_BITS, -1, 1 << 62
    assert by_kernel(packets, stream, piece) == plain(packets, stream)
