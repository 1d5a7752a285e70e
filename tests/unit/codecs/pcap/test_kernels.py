"""Runs by the kernel, with the plain chain for what is unusual, against the plain chain alone."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.kernels import ENDED_FULL, ENDED_UNUSUAL, RunAddresses, swap16, swap32, take_run
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.pcap.runs import CaptureRuns
from pregao.codecs.pcap.writer import (
    pcap_header,
    pcap_record,
    pcapng_interface,
    pcapng_packet,
    pcapng_section_header,
)
from tests.twins.captures import LINKTYPES, FrameMaker, mixed_pcap, mixed_pcapng, pcap, udp_frame
from tests.twins.windows import GuardedMemory

ROOM = 7  # packets a run: few, so that runs end often
MIXED = {"pcap": mixed_pcap, "pcapng": mixed_pcapng}


@dataclass(slots=True)
class Taken:
    """What came out of a capture, in order; `runs` counts what the kernel itself took."""

    datagrams: list[tuple[int, int, int, int, bytes]] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    skipped: Counter[Skip] = field(default_factory=Counter)
    runs: int = 0

    def add(self, outcome: Datagram | Skip | Damage) -> None:
        if isinstance(outcome, Skip):
            self.skipped[outcome] += 1
        elif isinstance(outcome, Damage):
            self.damage.append(outcome)
        else:
            flow = outcome.dst << 16 | outcome.dst_port
            offset = -1 if outcome.payload_offset is None else outcome.payload_offset
            self.datagrams.append((outcome.number, outcome.ts_ns, flow, offset, bytes(outcome.payload)))


def by_plain_chain(capture: bytes) -> Taken:
    taken, reader = Taken(), DatagramReader()
    for outcome in reader.outcomes(capture):
        taken.add(outcome)
    for damage in reader.finish(len(capture)):
        taken.add(damage)
    return taken


class _Arrays:
    """Where a run is written, and its addresses."""

    def __init__(self) -> None:
        self.ts, self.offset, self.flow, self.number = (np.zeros(ROOM, np.int64) for _ in range(4))
        self.length = np.zeros(ROOM, np.uint32)
        self.skipped = np.zeros(256, np.int64)
        arrays = (self.ts, self.offset, self.length, self.flow, self.number)
        self.run = RunAddresses(*(array.ctypes.data for array in arrays))

    def datagrams(self, count: int, view: memoryview) -> Iterator[tuple[int, int, int, int, bytes]]:
        for row in range(count):
            at, length = int(self.offset[row]), int(self.length[row])
            found = (int(self.number[row]), int(self.ts[row]), int(self.flow[row]), at)
            yield *found, bytes(view[at : at + length])


def by_kernel(capture: bytes, most_bytes: int = 1 << 16) -> Taken:
    taken, runs, arrays = Taken(), CaptureRuns(), _Arrays()
    view = GuardedMemory(len(capture) + 1).hold(capture)
    base = np.frombuffer(view, np.uint8).ctypes.data if capture else 0
    while True:
        why = ENDED_UNUSUAL
        if runs.begin(view):
            start, first = runs.position, runs.next_number
            position, count, number, size, why = take_run(
                base, start, len(capture), runs.shape, first, arrays.run, 0, ROOM, most_bytes,
                arrays.skipped.ctypes.data,
            )  # fmt: skip
            found = list(arrays.datagrams(count, view))
            assert size == sum(len(datagram[-1]) for datagram in found)
            taken.datagrams += found
            taken.runs += number - first
            runs.took(position - start, number - first)
        if why == ENDED_FULL:
            continue
        outcomes = runs.step(view, 0)
        if outcomes is None:
            break
        for outcome in outcomes:
            taken.add(outcome)
    for damage in runs.reader.finish(len(capture)):
        taken.add(damage)
    taken.skipped.update({Skip(code): int(arrays.skipped[code]) for code in Skip if arrays.skipped[code]})
    return taken


def same(capture: bytes) -> Taken:
    taken, plain = by_kernel(capture), by_plain_chain(capture)
    assert taken.datagrams == plain.datagrams
    assert taken.damage == plain.damage
    assert taken.skipped == plain.skipped
    return taken


def payloads(rng: random.Random, count: int) -> list[bytes]:
    return [rng.randbytes(rng.choice((0, 1, 16, 100, 1_400))) for _ in range(count)]


@pytest.mark.parametrize("form", MIXED)
@pytest.mark.parametrize("seed", range(40))
def test_mixed_captures(form: str, seed: int) -> None:
    rng = random.Random(f"{form} {seed}")
    capture = MIXED[form](payloads(rng, 60), rng)
    same(capture)
    same(capture[: rng.randrange(len(capture))])


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("linktype", LINKTYPES)
def test_every_link_type_unit_and_byte_order(linktype: int, nanoseconds: bool, big_endian: bool) -> None:
    rng = random.Random(linktype)
    maker, parts = (
        FrameMaker(rng),
        [pcap_header(nanoseconds=nanoseconds, big_endian=big_endian, linktype=linktype)],
    )
    for number, payload in enumerate(payloads(rng, 80)):
        for made in maker.frames(payload, linktype):
            ts_ns = 1_700_000_000_999_999_999 + number * 777
            parts.append(pcap_record(ts_ns, made, nanoseconds=nanoseconds, big_endian=big_endian))
    taken = same(b"".join(parts))
    assert len(taken.datagrams) > 40 or linktype == 147


def test_ordinary_packets_are_all_taken_by_the_kernel() -> None:
    taken = same(pcap(payloads(random.Random(1), 100)))
    assert taken.runs == 100
    assert (
        by_kernel(pcap([bytes(100)] * 10), most_bytes=150).datagrams
        == same(pcap([bytes(100)] * 10)).datagrams
    )


@pytest.mark.parametrize("big_endian", [False, True])
def test_pcapng_interfaces_have_units_and_offsets_of_their_own(big_endian: bool) -> None:
    resolutions = [9, 6, 3, 0, None, 12, 0x80 | 20]
    parts = [pcapng_section_header(big_endian=big_endian)]
    for number, resolution in enumerate(resolutions):
        offset = None if number % 2 else number * 1_000
        parts.append(pcapng_interface(tsresol=resolution, tsoffset_s=offset, big_endian=big_endian))
    for number in range(50):
        interface = number % len(resolutions)
        units = 1_600_000_000 * 10 ** (resolutions[interface] or 6) if interface < 5 else 1 << 40
        parts.append(
            pcapng_packet(units + number, udp_frame(b"x"), interface=interface, big_endian=big_endian)
        )
    assert same(b"".join(parts)).runs > 20


@pytest.mark.parametrize("offset_s", [0, 1, -1, (1 << 32) - 1, 1 << 32, -(1 << 32), (1 << 32) + 1, 1 << 60])
@pytest.mark.parametrize("units", [0, 1, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_times_past_int64_are_held_there_by_both(units: int, offset_s: int) -> None:
    for resolution in (9, 6, 0):
        head = pcapng_section_header() + pcapng_interface(tsresol=resolution, tsoffset_s=offset_s)
        same(head + pcapng_packet(units, udp_frame(b"payload")))


def test_a_new_section_forgets_the_interfaces_of_the_one_before() -> None:
    frame = udp_frame(b"payload")
    first = pcapng_section_header() + pcapng_interface(tsresol=9) + pcapng_packet(5, frame)
    second = pcapng_section_header(big_endian=True) + pcapng_packet(5, frame, big_endian=True)
    third = pcapng_section_header() + pcapng_interface(tsresol=6) + pcapng_packet(5, frame)
    taken = same(first + second + third)
    assert [ts for _, ts, *_ in taken.datagrams] == [5, 5_000]
    assert len(taken.damage) == 1


@pytest.mark.parametrize("place", range(42))
@pytest.mark.parametrize("value", [0x00, 0x01, 0x46, 0x7F, 0x80, 0xFF])
def test_every_header_byte_changed(place: int, value: int) -> None:
    frame = bytearray(udp_frame(bytes(40)))
    frame[place] = value
    same(pcap_header() + pcap_record(1, bytes(frame)) + pcap_record(2, udp_frame(b"next")))


def test_numbers_are_turned_round() -> None:
    assert swap16(0x1234) == 0x3412
    assert swap32(0x12345678) == 0x78563412
    assert swap32(0xFFFFFF00) == 0x00FFFFFF
