"""Capture records of payloads, one at a time, and what a run of such records holds."""

import struct
from typing import NamedTuple

from pregao.codecs.pcap.formats import MAX_RECORD, NS_PER_SECOND, RECORD_HEADER_SIZE
from pregao.codecs.pcap.writer import ethernet_frame, ipv4_packet

_UDP = struct.Struct(">HHHH")
_RECORD = struct.Struct("<IIII")
_HEADERS = 14 + 20 + 8
HEAD_SIZE = RECORD_HEADER_SIZE + _HEADERS


class Endpoints(NamedTuple):
    """IPv4 addresses as numbers, and ports."""

    src: int
    src_port: int
    dst: int
    dst_port: int


def record_of(endpoints: Endpoints, ts_ns: int, payload: bytes) -> bytes:
    """A record of a nanosecond pcap in little-endian order."""
    return head_of(endpoints, ts_ns, len(payload)) + payload


def head_of(endpoints: Endpoints, ts_ns: int, size: int) -> bytes:
    """All of a record that comes before a payload of `size` bytes."""
    udp = _UDP.pack(endpoints.src_port, endpoints.dst_port, 8 + size, 0)
    packet = ipv4_packet(udp + bytes(size), endpoints.src, endpoints.dst)
    frame = ethernet_frame(packet, endpoints.dst)
    seconds, nanoseconds = divmod(ts_ns, NS_PER_SECOND)
    return _RECORD.pack(seconds, nanoseconds, len(frame), len(frame)) + frame[:_HEADERS]


def times_of_records(content: bytes) -> tuple[int, int, int] | None:
    """(earliest time, latest time, how many) of nanosecond records; None if they do not end where the
    content does, or there are none."""
    at, count, first_ns, last_ns = 0, 0, 1 << 63, 0
    while at + RECORD_HEADER_SIZE <= len(content):
        seconds, nanoseconds, captured, _ = _RECORD.unpack_from(content, at)
        if captured > MAX_RECORD:
            return None
        ts_ns = seconds * NS_PER_SECOND + nanoseconds
        first_ns, last_ns = min(first_ns, ts_ns), max(last_ns, ts_ns)
        at += RECORD_HEADER_SIZE + captured
        count += 1
    return (first_ns, last_ns, count) if count and at == len(content) else None
