"""Headers by kernel and one packet at a time are equal: of sound packets, heartbeats, and any bytes."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.feeds.binary.headers import PacketHeaders
from pregao.feeds.binary.system import BINARY
from pregao.model.packets import NO_NEXT, Unit
from pregao.simulator.memory import short_day, simulate_in_memory

PAYLOADS = st.lists(st.binary(max_size=40), max_size=12)


@cache
def headers(*, heartbeats: bool) -> PacketHeaders:
    return BINARY.headers(heartbeats=heartbeats)


@cache
def simulated() -> list[bytes]:
    (day,) = simulate_in_memory(short_day(seed=4, messages=600))
    return [each.payload for each in day.packets]


def by_columns(payloads: Sequence[bytes], chosen: Sequence[int] | None, *, heartbeats: bool) -> list[Unit]:
    raw = np.frombuffer(b"".join(payloads) + b"\0", np.uint8)
    sizes = np.array([len(each) for each in payloads], np.int64)
    offsets, lengths = np.cumsum(sizes) - sizes, sizes.astype(np.uint32)
    rows = np.array(range(len(payloads)) if chosen is None else chosen, np.uint32)
    units = headers(heartbeats=heartbeats).read(
        raw.ctypes.data, offsets.ctypes.data, lengths.ctypes.data, len(rows),
        0 if chosen is None else rows.ctypes.data,
    )  # fmt: skip
    assert units.row[: units.count].tolist() == rows.tolist()
    columns = (units.channel, units.epoch, units.number, units.sent_ns, units.offset, units.length,
               units.next_number)  # fmt: skip
    told = zip(*(column[: units.count].tolist() for column in columns), strict=True)
    return [Unit(*each[:4], raw[each[4] : each[4] + each[5]].tobytes(), each[6]) for each in told]


def one_by_one(payloads: Sequence[bytes], *, heartbeats: bool) -> list[Unit]:
    """SendingTime beyond 63 bits is the same bits: columns have a sign."""
    units = [unit for each in payloads for unit in headers(heartbeats=heartbeats).split(each)]
    return [unit._replace(sent_ns=(unit.sent_ns ^ 1 << 63) - (1 << 63)) for unit in units]


@given(PAYLOADS, st.booleans())
def test_any_bytes(payloads: list[bytes], heartbeats: bool) -> None:
    assert by_columns(payloads, None, heartbeats=heartbeats) == one_by_one(payloads, heartbeats=heartbeats)


@pytest.mark.parametrize("heartbeats", [True, False])
def test_packets_of_a_simulated_day(heartbeats: bool) -> None:
    payloads = simulated()
    found = by_columns(payloads, None, heartbeats=heartbeats)
    assert [each._replace(next_number=NO_NEXT) for each in found] == [
        each._replace(next_number=NO_NEXT) for each in one_by_one(payloads, heartbeats=heartbeats)
    ]
    if heartbeats:
        assert found == one_by_one(payloads, heartbeats=True)
        assert any(each.next_number != NO_NEXT for each in found)
    every_third = range(0, len(payloads), 3)
    assert by_columns(payloads, every_third, heartbeats=heartbeats) == found[::3]
