"""Rows against the plain reader: the same rows and faults, for every message and version."""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketHeader, frame
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.port import RowFault
from pregao.model.errors import Fault, SchemaError
from pregao.model.market import Action, Side
from pregao.model.rows import NO_ACTION, NULL, Flag, Kind, place
from pregao.model.streams import Feed
from pregao.simulator.sample import sample_packets
from tests.conformance.test_specification_bytes import ONE_MESSAGE, PACKET_HEADER, SEQUENCE, TWO_MESSAGES
from tests.kits.mutations import PacketMutator, Sound
from tests.twins.b3 import UNKNOWN_TEMPLATES, VERSIONS, B3Messages, pool
from tests.twins.captures import packet
from tests.twins.foreign import foreign
from tests.twins.reading import RowComparer
from tests.twins.rows import row_of
from tests.twins.wire import MessageWriter

SCHEMA = load_builtin_schema()
ALL_VERSIONS = (*range(7, 18), 0, 3, 20, 65_535)
HEADER = PacketHeader(84, 3, 77, 1).encode()


@cache
def comparer(rows: int = 4096, faults: int = 64) -> RowComparer:
    return RowComparer(SCHEMA, rows, faults)


def one(*messages: bytes) -> bytes:
    return HEADER + b"".join(frame(message) for message in messages)


VERSION, TEMPLATE = st.sampled_from(ALL_VERSIONS), st.integers(0, 60)
MESSAGE = st.tuples(VERSION, TEMPLATE, st.integers(0, 1 << 32), st.integers(-30, 12))


@given(packets=st.lists(st.lists(MESSAGE, max_size=4), max_size=8), seed=st.integers(0, 1 << 32))
@settings(deadline=None, max_examples=120)
def test_random_packets_of_all_versions(packets: list[list[tuple[int, int, int, int]]], seed: int) -> None:
    """A message is its version, its template, what it is filled with, and how much its block is off."""
    rng = random.Random(seed)

    def message(version: int, template: int, content: int, off: int) -> bytes:
        known = sorted(SCHEMA.at(version).messages)
        chosen = (*known, *UNKNOWN_TEMPLATES)[template % (len(known) + len(UNKNOWN_TEMPLATES))]
        layout = SCHEMA.at(version).messages.get(chosen)
        length = None if layout is None or not off else max(0, layout.block_length + off)
        return MessageWriter(SCHEMA, random.Random(content)).message(chosen, version, length)

    comparer().compare([packet(SCHEMA, [message(*made) for made in taken], rng) for taken in packets])


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_every_message_of_every_version(version: int) -> None:
    """Well formed, many times over: every field has each of its edges."""
    writer = MessageWriter(SCHEMA, random.Random(version), strange=0.0)
    templates = sorted(SCHEMA.at(version).messages)
    payloads = [one(*(writer.message(template, version) for template in templates)) for _ in range(60)]
    rows, faults = comparer().compare(payloads)
    assert rows > 60 * (len(templates) - 1)
    assert faults == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_blocks_of_every_length(version: int) -> None:
    writer = MessageWriter(SCHEMA, random.Random(version), strange=1.0)
    payloads = [
        one(writer.message(template, version, length))
        for template, layout in SCHEMA.at(version).messages.items()
        for length in range(layout.block_length + 4)
    ]
    assert comparer().compare(payloads)[1] == 0


def test_versions_that_nobody_defined_read_as_the_nearest_lower_one() -> None:
    writer = MessageWriter(SCHEMA, random.Random(2), strange=0.0)
    raw = bytearray(writer.message(50, 10))
    known = comparer().reader.read_unit(one(bytes(raw))).rows.copy()
    raw[6:8] = (14).to_bytes(2, "little")
    inferred = comparer().reader.read_unit(one(bytes(raw))).rows.copy()
    assert inferred["version"] == 14
    inferred["version"] = 10
    assert inferred.tobytes() == known.tobytes()


@pytest.mark.parametrize("seed", range(6))
def test_damaged_packets(seed: int) -> None:
    rng = random.Random(f"rows {seed}")
    messages = pool(40 + seed, 400)
    sound = [
        Sound(SCHEMA, packet(SCHEMA, rng.choices(messages, k=rng.choice((1, 1, 2, 4))), rng))
        for _ in range(200)
    ]
    mutator = PacketMutator(sound, rng)
    damaged = [mutator.packet() for _ in range(1_000)]
    rows, faults = comparer().compare(damaged)
    assert rows > 500
    assert faults > 200
    assert comparer(255, 2).compare(damaged) == (rows, faults)


def test_counts_of_entries_that_are_not_there() -> None:
    writer = MessageWriter(SCHEMA, random.Random(3), strange=0.0)
    raw = writer.message(71, 16, 8)[:16]
    for length, count, rows, fault in (
        (0, 255, 0, Fault.GROUP_WITHOUT_BYTES),
        (1, 255, 0, Fault.GROUP_PAST_MESSAGE),
        (65_535, 255, 0, Fault.GROUP_PAST_MESSAGE),
        (0, 0, 0, None),
        (65_535, 0, 0, None),
        (1, 40, 40, None),
        (40, 1, 1, None),
    ):
        payload = one(raw + length.to_bytes(2, "little") + bytes([count]) + bytes(range(48, 88)))
        reading = comparer().reader.read_unit(payload)
        assert len(reading.rows) == rows
        assert [one.fault for one in reading.faults] == ([] if fault is None else [fault])
        comparer().compare([payload])


@pytest.mark.parametrize("version", [9, 16, 17])
def test_the_sample_capture(version: int) -> None:
    sent = sample_packets(version=version)
    rows, faults = comparer().compare([packet.payload for packet in sent if packet.feed is Feed.A])
    assert faults == 0
    assert rows > 4_000
    assert not any(told.lacks for told in comparer().told)
    kinds = {int(row_of(told)["kind"]) for told in comparer().told}
    of_fast = {Kind.LEVEL, Kind.SNAPSHOT_LEVEL, *(kind for kind in Kind if Kind.INDEX <= kind < Kind.STATE)}
    never = {Kind.NONE, Kind.OTHER, *of_fast}
    assert {Kind(kind) for kind in kinds} == set(Kind) - never


def test_a_reading_goes_on_where_the_one_before_had_no_room() -> None:
    rng = random.Random(4)
    messages = B3Messages(rng)
    payloads = [packet(SCHEMA, [messages.message() for _ in range(40)], rng) for _ in range(60)]
    whole = comparer().compare(payloads)
    assert comparer(255, 2).compare(payloads) == whole
    assert comparer(1000, 3).compare(payloads) == whole


def test_no_packets_at_all() -> None:
    assert comparer().compare([]) == (0, 0)


def test_faults_say_where() -> None:
    order = MessageWriter(SCHEMA, random.Random(5), strange=0.0).message(50, 16)
    good, bad = frame(order), frame(order, encoding=0x1234)
    cut = HEADER + good + bad + good + good[:5]
    comparer().compare([b"short", HEADER, cut])
    reading = comparer().reader.read_unit(cut)
    at = len(HEADER) + len(good)
    assert reading.faults == [
        RowFault(Fault.WRONG_ENCODING_TYPE, 0, at, 1),
        RowFault(Fault.FRAME_TRUNCATED, 0, at + 2 * len(good), 3),
    ]
    assert reading.rows["index"].tolist() == [0, 2]


def test_the_printed_packets() -> None:
    """6.5.5.4, 6.5.5.5 and 6.5.6.1: bodies of no published layout, and a heartbeat."""
    comparer().compare([ONE_MESSAGE, TWO_MESSAGES, PACKET_HEADER + SEQUENCE])
    rows = comparer().reader.read_unit(TWO_MESSAGES, appearance=2).rows
    assert rows["kind"].tolist() == [Kind.OTHER, Kind.OTHER]
    assert rows["other"].tolist() == [50, 53]
    assert rows["version"].tolist() == [3, 3]
    assert set(rows["at"].tolist()) == {place(2, 987_654_321)}
    assert set(rows["sequence_version"].tolist()) == {1}
    row = comparer().reader.read_unit(PACKET_HEADER + SEQUENCE).rows[0]
    assert (row["kind"], row["price"], row["version"]) == (Kind.SEQUENCE, 27_182_818, 0)
    assert row["flags"] == Flag.NO_EVENT


def test_an_order_by_hand() -> None:
    raw = bytearray(8 + 64)
    raw[:8] = (64).to_bytes(2, "little") + (50).to_bytes(2, "little") + bytes((2, 0, 10, 0))
    body = {
        0: (1234, 8), 8: (0x90, 1), 9: (1, 1), 10: (ord("1"), 1), 12: (-5 % (1 << 64), 8), 20: (700, 8),
        28: (3, 4), 32: (85, 4), 36: (111, 8), 44: ((1 << 64) - 1, 8), 52: (9, 4), 56: (222, 8),
    }  # fmt: skip
    for offset, (value, width) in body.items():
        raw[8 + offset : 8 + offset + width] = value.to_bytes(width, "little")
    row = comparer().reader.read_unit(one(bytes(raw))).rows[0]
    assert (row["kind"], row["action"], row["side"]) == (Kind.ORDER, Action.CHANGE, Side.SELL)
    flags = Flag.END_OF_EVENT | Flag.BY_POSITION | Flag.PRICE_UNTOLD
    assert row["flags"] == flags | Flag.IMPLIED
    assert [int(row[name]) for name in ("security_id", "id", "price", "size", "other")] == [
        1234, -1, -5, 700, NULL,
    ]  # fmt: skip
    assert [int(row[name]) for name in ("time_ns", "inserted_ns", "firm", "position", "rpt_seq")] == [
        222, 111, 85, 3, 9,
    ]  # fmt: skip
    raw[6] = 9  # bit 4 meant something else below version 10
    assert comparer().reader.read_unit(one(bytes(raw))).rows[0]["flags"] == flags


def test_an_order_that_says_nothing() -> None:
    raw = (0).to_bytes(2, "little") + (50).to_bytes(2, "little") + bytes((2, 0, 16, 0))
    row = comparer().reader.read_unit(one(raw)).rows[0]
    assert (row["kind"], row["action"], row["side"], row["size"]) == (Kind.ORDER, NO_ACTION, 0, NULL)
    assert row["flags"] == Flag.NO_EVENT


def test_rows_are_of_little_endian_messages_only() -> None:
    with pytest.raises(SchemaError, match="little-endian"):
        RowReader(foreign("bigEndian", False))


def test_another_schema_has_only_other_rows() -> None:
    schema, rng = foreign("littleEndian", False), random.Random(6)
    writer = MessageWriter(schema, rng, strange=0.0)
    messages = [writer.message(template, 3) for template in sorted(schema.at(3).messages)]
    RowComparer(schema).compare([packet(schema, messages, rng)])


def test_what_cannot_hold_one_message_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 255 rows"):
        RowReader(SCHEMA, rows=254)
    wrong = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="type <i8"):
        RowReader(SCHEMA).read(0, wrong, wrong, wrong, wrong)


def test_the_comparison_itself_notices_a_field_from_the_wrong_place() -> None:
    mine = RowComparer(replace(SCHEMA, semantic_version="a plan of its own, to be spoilt"))
    writer = MessageWriter(SCHEMA, random.Random(7), strange=0.0)
    payloads = [one(writer.message(50, 16)) for _ in range(50)]
    mine.compare(payloads)
    words = mine.reader._plan.copies
    words.setflags(write=True)
    words[words >> 8 > 0] -= 1 << 8
    with pytest.raises(AssertionError, match="kernel, plain"):
        mine.compare(payloads)
