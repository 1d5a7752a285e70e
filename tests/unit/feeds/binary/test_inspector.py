"""A look at packets by kernel and with nothing but `struct` are equal: on sound packets, damaged ones and any
bytes."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from struct import unpack_from

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.sbe import load_builtin_schema
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.feeds.binary.headers import CONCERN_ALL, PacketInspector
from pregao.feeds.binary.identity import IDENTITY
from pregao.feeds.binary.kernels.headers import find_messages as find_by_kernel
from pregao.feeds.binary.packets import SBE_LITTLE_ENDIAN
from pregao.feeds.identity import MARKS
from pregao.feeds.port import UnknownContent
from pregao.simulator.memory import short_day, simulate_in_memory
from tests.kits.mutations import PacketMutator, Sound
from tests.twins.b3 import pool
from tests.twins.captures import packet

PAYLOADS = st.lists(st.binary(max_size=90), max_size=12)
HEADER, FRAMING, SBE = 16, 4, 8


def templates(payload: bytes) -> Iterator[int]:
    """Of each framed message, as far as the lengths of the framing make sense (6.5.5.2)."""
    at = HEADER
    while at + FRAMING + SBE <= len(payload):
        length, _, _, template = unpack_from("<HHHH", payload, at)
        if length < FRAMING + SBE or at + length > len(payload):
            return
        yield template
        at += length


def find_messages(payloads: Sequence[bytes], wanted: Sequence[int]) -> tuple[int, list[int], set[int]]:
    """Messages in all, which packets carry a wanted template, all templates seen; 255 is any above."""
    found = [[min(template, 255) for template in templates(payload)] for payload in payloads]
    chosen = set(wanted)
    noted = [number for number, each in enumerate(found) if chosen & set(each)]
    return sum(map(len, found)), noted, {template for each in found for template in each}


@cache
def simulated(version: int) -> list[bytes]:
    """Packets of all streams and both feeds of a short day."""
    (day,) = simulate_in_memory(short_day(seed=3, version=version, messages=600, faults="dup=2%,loss=1%"))
    return [each.payload for each in day.packets]


@cache
def damaged(seed: int) -> list[bytes]:
    rng, schema = random.Random(f"look {seed}"), load_builtin_schema()
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
        sizes = np.array([len(each) for each in payloads], np.int64)
        self.offsets, self.lengths = np.cumsum(sizes) - sizes, sizes.astype(np.uint32)
        self.base = self.raw.ctypes.data


def _check(payloads: Sequence[bytes]) -> int:
    """How many messages there are."""
    laid, seen = Laid(payloads), np.zeros(MARKS, np.uint8)
    looked = PacketInspector().look(laid.base, laid.offsets, laid.lengths, seen)
    marks = set(np.flatnonzero(seen).tolist())
    assert (looked.messages, looked.noted.tolist(), marks) == find_messages(payloads, CONCERN_ALL)
    counts = PacketInspector().count(laid.offsets + laid.base, laid.lengths)
    assert counts.tolist() == [len(list(templates(each))) for each in payloads]
    for payload in payloads:
        seen_in_it = IDENTITY.glimpse(payload)
        if seen_in_it is not None:
            assert seen_in_it.marks == {min(each, MARKS - 1) for each in templates(payload)}
            assert seen_in_it[:3] == (payload[0], int.from_bytes(payload[2:4], "little"), 1)
        else:
            assert len(payload) < HEADER or payload[4:8] == bytes(4)
    return looked.messages


def unknown_of_block(name: str, fields: Sequence[FieldLayout], block: bytes) -> Iterator[tuple[str, int]]:
    """Values of enumerations and bits of sets that the schema lacks, of one block."""
    for each in fields:
        if not each.present or not each.fits(len(block)):
            continue
        if each.kind is ValueKind.SET:
            named = sum(1 << bit for bit in each.names)
            for byte in range(each.size):
                bits = block[each.offset + byte] << 8 * byte & ~named
                if bits:
                    yield f"{name}.{each.name}", bits
        if each.kind is ValueKind.ENUM:
            value = block[each.offset]
            if value not in each.names and value != each.null:
                yield f"{name}.{each.name}", value


def unknown_of_groups(message: BlockLayout, rest: bytes) -> Iterator[tuple[str, int]]:
    """Of the entries of groups, as far as they are there: `rest` begins behind the message's block."""
    for group in message.groups:
        dimension = group.dimension
        if not group.present or dimension is None:
            continue
        if len(rest) < dimension.size:
            return
        size = number_at(rest, dimension.block_length_offset, dimension.block_length.size)
        count = number_at(rest, dimension.num_in_group_offset, dimension.num_in_group.size)
        rest = rest[dimension.size :]
        for _ in range(count if size else 0):
            if len(rest) < size:
                return
            yield from unknown_of_block(f"{message.name}.{group.name}", group.fields, rest[:size])
            rest = rest[size:]


def number_at(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def unknown_in(payloads: Sequence[bytes]) -> list[UnknownContent]:
    """Templates, values of enumerations and bits of sets that the schema lacks, in the order in which they
    are met; bits of one byte of a set together."""
    schema, found = load_builtin_schema(), dict[tuple[str, int], UnknownContent]()
    for unit, payload in enumerate(payloads):
        at = HEADER
        for index, template in enumerate(templates(payload)):
            length, encoding, size, _, schema_id, version = unpack_from("<HHHHHH", payload, at)
            block, body = schema.at(version).messages.get(template), payload[at + FRAMING + SBE : at + length]
            at += length
            if encoding != SBE_LITTLE_ENDIAN or schema_id != schema.id:
                continue
            met = [("", template)]
            if block is not None:
                met = [*unknown_of_block(block.name, block.fields, body[:size])]
                met += unknown_of_groups(block, body[size:])
            for what in met:
                known = found.get(what, UnknownContent(*what, 0, unit, index))
                found[what] = known._replace(times=known.times + 1)
    return list(found.values())


def _check_unknown(payloads: Sequence[bytes]) -> int:
    """How many different ones there are; what was met before is forgotten."""
    laid, inspector = Laid(payloads), PacketInspector()
    expected = unknown_in(payloads)
    for _ in range(2):
        assert inspector.unknown(laid.base, laid.offsets, laid.lengths) == expected
    return len(expected)


@given(PAYLOADS)
def test_any_bytes(payloads: list[bytes]) -> None:
    _check(payloads)
    _check_unknown(payloads)


@pytest.mark.parametrize("version", [8, 16, 17])
def test_packets_of_a_simulated_day(version: int) -> None:
    assert _check(simulated(version)) > 1_000
    assert _check_unknown(simulated(version)) == 0


def test_values_of_entries_of_groups() -> None:
    """Definitions and snapshots of the day, each many times with one byte changed: enumerations of
    attributes and orders are among them."""
    rng, changed = random.Random("groups"), []
    for payload in simulated(16):
        for _ in range(4 if {12, 71} & set(templates(payload)) else 0):
            other = bytearray(payload)
            other[rng.randrange(60, len(payload))] ^= 0x55
            changed.append(bytes(other))
    _check_unknown(changed)
    names = {each[0] for each in unknown_in(changed)}
    assert {
        "SecurityDefinition_12.noInstrAttribs.instrAttribType",
        "SnapshotFullRefresh_Orders_MBO_71.noMDEntries.mDEntryType",
    } <= names  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_damaged_packets(seed: int) -> None:
    assert _check(damaged(seed)) > 50
    assert _check_unknown(damaged(seed)) > 10


def test_notes_stop_where_their_room_ends() -> None:
    payloads = simulated(16)[:300]
    laid, expected = Laid(payloads), find_messages(payloads, CONCERN_ALL)
    wanted, seen, notes = np.zeros(MARKS, np.uint8), np.zeros(MARKS, np.uint8), np.full(4, -7, np.int64)
    wanted[list(CONCERN_ALL)] = 1
    found = find_by_kernel(
        laid.base, laid.offsets.ctypes.data, laid.lengths.ctypes.data, len(payloads), wanted.ctypes.data,
        seen.ctypes.data, notes.ctypes.data, 3,
    )  # fmt: skip
    assert found == (expected[0], 3)
    assert notes.tolist() == [*expected[1][:3], -7]
