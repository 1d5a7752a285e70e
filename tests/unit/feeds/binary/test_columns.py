"""Columns against the one-message decoder: the same messages, values, nulls and faults."""

import gzip
import io
import random
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.sbe import SbeMessageDecoder, SbeMessageEncoder, load_builtin_schema
from pregao.codecs.sbe.kernel_tables import ENTRY_OFFSET
from pregao.feeds.binary.columns import BinaryColumnDecoder
from pregao.io.captures import CaptureSource
from pregao.model.errors import CaptureError, EncodeError
from tests.kits.sbe_schemas import HEADER, load
from tests.twins.b3 import UNKNOWN_TEMPLATES, VERSIONS, B3Messages, pool
from tests.twins.captures import mixed_pcap, mixed_pcapng, packet, pcap
from tests.twins.compare import Comparer, same_sight
from tests.twins.foreign import ForeignMessages, foreign
from tests.twins.plain import PlainPath
from tests.twins.windows import cut
from tests.twins.wire import MessageWriter

FORMS: dict[str, Callable[[list[bytes], random.Random], bytes]] = {
    "ordinary": lambda payloads, _: pcap(payloads),
    "pcap": mixed_pcap,
    "pcapng": mixed_pcapng,
}
FOREIGN = [(order, wide) for order in ("littleEndian", "bigEndian") for wide in (False, True)]


@cache
def b3_comparer(rows: int = 1 << 16) -> Comparer:
    return Comparer(load_builtin_schema(), rows)


@cache
def foreign_comparer(order: str, wide_header: bool) -> Comparer:
    return Comparer(foreign(order, wide_header))


def b3_payloads(rng: random.Random, packets: int) -> list[bytes]:
    messages = B3Messages(rng)
    return [
        packet(messages.schema, [messages.message() for _ in range(rng.randint(0, 5))], rng)
        for _ in range(packets)
    ]


VERSION, TEMPLATE = st.sampled_from(VERSIONS), st.integers(0, 60)
MESSAGE = st.tuples(VERSION, TEMPLATE, st.integers(0, 1 << 32), st.integers(-30, 12))


@given(
    packets=st.lists(st.lists(MESSAGE, max_size=4), max_size=8),
    form=st.sampled_from(sorted(FORMS)),
    seed=st.integers(0, 1 << 32),
)
@settings(deadline=None, max_examples=150)
def test_random_packets_of_all_versions_in_one_file(
    packets: list[list[tuple[int, int, int, int]]], form: str, seed: int
) -> None:
    """A message is its version, its template, what it is filled with, and how much its block is off."""
    schema, rng = load_builtin_schema(), random.Random(seed)

    def message(version: int, template: int, content: int, off: int) -> bytes:
        known = sorted(schema.at(version).messages)
        chosen = (*known, *UNKNOWN_TEMPLATES)[template % (len(known) + len(UNKNOWN_TEMPLATES))]
        layout = schema.at(version).messages.get(chosen)
        length = None if layout is None or not off else max(0, layout.block_length + off)
        return MessageWriter(schema, random.Random(content)).message(chosen, version, length)

    payloads = [packet(schema, [message(*made) for made in messages], rng) for messages in packets]
    b3_comparer().compare(FORMS[form](payloads, rng), seed if seed % 2 else None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_random_captures(form: str, seed: int) -> None:
    rng = random.Random(f"{form} {seed}")
    capture = FORMS[form](b3_payloads(rng, 150), rng)
    compared, sight = b3_comparer().compare(capture)
    assert compared > 1_000
    assert len({message.place.version for message in sight.messages}) > 5
    assert b3_comparer().compare(capture, seed)[1] == sight


@pytest.mark.parametrize("version", VERSIONS)
def test_blocks_of_every_length(version: int) -> None:
    """From nothing to more than the version knows, for each message; entries of groups alike."""
    schema, rng = load_builtin_schema(), random.Random(version)
    writer = MessageWriter(schema, rng, strange=1.0)
    messages = [
        writer.message(template, version, length)
        for template, layout in schema.at(version).messages.items()
        for length in range(layout.block_length + 4)
    ]
    rng.shuffle(messages)
    payloads = [packet(schema, messages[at : at + 3], rng) for at in range(0, len(messages), 3)]
    _, sight = b3_comparer().compare(pcap(payloads))
    assert len(sight.messages) == len(messages)


def test_messages_that_our_encoder_wrote() -> None:
    """What is decoded is encoded again: the encoder's bytes and the oracle's, both ways."""
    schema, rng = load_builtin_schema(), random.Random(3)
    decoder, again = SbeMessageDecoder(schema), []
    for version in VERSIONS:
        writer, encoder = MessageWriter(schema, rng, strange=0.0), SbeMessageEncoder(schema, version)
        for template in schema.at(version).messages:
            message = decoder.decode(writer.message(template, version))
            fields = {name: value for name, value in (message.fields or {}).items() if value is not None}
            with suppress(EncodeError):  # a field that cannot be null was sent as the null of its type
                again.append(encoder.encode(template, fields))
    _, sight = b3_comparer().compare(pcap([packet(schema, [m], rng) for m in again]))
    assert len(sight.messages) == len(again) > 50


@pytest.mark.parametrize(("order", "wide_header"), FOREIGN)
@pytest.mark.parametrize("strange", [0.0, 0.2, 1.0])
def test_a_foreign_schema(order: str, wide_header: bool, strange: float) -> None:
    schema, rng = foreign(order, wide_header), random.Random(f"{order} {wide_header} {strange}")
    messages = ForeignMessages(schema, rng, strange)
    payloads = [
        packet(schema, [messages.message() for _ in range(rng.randrange(5))], rng) for _ in range(300)
    ]
    compared, sight = foreign_comparer(order, wide_header).compare(pcap(payloads), 7)
    assert compared > 20_000
    assert {message.name for message in sight.messages} >= {"Everything", "Odd", "Grown", "Young", None}


@given(seed=st.integers(0, 1 << 48), which=st.sampled_from(FOREIGN))
@settings(deadline=None, max_examples=60)
def test_random_packets_of_a_foreign_schema(seed: int, which: tuple[str, bool]) -> None:
    schema, rng = foreign(*which), random.Random(seed)
    messages = ForeignMessages(schema, rng)
    payloads = [packet(schema, [messages.message() for _ in range(rng.randrange(4))], rng) for _ in range(8)]
    foreign_comparer(*which).compare(pcap(payloads), seed if seed % 2 else None)


def test_ids_wider_than_any_message_has_are_unknown() -> None:
    wide = HEADER.replace('"templateId" primitiveType="uint16"', '"templateId" primitiveType="uint32"')
    last = '<sbe:message name="Last" id="65535"><field name="a" id="1" type="uint8"/></sbe:message>'
    schema, rng = load(messages=last, header=wide), random.Random(14)
    writer = MessageWriter(schema, rng, strange=0.0)
    messages = [writer.message(template, 5) for template in (65_535, 65_536, 70_000, (1 << 32) - 1)]
    _, sight = Comparer(schema).compare(pcap([packet(schema, messages, rng)]))
    assert [message.name for message in sight.messages] == ["Last", None, None, None]


def test_a_large_random_capture() -> None:
    schema, rng = load_builtin_schema(), random.Random(11)
    messages, payloads, count = pool(11, 4_000), [], 0
    while count < 50_000:
        taken = rng.choices(messages, k=rng.choice((1, 1, 1, 2, 3)))
        count += len(taken)
        payloads.append(packet(schema, taken, rng))
    compared, sight = b3_comparer().compare(pcap(payloads))
    assert len(sight.messages) > 45_000
    assert compared > 1_000_000


def test_small_batches_change_nothing() -> None:
    rng = random.Random(5)
    capture = mixed_pcap(b3_payloads(rng, 60), rng)
    _, sight = b3_comparer().compare(capture)
    small = b3_comparer(rows=8)
    assert small.compare(capture, 1)[1] == sight
    assert b3_comparer(rows=64).compare(capture)[1] == sight


def test_record_batches_outlive_their_batch() -> None:
    """The next batch overwrites the columns, not what Arrow was given of them."""
    rng = random.Random(12)
    messages = pool(12, 300)
    capture = pcap([packet(load_builtin_schema(), rng.choices(messages, k=9), rng) for _ in range(600)])
    kept, then = [], []
    for batch in BinaryColumnDecoder(load_builtin_schema(), rows=100).batches(cut(capture)):
        records = batch.to_arrow()
        kept.append(records)
        then.append({name: record.to_pylist() for name, record in records.items()})
    assert len(kept) > 2
    assert [{name: record.to_pylist() for name, record in records.items()} for records in kept] == then


def test_record_batches_of_a_foreign_schema_outlive_their_batch() -> None:
    schema, rng = foreign("littleEndian", False), random.Random(13)
    messages, decoder = ForeignMessages(schema, rng, strange=0.0), BinaryColumnDecoder(schema)
    captures = [pcap([packet(schema, [messages.message()], rng) for _ in range(200)]) for _ in range(2)]
    kept = [batch.to_arrow() for capture in captures for batch in decoder.batches(cut(capture))]
    fresh = [b.to_arrow() for capture in captures for b in BinaryColumnDecoder(schema).batches(cut(capture))]
    for records, again in zip(kept, fresh, strict=True):
        assert records.keys() == again.keys()
        for name, record in records.items():
            assert repr(record.to_pylist()) == repr(again[name].to_pylist())


def test_batches_end_when_their_rows_are_full() -> None:
    rng = random.Random(6)
    capture = pcap([packet(load_builtin_schema(), rng.choices(pool(6, 50), k=9), rng) for _ in range(3_000)])
    batches = list(BinaryColumnDecoder(load_builtin_schema(), rows=100).batches(cut(capture)))
    assert len(batches) > 2
    assert sum(batch.records for batch in batches) == 3_000


def test_what_was_read_before_damaged_compression_is_given_first() -> None:
    rng = random.Random(8)
    packed = gzip.compress(pcap(b3_payloads(rng, 50)), mtime=0)[:-600]

    def source() -> CaptureSource:
        return CaptureSource(Path("x.gz"), io.BytesIO(packed), len(packed), "gzip")

    batches = BinaryColumnDecoder(load_builtin_schema(), rows=100).batches(source().windows())
    assert next(batches).messages > 10
    with pytest.raises(CaptureError, match="ends too early"):
        next(batches)
    b3_comparer().compare_windows(lambda: source().windows(), lambda: source().windows())


def test_two_decodings_of_one_decoder_do_not_see_each_other() -> None:
    rng = random.Random(9)
    first, second = pcap(b3_payloads(rng, 20)), pcap(b3_payloads(rng, 30))
    comparer = b3_comparer()
    alone = comparer.compare(second)[1]
    comparer.compare(first)
    assert same_sight(alone, PlainPath(load_builtin_schema()).see(cut(second))) > 0
    assert comparer.compare(second)[1] == alone


def test_the_comparison_itself_notices_a_field_read_from_the_wrong_place() -> None:
    comparer, rng = Comparer(load_builtin_schema()), random.Random(10)
    capture = pcap(b3_payloads(rng, 100))
    comparer.compare(capture)
    entries = comparer.columns.decoder.plan.entries
    entries[len(entries) // 2, ENTRY_OFFSET // 8] += 1
    with pytest.raises(AssertionError, match="plain"):
        comparer.compare(capture)
