"""IPv4 and IPv6 headers.

Header checksums are not looked at: a capture on the sending machine shows them before the network
card has filled them in.
"""

import struct
from dataclasses import dataclass
from typing import NamedTuple

from pregao.codecs.pcap.link import ETHERTYPE_IPV4, Network
from pregao.model.faults import Fault

IPV4_HEADER_SIZE = 20
IPV6_HEADER_SIZE = 40
PROTOCOL_UDP = 17

HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60
EXTENSION_HEADERS = (HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION)
MAX_EXTENSION_HEADERS = 8

_MORE_FRAGMENTS = 0x2000
_FRAGMENT_OFFSET = 0x1FFF


class Fragment(NamedTuple):
    """This packet carries the bytes of datagram `identification` from byte `offset`."""

    identification: int
    offset: int
    more: bool


@dataclass(slots=True)
class IpPacket:
    """A parsed header. `payload_end` is what the header claims and may lie past the captured bytes;
    bytes past it (Ethernet padding, check sequence) are not the packet's."""

    version: int
    src: int
    dst: int
    protocol: int  # of the payload; behind IPv6 extension headers, the one they lead to
    payload_start: int
    payload_end: int
    fragment: Fragment | None


def parse_ip(data: memoryview, network: Network, wire_length: int) -> IpPacket | Fault:
    """The header at `network.offset` of a frame that had `wire_length` bytes on the wire."""
    if network.ethertype == ETHERTYPE_IPV4:
        return _parse_ipv4(data, network.offset, wire_length)
    return _parse_ipv6(data, network.offset, wire_length)


def _parse_ipv4(data: memoryview, at: int, wire_length: int) -> IpPacket | Fault:
    if at + IPV4_HEADER_SIZE > len(data):
        return Fault.IP_TRUNCATED
    first, _, total, identification, flags, _, protocol = struct.unpack_from(">BBHHHBB", data, at)
    header = (first & 0x0F) * 4
    if first >> 4 != 4 or header < IPV4_HEADER_SIZE or 0 < total < header:
        return Fault.IP_MALFORMED
    if at + header > len(data):
        return Fault.IP_TRUNCATED
    offset, more = (flags & _FRAGMENT_OFFSET) * 8, bool(flags & _MORE_FRAGMENTS)
    src, dst = struct.unpack_from(">II", data, at + 12)
    return IpPacket(
        version=4,
        src=src,
        dst=dst,
        protocol=protocol,
        payload_start=at + header,
        payload_end=_end(at + total, total, data, wire_length),
        fragment=Fragment(identification, offset, more) if offset or more else None,
    )


def _parse_ipv6(data: memoryview, at: int, wire_length: int) -> IpPacket | Fault:
    start = at + IPV6_HEADER_SIZE
    if start > len(data):
        return Fault.IP_TRUNCATED
    first, _, _, length, next_header = struct.unpack_from(">BBHHB", data, at)
    if first >> 4 != 6:
        return Fault.IP_MALFORMED
    end = _end(start + length, length, data, wire_length)
    extensions = walk_extensions(data, start, end, next_header)
    if isinstance(extensions, Fault):
        return extensions
    return IpPacket(
        version=6,
        src=int.from_bytes(data[at + 8 : at + 24], "big"),
        dst=int.from_bytes(data[at + 24 : at + 40], "big"),
        protocol=extensions.protocol,
        payload_start=extensions.payload_start,
        payload_end=end,
        fragment=extensions.fragment,
    )


def _end(claimed: int, length: int, data: memoryview, wire_length: int) -> int:
    """A length of zero is left to the network card to fill in (segmentation): take the whole frame."""
    return claimed if length else max(len(data), wire_length)


class Extensions(NamedTuple):
    """Where a chain of IPv6 extension headers led."""

    protocol: int
    payload_start: int
    fragment: Fragment | None


def walk_extensions(data: memoryview, at: int, end: int, next_header: int) -> Extensions | Fault:
    """Walk extension headers from `at` to the first other protocol, or to a fragment of several.

    Behind the header of a true fragment come pieces, not headers; one that says it is the whole
    datagram (an atomic fragment) is passed over.
    """
    for _ in range(MAX_EXTENSION_HEADERS + 1):
        if next_header not in EXTENSION_HEADERS:
            return Extensions(next_header, at, None)
        if at + 8 > end:
            return Fault.IP_MALFORMED
        if at + 8 > len(data):
            return Fault.IP_TRUNCATED
        following, size, flags, identification = struct.unpack_from(">BBHI", data, at)
        step = 8 if next_header == FRAGMENT else (size + 1) * 8
        if at + step > end:
            return Fault.IP_MALFORMED
        at += step
        offset, more = flags & 0xFFF8, bool(flags & 1)
        if next_header == FRAGMENT and (offset or more):
            return Extensions(following, at, Fragment(identification, offset, more))
        next_header = following
    return Fault.IP_MALFORMED
