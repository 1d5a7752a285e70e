"""The plan's kernels and their plain twins are equal, on sound packets, damaged ones and any bytes."""

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.captures import kernels as looks
from pregao.codecs.sbe import load_builtin_schema
from pregao.lake.plan import kernels
from pregao.simulator.memory import short_day, simulate_in_memory
from tests.kits.mutations import PacketMutator, Sound
from tests.twins.b3 import pool
from tests.twins.captures import packet
from tests.twins.lake import plain_scan as plain

PAYLOADS = st.lists(st.binary(max_size=90), max_size=12)
RARE = (1, 4, 5, 9, 10, 11, 12)


@cache
def simulated(version: int) -> list[bytes]:
    """Packets of all streams and both feeds of a short day."""
    (day,) = simulate_in_memory(short_day(seed=3, version=version, messages=600, faults="dup=2%,loss=1%"))
    return [each.payload for each in day.packets]


@cache
def damaged(seed: int) -> list[bytes]:
    rng, schema = random.Random(f"plan {seed}"), load_builtin_schema()
    messages = pool(seed, 200)
    sound = [
        Sound(schema, packet(schema, rng.choices(messages, k=rng.choice((1, 1, 2, 4))), rng))
        for _ in range(60)
    ]
    mutator = PacketMutator(sound, rng)
    return [mutator.packet() for _ in range(400)]


class Laid:
    """Payloads one behind the other, as kernels take them."""

    def __init__(self, payloads: Sequence[bytes]) -> None:
        self.raw = np.frombuffer(b"".join(payloads) or b"\0", np.uint8)
        self.lengths = np.array([len(each) for each in payloads], np.int64)
        self.offsets = np.cumsum(self.lengths) - self.lengths
        self.short = self.lengths.astype(np.uint32)
        self.addresses = self.offsets + self.raw.ctypes.data

    def __len__(self) -> int:
        return len(self.lengths)


def _check(payloads: Sequence[bytes]) -> int:
    """How many messages there are; all that looks at packets is compared."""
    laid = Laid(payloads)
    _check_headers(payloads, laid)
    expected, noted, seen = plain.find_messages(payloads, RARE)
    found = _find(laid, RARE, len(payloads))
    assert found == (expected, noted, seen)
    counts = np.full(max(len(laid), 1), -1, np.int64)
    kernels.count_messages(
        laid.addresses.ctypes.data, laid.lengths.ctypes.data, len(laid), counts.ctypes.data
    )
    assert counts[: len(laid)].tolist() == [len(list(plain.templates(each))) for each in payloads]
    return expected


def _check_headers(payloads: Sequence[bytes], laid: Laid) -> None:
    out = np.full((max(len(laid), 1), 4), 77, np.int64)
    base = laid.raw.ctypes.data
    looks.read_headers(base, laid.offsets.ctypes.data, laid.short.ctypes.data, len(laid), out.ctypes.data)
    for payload, row in zip(payloads, out.tolist(), strict=False):
        told = plain.header(payload)
        assert (row[0] == -1) if told is None else (tuple(row) == told)


def _find(laid: Laid, wanted: Sequence[int], room: int) -> tuple[int, list[int], set[int]]:
    table, seen = (np.zeros(looks.TEMPLATES, np.uint8) for _ in range(2))
    table[list(wanted)] = 1
    notes = np.zeros(max(room, 1), np.int64)
    messages, noted = looks.find_messages(
        laid.raw.ctypes.data, laid.offsets.ctypes.data, laid.short.ctypes.data, len(laid), table.ctypes.data,
        seen.ctypes.data, notes.ctypes.data, room,
    )  # fmt: skip
    return messages, notes[:noted].tolist(), set(np.flatnonzero(seen).tolist())


@given(PAYLOADS)
def test_any_bytes(payloads: list[bytes]) -> None:
    _check(payloads)


@pytest.mark.parametrize("version", [8, 16, 17])
def test_packets_of_a_simulated_day(version: int) -> None:
    assert _check(simulated(version)) > 1_000


@pytest.mark.parametrize("seed", range(4))
def test_damaged_packets(seed: int) -> None:
    assert _check(damaged(seed)) > 50


def test_notes_stop_where_their_room_ends() -> None:
    payloads = simulated(16)[:300]
    whole = _find(Laid(payloads), RARE, len(payloads))
    short = _find(Laid(payloads), RARE, 3)
    assert len(whole[1]) > 3
    assert short == (whole[0], whole[1][:3], whole[2])


def _hash(content: bytes, seed: int) -> Any:
    array = np.frombuffer(content or b"\0", np.uint8)
    return kernels.content_hash(array.ctypes.data, len(content), seed)


@given(st.binary(max_size=200), st.integers(0, 1 << 62))
def test_hashes_are_equal(content: bytes, seed: int) -> None:
    assert _hash(content, seed) == plain.content_hash(content, seed)


@given(st.binary(max_size=400), st.integers(1, 4), st.integers(0, 1 << 62))
def test_hashes_piece_by_piece_are_equal(content: bytes, stripes: int, seed: int) -> None:
    array = np.frombuffer(content + b"\0", np.uint8)
    base, state = array.ctypes.data, np.zeros(4, np.int64)
    whole = len(content) // kernels.STRIPE * kernels.STRIPE
    kernels.begin_hash(state.ctypes.data, len(content), seed)
    for start in range(0, whole, stripes * kernels.STRIPE):
        size = min(stripes * kernels.STRIPE, whole - start)
        kernels.hash_stripes(state.ctypes.data, base + start, size)
    found = kernels.end_hash(state.ctypes.data, base + whole, len(content) - whole)
    assert found == plain.content_hash(content, seed)


@given(st.binary(min_size=1, max_size=200), st.integers(0, 1 << 30))
def test_a_changed_bit_changes_the_hash(content: bytes, bit: int) -> None:
    changed = bytearray(content)
    bit %= 8 * len(content)
    changed[bit // 8] ^= 1 << bit % 8
    assert _hash(bytes(changed), 1) != _hash(content, 1)


def test_hashes_of_many_messages() -> None:
    payloads = [*simulated(16)[:200], b""]
    laid = Laid(payloads)
    out = np.zeros(len(laid), np.int64)
    kernels.hash_messages(laid.addresses.ctypes.data, laid.lengths.ctypes.data, len(laid), out.ctypes.data)
    assert out.tolist() == [plain.content_hash(each, 7) for each in payloads]
