"""Every fault has its name, its place, and is the same in both decoders."""

import random
from collections.abc import Callable
from functools import cache

import pytest

from pregao.codecs.pcap.writer import (
    ethernet_frame,
    ipv4_packet,
    pcap_header,
    pcap_record,
    pcapng_interface,
    pcapng_packet,
    pcapng_section_header,
    udp_datagram,
)
from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketHeader, frame
from pregao.model.errors import Fault
from tests.twins.captures import GROUP, SOURCE, pcap, udp_frame
from tests.twins.compare import Comparer
from tests.twins.foreign import foreign
from tests.twins.wire import MessageWriter

HEADER = PacketHeader(1, 1, 1, 1).encode()
BODY_AT = 24 + 16 + 42 + 16  # of the first message's framing in an ordinary capture


@cache
def comparer() -> Comparer:
    return Comparer(load_builtin_schema())


def message(name: str, version: int = 16) -> bytearray:
    schema = load_builtin_schema()
    template = schema.at(version).by_name[name].id
    return bytearray(frame(MessageWriter(schema, random.Random(1), strange=0.0).message(template, version)))


def changed(name: str, at: int, value: int, width: int = 2) -> bytes:
    made = message(name)
    made[at : at + width] = value.to_bytes(width, "little")
    return bytes(made)


def snapshot(entries: bytes, block_length: int, count: int) -> bytes:
    """SnapshotFullRefresh_Orders_MBO_71: a root block, then one group."""
    layout = load_builtin_schema().at(16).by_name["SnapshotFullRefresh_Orders_MBO_71"]
    root = layout.block_length
    header = b"".join(n.to_bytes(2, "little") for n in (root, layout.id, load_builtin_schema().id, 16))
    dimension = block_length.to_bytes(2, "little") + count.to_bytes(1, "little")
    return frame(header + bytes(root) + dimension + entries)


def without_group() -> bytes:
    whole = snapshot(b"", 0, 0)
    return frame(whole[4:-2])


def news(after: bytes) -> bytes:
    """News_5 with something else where its data begin."""
    layout = load_builtin_schema().at(16).by_name["News_5"]
    numbers = (layout.block_length, layout.id, load_builtin_schema().id, 16)
    return frame(b"".join(n.to_bytes(2, "little") for n in numbers) + bytes(layout.block_length) + after)


SOUND = bytes(message("SequenceReset_1"))
IN_PACKETS: dict[Fault, tuple[bytes, int]] = {  # the payload behind the packet header, and where it is wrong
    Fault.PACKET_EMPTY: (b"", 0),
    Fault.FRAME_TRUNCATED: (SOUND + b"\x0c\x00", len(SOUND)),
    Fault.MESSAGE_LENGTH_TOO_SMALL: (changed("SequenceReset_1", 0, 0) + SOUND, 0),
    Fault.MESSAGE_LENGTH_PAST_PACKET: (SOUND + changed("SequenceReset_1", 0, 500), len(SOUND)),
    Fault.WRONG_ENCODING_TYPE: (changed("SequenceReset_1", 2, 0xEB51) + SOUND, 0),
    Fault.WRONG_SCHEMA_ID: (changed("SequenceReset_1", 8, 77) + SOUND, 4),
    Fault.BLOCK_PAST_MESSAGE: (changed("SequenceReset_1", 4, 900) + SOUND, 4),
    Fault.GROUP_HEADER_TRUNCATED: (without_group(), len(without_group()) - 1),
    Fault.GROUP_PAST_MESSAGE: (snapshot(bytes(30), 255, 255), len(snapshot(b"", 0, 0)) - 3),
    Fault.GROUP_WITHOUT_BYTES: (snapshot(b"", 0, 200), len(snapshot(b"", 0, 0)) - 3),
    Fault.DATA_HEADER_TRUNCATED: (news(b""), len(news(b""))),
    Fault.DATA_PAST_MESSAGE: (news(b"\xff\xff"), len(news(b""))),
}


@pytest.mark.parametrize("fault", IN_PACKETS, ids=lambda fault: fault.label)
def test_faults_in_packets(fault: Fault) -> None:
    payload, at = IN_PACKETS[fault]
    capture = pcap([HEADER + payload, HEADER + SOUND])
    _, sight = comparer().compare(capture, 3)
    found = sight.findings[0]
    assert (found.fault, found.packet, found.offset) == (fault.label, 1, BODY_AT + at)
    assert sight.messages[-1].place.packet == 2  # the rest is still read


def test_a_packet_without_a_header() -> None:
    _, sight = comparer().compare(pcap([HEADER[:15], b"", HEADER + SOUND]))
    assert [found.fault for found in sight.findings] == ["packet-too-short"] * 2
    assert len(sight.messages) == 1


def ordinary(change: Callable[[bytearray], object]) -> bytes:
    made = bytearray(udp_frame(HEADER + SOUND))
    change(made)
    return pcap_header() + pcap_record(1, bytes(made), original_length=60) + record(udp_frame(HEADER + SOUND))


def record(made: bytes) -> bytes:
    return pcap_record(2, made)


def fragment(at: int, piece: bytes, more: bool) -> bytes:
    made = ipv4_packet(piece, SOURCE, GROUP, identification=7, fragment_offset=at, more_fragments=more)
    return record(ethernet_frame(made, GROUP))


UDP = udp_datagram(HEADER + SOUND, SOURCE, GROUP, 1, 2)
PCAPNG = pcapng_section_header() + pcapng_interface() + pcapng_packet(1, udp_frame(HEADER + SOUND))
IN_CAPTURES: dict[Fault, bytes] = {
    Fault.NOT_A_CAPTURE: b"not a capture at all, however long",
    Fault.RECORD_TRUNCATED: pcap([HEADER + SOUND])[:-1],
    Fault.RECORD_TOO_LONG: pcap([HEADER + SOUND]) + b"\xff" * 16 + pcap([HEADER + SOUND] * 9),
    Fault.RECORD_MALFORMED: PCAPNG + pcapng_packet(1, b"", interface=9) + PCAPNG,
    Fault.LINK_TRUNCATED: pcap_header() + record(b"short") + record(udp_frame(HEADER + SOUND)),
    Fault.IP_TRUNCATED: pcap_header() + record(udp_frame(HEADER + SOUND)[:30]),
    Fault.IP_MALFORMED: ordinary(lambda made: made.__setitem__(14, 0x41)),
    Fault.UDP_TRUNCATED: ordinary(lambda made: made.__setitem__(slice(16, 18), b"\0\x18")),
    Fault.UDP_MALFORMED: ordinary(lambda made: made.__setitem__(slice(38, 40), b"\0\x07")),
    Fault.FRAME_CUT: pcap_header() + pcap_record(1, udp_frame(HEADER + SOUND)[:50], original_length=200),
    Fault.FRAGMENT_OVERLAP: pcap_header() + fragment(0, UDP[:24], True) + fragment(16, UDP[16:], False),
    Fault.FRAGMENT_TOO_LARGE: pcap_header() + fragment(0xFFF8, bytes(64), False),
    Fault.FRAGMENT_LOST: pcap_header() + fragment(0, UDP[:16], True),
}


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("fault", IN_CAPTURES, ids=lambda fault: fault.label)
def test_faults_in_captures(fault: Fault, seed: int | None) -> None:
    _, sight = comparer().compare(IN_CAPTURES[fault], seed)
    assert fault.label in [found.fault for found in sight.findings]


def test_every_fault_is_here() -> None:
    tested = {*IN_PACKETS, *IN_CAPTURES, Fault.NONE, Fault.PACKET_TOO_SHORT}
    others = {fault for fault in Fault if fault.name.startswith(("FAST_", "FIX_", "TCP_"))}
    assert tested == set(Fault) - others


def test_faults_come_in_the_order_of_the_capture() -> None:
    wrong = [payload for payload, _ in IN_PACKETS.values()]
    capture = pcap([HEADER + payload for payload in random.Random(1).choices(wrong, k=700)])
    _, sight = comparer().compare(capture, 5)
    places = [(found.packet, found.index) for found in sight.findings]
    assert len(places) > 700 * 0.9
    assert places == sorted(places)


def test_giant_counts_end_at_once() -> None:
    """numInGroup of 32 bits in a message of a few bytes, at every level."""
    schema = foreign("littleEndian", False)
    writer = MessageWriter(schema, random.Random(2), strange=0.0)
    made = []
    for template in (1, 3):
        raw = bytearray(frame(writer.message(template, 5)))
        for at in range(20, len(raw) - 4):
            giant = raw.copy()
            giant[at : at + 4] = b"\xff\xff\xff\x7f"
            made.append(HEADER + bytes(giant))
    _, sight = Comparer(schema).compare(pcap(made))
    assert {"group-past-message", "data-past-message"} <= {found.fault for found in sight.findings}
