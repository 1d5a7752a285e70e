"""pcapng blocks, most of them by hand."""

import struct

import pytest

from pregao.codecs.pcap import writer
from pregao.codecs.pcap.outcomes import Damage, Record
from pregao.codecs.pcap.pcapng import MAX_BLOCK, MAX_INTERFACES, Interface, timestamp_ns, units_per_second
from pregao.codecs.pcap.records import RecordReader
from pregao.model.errors import Fault

SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
INTERFACE = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)  # no options: microseconds
PACKET = struct.pack("<IIIIIII", 6, 36, 0, 0, 5, 4, 4) + b"good" + struct.pack("<I", 36)


def read(data: bytes) -> tuple[list[Record | Damage], Damage | None]:
    reader = RecordReader()
    return list(reader.records(data)), reader.finish(len(data))


def records(data: bytes) -> list[Record]:
    outcomes, ending = read(data)
    assert ending is None
    found = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    assert found == outcomes
    return found


def test_an_enhanced_packet_by_hand() -> None:
    [record] = records(SECTION + INTERFACE + PACKET)
    assert record == Record(1, 48, 5_000, 1, 48 + 28, memoryview(b"good"), 4)


def test_interfaces_with_resolutions_of_their_own() -> None:
    data = (
        SECTION
        + writer.pcapng_interface(tsresol=None)
        + writer.pcapng_interface(tsresol=9, linktype=113)
        + writer.pcapng_interface(tsresol=3, linktype=101, tsoffset_s=-2)
        + writer.pcapng_interface(tsresol=0x80 | 10, linktype=276, tsoffset_s=100)
        + b"".join(writer.pcapng_packet(5_000_001, b"", interface=n) for n in (3, 2, 1, 0))
    )
    assert [(record.ts_ns, record.linktype) for record in records(data)] == [
        (5_000_001 * 10**9 // 1024 + 100 * 10**9, 276),
        (5_000_001 * 10**6 - 2 * 10**9, 101),
        (5_000_001, 113),
        (5_000_001_000, 1),
    ]


@pytest.mark.parametrize(
    ("tsresol", "units"),
    [(0, 1), (6, 10**6), (9, 10**9), (127, 10**127), (0x80, 1), (0x80 | 20, 2**20), (0xFF, 2**127)],
)
def test_resolutions(tsresol: int, units: int) -> None:
    assert units_per_second(tsresol) == units


@pytest.mark.parametrize(
    ("units", "tsresol", "offset_s", "ts_ns"),
    [
        (1_700_000_000_123_456_789, 9, 0, 1_700_000_000_123_456_789),
        (1_700_000_000_123_456_789_9, 10, 0, 1_700_000_000_123_456_789),  # rounded down
        ((1_700_000_000 << 32) + (1 << 31), 0x80 | 32, 0, 1_700_000_000_500_000_000),
        (2**64 - 1, 127, 0, 0),
        (2**64 - 1, 0, 0, 2**63 - 1),  # held within int64
        (0, 9, -(2**63), -(2**63)),
    ],
)
def test_times_are_exact(units: int, tsresol: int, offset_s: int, ts_ns: int) -> None:
    assert timestamp_ns(units, Interface(1, 0, units_per_second(tsresol), offset_s)) == ts_ns


def test_a_simple_packet_has_no_time_and_the_length_of_the_snap_length() -> None:
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 5, 20)
    simple = struct.pack("<III", 3, 24, 9) + b"abcde\0\0\0" + struct.pack("<I", 24)
    [record] = records(SECTION + interface + simple)
    assert record == Record(1, 48, 0, 1, 60, memoryview(b"abcde"), 9)


def test_a_simple_packet_without_snap_length_is_whole() -> None:
    simple = struct.pack("<III", 3, 20, 3) + b"abc\0" + struct.pack("<I", 20)
    [record] = records(SECTION + INTERFACE + simple)
    assert (bytes(record.data), record.original_length) == (b"abc", 3)


def test_the_obsolete_packet_block() -> None:
    block = struct.pack("<IIHHIIII", 2, 36, 0, 77, 1, 0, 3, 3) + b"abc\0" + struct.pack("<I", 36)
    [record] = records(SECTION + INTERFACE + block)
    assert record == Record(1, 48, (1 << 32) * 1000, 1, 76, memoryview(b"abc"), 3)


def test_a_section_in_another_byte_order_begins_its_own_interfaces() -> None:
    data = (
        SECTION + INTERFACE + INTERFACE + PACKET
        + writer.pcapng_section_header(big_endian=True)
        + writer.pcapng_interface(tsresol=9, linktype=101, big_endian=True)
        + writer.pcapng_packet(9, b"big", big_endian=True)
        + writer.pcapng_packet(9, b"no such interface", interface=1, big_endian=True)
    )  # fmt: skip
    outcomes, ending = read(data)
    assert ending is None
    assert [type(outcome) for outcome in outcomes] == [Record, Record, Damage]
    assert isinstance(outcomes[1], Record)
    assert (outcomes[1].ts_ns, outcomes[1].linktype, bytes(outcomes[1].data)) == (9, 101, b"big")


def test_unknown_blocks_are_stepped_over() -> None:
    unknown = writer.pcapng_block(0x0BAD, b"who knows")
    outcomes = records(SECTION + unknown + INTERFACE + unknown + PACKET + unknown)
    assert [outcome.number for outcome in outcomes] == [1]


@pytest.mark.parametrize(
    "body",
    [
        struct.pack("<IIII", 0, 0, 0, 0),  # shorter than its fields
        struct.pack("<IIIII", 1, 0, 0, 0, 0),  # no such interface
        struct.pack("<IIIII", 0, 0, 0, 5, 5) + b"abcd",  # captured past the block
        struct.pack("<IIIII", 0, 0, 0, 0xFFFFFFFF, 5),
    ],
)
@pytest.mark.parametrize("kind", [2, 6])
def test_a_malformed_packet_is_one_damaged_packet(kind: int, body: bytes) -> None:
    outcomes, ending = read(SECTION + INTERFACE + writer.pcapng_block(kind, body) + PACKET)
    assert outcomes[0] == Damage(Fault.RECORD_MALFORMED, 48, 1)
    assert isinstance(outcomes[1], Record)
    assert outcomes[1].number == 2
    assert ending is None


@pytest.mark.parametrize("body", [b"", struct.pack("<I", 5) + b"abcd"])
def test_a_malformed_simple_packet(body: bytes) -> None:
    outcomes, ending = read(SECTION + INTERFACE + writer.pcapng_block(3, body))
    assert (outcomes, ending) == ([Damage(Fault.RECORD_MALFORMED, 48, 1)], None)


def test_a_simple_packet_needs_an_interface() -> None:
    outcomes, _ = read(SECTION + writer.pcapng_block(3, struct.pack("<I", 0)))
    assert outcomes == [Damage(Fault.RECORD_MALFORMED, 28, 1)]


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        (struct.pack("<III", 9, 8, 8), Fault.RECORD_MALFORMED),  # shorter than a block
        (struct.pack("<III", 9, 0, 0), Fault.RECORD_MALFORMED),
        (struct.pack("<III", 9, 14, 14) + b"ab", Fault.RECORD_MALFORMED),  # no multiple of four
        (struct.pack("<IIII", 9, 16, 0, 12), Fault.RECORD_MALFORMED),  # the two lengths differ
        (struct.pack("<III", 9, MAX_BLOCK + 4, 0), Fault.RECORD_TOO_LONG),
        (struct.pack("<IIII", 0x0A0D0D0A, 28, 0, 28), Fault.RECORD_MALFORMED),  # no byte order
        (struct.pack(">II", 0x0A0D0D0A, 28) + struct.pack("<I", 0x1A2B3C4D), Fault.RECORD_TOO_LONG),
        (struct.pack("<IIII", 0x0A0D0D0A, 16, 0x1A2B3C4D, 16), Fault.RECORD_MALFORMED),  # short section
        (struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 2, 0, -1, 28), Fault.RECORD_MALFORMED),
        (struct.pack("<IIII", 1, 16, 1, 16), Fault.RECORD_MALFORMED),  # short interface
        (writer.pcapng_block(1, struct.pack("<HHIHH", 1, 0, 0, 2, 5)), Fault.RECORD_MALFORMED),  # option
        (writer.pcapng_block(1, struct.pack("<HHIHHI", 1, 0, 0, 9, 4, 9)), Fault.RECORD_MALFORMED),
        (writer.pcapng_block(1, struct.pack("<HHIHHI", 1, 0, 0, 14, 4, 9)), Fault.RECORD_MALFORMED),
    ],
)
def test_a_malformed_structure_ends_the_file(block: bytes, fault: Fault) -> None:
    outcomes, ending = read(SECTION + INTERFACE + PACKET + block + PACKET)
    assert len(outcomes) == 1
    assert ending == Damage(fault, 84, 2, left=len(block + PACKET))


def test_options_are_walked_with_their_padding() -> None:
    options = struct.pack("<HH", 2, 5) + b"eth0\0\0\0\0" + struct.pack("<HHB3x", 9, 1, 0)
    interface = writer.pcapng_block(1, struct.pack("<HHI", 1, 0, 0) + options)
    [record] = records(SECTION + interface + PACKET)
    assert record.ts_ns == 5 * 10**9


def test_options_behind_the_end_mark_are_not_options() -> None:
    options = struct.pack("<HH", 0, 0) + struct.pack("<HHB3x", 9, 1, 0)
    interface = writer.pcapng_block(1, struct.pack("<HHI", 1, 0, 0) + options)
    [record] = records(SECTION + interface + PACKET)
    assert record.ts_ns == 5_000


def test_the_number_of_interfaces_is_bounded() -> None:
    outcomes, ending = read(SECTION + INTERFACE * (MAX_INTERFACES + 1))
    assert outcomes == []
    assert ending == Damage(Fault.RECORD_MALFORMED, 28 + 20 * MAX_INTERFACES, 1, left=20)
