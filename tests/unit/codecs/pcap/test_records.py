"""Classic pcap, and the laws of the reader that hold for both formats."""

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.pcap import writer
from pregao.codecs.pcap.formats import MAX_RECORD, PcapHeader
from pregao.codecs.pcap.outcomes import Damage, Record
from pregao.codecs.pcap.records import RecordReader
from pregao.model.errors import Fault

HEADER_NS = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")
FRAMES = [b"first", b"", b"third frame"]
PCAP = HEADER_NS + b"".join(writer.pcap_record(1_000_000_007 * n, frame) for n, frame in enumerate(FRAMES))
PCAPNG = (
    writer.pcapng_section_header()
    + writer.pcapng_interface(tsresol=9)
    + b"".join(writer.pcapng_packet(n, frame) for n, frame in enumerate(FRAMES))
    + writer.pcapng_section_header(big_endian=True)
    + writer.pcapng_interface(tsresol=6, big_endian=True)
    + writer.pcapng_packet(7, b"other order", big_endian=True)
)

Outcomes = tuple[list[Record | Damage], Damage | None]


def read(data: bytes, cuts: Sequence[int] = ()) -> Outcomes:
    """All outcomes of a capture whose bytes arrive up to each cut, then up to the end."""
    reader = RecordReader()
    outcomes: list[Record | Damage] = []
    for end in [*sorted(cuts), len(data)]:
        outcomes += reader.records(data[reader.position : max(end, reader.position)])
    return outcomes, reader.finish(len(data))


def frames(outcomes: list[Record | Damage]) -> list[bytes]:
    return [bytes(outcome.data) for outcome in outcomes if isinstance(outcome, Record)]


def test_a_record_by_hand() -> None:
    record = bytes.fromhex("01000000 02000000 03000000 09000000") + b"abc"
    [outcome], ending = read(HEADER_NS + record)
    assert outcome == Record(1, 24, 1_000_000_002, 1, 40, memoryview(b"abc"), 9)
    assert isinstance(outcome, Record)
    assert (outcome.captured_length, outcome.is_cut) == (3, True)
    assert ending is None


def test_big_endian_microseconds_by_hand() -> None:
    header = bytes.fromhex("a1b2c3d4 0002 0004 00000000 00000000 0000ffff 00000071")
    record = bytes.fromhex("00000001 000f423f 00000002 00000002") + b"xy"
    [outcome], ending = read(header + record)
    assert outcome == Record(1, 24, 1_999_999_000, 113, 40, memoryview(b"xy"), 2)
    assert ending is None


def test_a_fraction_of_more_than_a_second_is_added_as_it_stands() -> None:
    [outcome], _ = read(HEADER_NS + struct.pack("<IIII", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0))
    assert isinstance(outcome, Record)
    assert outcome.ts_ns == 0xFFFFFFFF * 10**9 + 0xFFFFFFFF


def test_numbers_and_offsets_run_over_the_whole_file() -> None:
    outcomes, _ = read(PCAP, cuts=range(24, len(PCAP), 7))
    records = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    assert [record.number for record in records] == [1, 2, 3]
    assert [record.offset for record in records] == [24, 45, 61]
    assert all(PCAP[r.data_offset : r.data_offset + r.captured_length] == r.data for r in records)


def test_the_header_is_there_for_who_asks() -> None:
    reader = RecordReader()
    assert reader.header is None
    list(reader.records(PCAP))
    assert reader.header == PcapHeader(False, 1, 0x40000, 1)
    assert reader.packets == 3


@pytest.mark.parametrize("capture", [PCAP, PCAPNG], ids=["pcap", "pcapng"])
def test_a_file_cut_anywhere_gives_its_whole_packets_and_what_is_left(capture: bytes) -> None:
    whole, ending = read(capture)
    assert ending is None
    ends = sorted(_ends_of_steps(capture))
    for length in range(4, len(capture)):
        outcomes, ending = read(capture[:length])
        last = max([end for end in ends if end <= length], default=0)
        within = [r for r in whole if isinstance(r, Record) and r.data_offset + r.captured_length <= last]
        assert outcomes == within
        if last == length:
            assert ending is None
        else:
            assert ending == Damage(Fault.RECORD_TRUNCATED, last, len(within) + 1, left=length - last)


def _ends_of_steps(capture: bytes) -> set[int]:
    """Where the file could end without damage: found by feeding it byte by byte."""
    reader = RecordReader()
    ends = set()
    for end in range(1, len(capture) + 1):
        list(reader.records(capture[reader.position : end]))
        ends.add(reader.position)
    return ends - {0}


@pytest.mark.parametrize("capture", [PCAP, PCAPNG], ids=["pcap", "pcapng"])
@given(data=st.data())
def test_windows_do_not_matter(capture: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(capture))))
    assert read(capture, cuts) == read(capture)


@given(st.sampled_from([PCAP, PCAPNG]), st.data())
def test_damaged_captures_give_records_or_faults(capture: bytes, data: st.DataObject) -> None:
    damaged = bytearray(capture)
    for at in data.draw(st.lists(st.integers(0, len(capture) - 1), max_size=8)):
        damaged[at] = data.draw(st.integers(0, 255))
    damaged += data.draw(st.binary(max_size=64))
    outcomes, ending = read(bytes(damaged))
    for outcome in outcomes:
        assert damaged[outcome.offset :]
        if isinstance(outcome, Record):
            end = outcome.data_offset + outcome.captured_length
            assert outcome.offset < outcome.data_offset <= end <= len(damaged)
            assert -(2**63) <= outcome.ts_ns < 2**63
    if ending is not None:
        assert ending.offset + ending.left == len(damaged)
    assert read(bytes(damaged), data.draw(st.lists(st.integers(0, len(damaged))))) == (outcomes, ending)


@given(st.sampled_from([b"", HEADER_NS, PCAP[:24], PCAPNG[:28], PCAPNG[:56]]), st.binary(max_size=300))
def test_any_bytes_end(head: bytes, tail: bytes) -> None:
    outcomes, ending = read(head + tail)
    assert len(outcomes) <= len(tail) // 12
    assert ending is None or ending.offset + ending.left == len(head + tail)


@pytest.mark.parametrize("data", [b"", b"\xd4", b"\xd4\xc3\xb2", b"hello, this is no capture"])
def test_not_a_capture(data: bytes) -> None:
    assert read(data) == ([], Damage(Fault.NOT_A_CAPTURE, 0, 1, left=len(data)))


def test_the_longest_record_is_read_and_a_longer_one_ends_the_file() -> None:
    longest = writer.pcap_record(0, bytes(MAX_RECORD))
    lying = struct.pack("<IIII", 0, 0, MAX_RECORD + 1, MAX_RECORD + 1)
    data = HEADER_NS + longest + lying + writer.pcap_record(0, b"never seen")
    outcomes, ending = read(data, cuts=[100, len(HEADER_NS + longest) + 20])
    offset = len(HEADER_NS + longest)
    assert frames(outcomes) == [bytes(MAX_RECORD)]
    assert ending == Damage(Fault.RECORD_TOO_LONG, offset, 2, left=len(data) - offset)


def test_after_a_stop_windows_are_swallowed() -> None:
    reader = RecordReader()
    assert list(reader.records(b"no capture at all")) == []
    assert reader.stopped
    assert reader.position == 17
    assert list(reader.records(b"more of it")) == []
    assert reader.finish(27) == Damage(Fault.NOT_A_CAPTURE, 0, 1, left=27)


def test_a_reader_may_be_left_in_mid_window() -> None:
    reader = RecordReader()
    first = next(iter(reader.records(PCAP)))
    rest = list(reader.records(PCAP[reader.position :]))
    assert frames([first, *rest]) == FRAMES


def test_records_are_views_that_cannot_be_written() -> None:
    [outcome, *_], _ = read(PCAP)
    assert isinstance(outcome, Record)
    assert outcome.data.readonly
