"""Reassembly and its bounds."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.pcap.fragments import MAX_PENDING, TIMEOUT_NS, FragmentKey, Reassembler
from pregao.codecs.pcap.ip import Fragment
from pregao.codecs.pcap.outcomes import Damage, Record, Skip
from pregao.model.errors import Fault

PENDING = Skip.FRAGMENT_PENDING


def record(number: int = 1, ts_ns: int = 0) -> Record:
    return Record(number, number * 100, ts_ns, 1, number * 100 + 16, memoryview(b""), 0)


def key(identification: int = 1) -> FragmentKey:
    return FragmentKey(4, 10, 20, identification, 17)


def add(
    reassembler: Reassembler,
    offset: int,
    piece: bytes,
    more: bool,
    *,
    identification: int = 1,
    at: Record | None = None,
) -> bytes | Skip | Fault:
    fragment = Fragment(identification, offset, more)
    return reassembler.add(key(identification), fragment, memoryview(piece), at or record())


@given(st.binary(min_size=1, max_size=400), st.lists(st.integers(1, 49)), st.randoms(use_true_random=False))
def test_any_order_with_repeats_gives_the_datagram(
    whole: bytes, cuts: list[int], order: random.Random
) -> None:
    edges = sorted({0, len(whole), *(cut * 8 for cut in cuts if cut * 8 < len(whole))})
    pieces = [(start, whole[start:end], end < len(whole)) for start, end in pairwise(edges)]
    order.shuffle(pieces)
    reassembler = Reassembler()
    for piece in pieces[:-1]:
        assert add(reassembler, *piece) == PENDING
        assert add(reassembler, *piece) == PENDING
    assert add(reassembler, *pieces[-1]) == whole
    assert len(reassembler) == 0
    assert reassembler.finish() == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, bytes(16), True), (8, bytes(16), True)),
        ((8, bytes(16), True), (0, bytes(16), True)),
        ((8, bytes(8), True), (0, bytes(24), True)),  # around it
        ((0, bytes(8), True), (0, b"another!", True)),  # the same place, other bytes
        ((0, bytes(8), True), (0, bytes(8), False)),  # the same bytes, but the last
        ((16, bytes(8), False), (24, bytes(8), True)),  # behind the last
        ((16, bytes(8), False), (24, bytes(8), False)),  # two lasts
        ((16, bytes(8), True), (0, bytes(8), False)),  # a last in front of another
    ],
)
def test_overlap_drops_the_datagram(first: tuple[int, bytes, bool], second: tuple[int, bytes, bool]) -> None:
    reassembler = Reassembler()
    assert add(reassembler, *first) == PENDING
    assert add(reassembler, *second) == Fault.FRAGMENT_OVERLAP
    assert len(reassembler) == 0
    assert reassembler.finish() == []


def test_datagrams_with_other_keys_are_kept_apart() -> None:
    reassembler = Reassembler()
    assert add(reassembler, 0, b"A" * 8, True, identification=1) == PENDING
    assert add(reassembler, 0, b"B" * 8, True, identification=2) == PENDING
    assert add(reassembler, 8, b"b", False, identification=2) == b"BBBBBBBBb"
    assert add(reassembler, 8, b"a", False, identification=1) == b"AAAAAAAAa"


def test_fragments_that_cannot_be() -> None:
    reassembler = Reassembler()
    assert add(reassembler, 0, b"", False) == Fault.IP_MALFORMED
    assert add(reassembler, 0, b"seven b", True) == Fault.IP_MALFORMED
    assert len(reassembler) == 0


def test_too_large() -> None:
    reassembler = Reassembler()
    assert add(reassembler, 0, bytes(8), True) == PENDING
    assert add(reassembler, 65528, bytes(8), False) == Fault.FRAGMENT_TOO_LARGE
    assert len(reassembler) == 0
    assert add(reassembler, 65528, bytes(7), False) == PENDING


def test_a_datagram_waits_thirty_seconds_of_capture_time() -> None:
    reassembler = Reassembler()
    add(reassembler, 0, bytes(8), True, at=record(1, ts_ns=5))
    add(reassembler, 0, bytes(8), True, identification=2, at=record(2, ts_ns=5 + TIMEOUT_NS))
    assert reassembler.take_lost() == []
    add(reassembler, 8, bytes(8), True, identification=2, at=record(3, ts_ns=6 + TIMEOUT_NS))
    assert reassembler.take_lost() == [Damage(Fault.FRAGMENT_LOST, 100, 1)]
    assert reassembler.take_lost() == []


def test_too_many_at_once_evict_the_first() -> None:
    reassembler = Reassembler()
    for number in range(1, MAX_PENDING + 3):
        add(reassembler, 0, bytes(8), True, identification=number, at=record(number))
    assert len(reassembler) == MAX_PENDING
    assert [damage.number for damage in reassembler.take_lost()] == [1, 2]


def test_the_end_of_the_file_loses_what_waits() -> None:
    reassembler = Reassembler()
    add(reassembler, 0, bytes(8), True, at=record(7))
    assert reassembler.finish() == [Damage(Fault.FRAGMENT_LOST, 700, 7)]
    assert len(reassembler) == 0
