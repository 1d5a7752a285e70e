"""IPv4 and IPv6 headers.

Header checksums are not looked at: a capture on the sending machine shows them before the network
card has filled them in.
"""

import struct
from dataclasses import dataclass
from typing import NamedTuple

from pregao.codecs.pcap.outcomes import Skip
from pregao.model.errors import Fault

# From a captured frame to its IP packet: the link layers that captures of multicast come in.


ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
VLAN_ETHERTYPES = (0x8100, 0x88A8, 0x9100)  # 802.1Q, 802.1ad and the QinQ that came before it
MAX_VLAN_TAGS = 4

LINKTYPE_NULL = 0
LINKTYPE_ETHERNET = 1
LINKTYPE_RAW = 101
LINKTYPES_RAW = (12, 14, LINKTYPE_RAW)  # the first two are DLT_RAW of different systems
LINKTYPE_LOOP = 108
LINKTYPE_LINUX_SLL = 113
LINKTYPE_IPV4 = 228
LINKTYPE_IPV6 = 229
LINKTYPE_LINUX_SLL2 = 276

# Where the ethertype is, and where the payload begins.
_ETHERTYPE_LAYOUT = {LINKTYPE_ETHERNET: (12, 14), LINKTYPE_LINUX_SLL: (14, 16), LINKTYPE_LINUX_SLL2: (0, 20)}
_FIXED_ETHERTYPE = {LINKTYPE_IPV4: ETHERTYPE_IPV4, LINKTYPE_IPV6: ETHERTYPE_IPV6}

# Address families as the capturing system numbers them: IPv6 differs between the BSDs, macOS and Linux.
_FAMILY_IPV4 = 2
_FAMILIES_IPV6 = (10, 24, 28, 30)


class Network(NamedTuple):
    """An IP packet in a frame: `ethertype` tells the version, `offset` counts from the frame's start."""

    ethertype: int
    offset: int


def strip_link(data: memoryview, linktype: int) -> Network | Skip | Fault:
    """Where the IP packet of a frame begins; Skip when there is none, Fault when the frame is too short."""
    if linktype in _ETHERTYPE_LAYOUT:
        return _strip_ethertype(data, *_ETHERTYPE_LAYOUT[linktype])
    if linktype in LINKTYPES_RAW:
        return _strip_raw(data)
    if linktype in _FIXED_ETHERTYPE:
        return Network(_FIXED_ETHERTYPE[linktype], 0)
    if linktype == LINKTYPE_NULL:
        return _strip_family(data, "<>")
    if linktype == LINKTYPE_LOOP:
        return _strip_family(data, ">")
    return Skip.UNKNOWN_LINK


def _strip_ethertype(data: memoryview, at: int, payload: int) -> Network | Skip | Fault:
    """Ethernet and both cooked headers: an ethertype, behind which VLAN tags may be stacked."""
    if len(data) < payload:
        return Fault.LINK_TRUNCATED
    ethertype = struct.unpack_from(">H", data, at)[0]
    for _ in range(MAX_VLAN_TAGS):
        if ethertype not in VLAN_ETHERTYPES:
            break
        if len(data) < payload + 4:
            return Fault.LINK_TRUNCATED
        ethertype = struct.unpack_from(">H", data, payload + 2)[0]
        payload += 4
    return _network(ethertype, payload)


def _strip_raw(data: memoryview) -> Network | Skip | Fault:
    if len(data) < 1:
        return Fault.LINK_TRUNCATED
    version = data[0] >> 4
    return _network({4: ETHERTYPE_IPV4, 6: ETHERTYPE_IPV6}.get(version, 0), 0)


def _strip_family(data: memoryview, orders: str) -> Network | Skip | Fault:
    """BSD loopback writes the family in the byte order of its machine, OpenBSD in network order."""
    if len(data) < 4:
        return Fault.LINK_TRUNCATED
    for order in orders:
        family = struct.unpack_from(order + "I", data)[0]
        if family == _FAMILY_IPV4:
            return Network(ETHERTYPE_IPV4, 4)
        if family in _FAMILIES_IPV6:
            return Network(ETHERTYPE_IPV6, 4)
    return Skip.NON_IP


def _network(ethertype: int, offset: int) -> Network | Skip:
    if ethertype in (ETHERTYPE_IPV4, ETHERTYPE_IPV6):
        return Network(ethertype, offset)
    return Skip.NON_IP


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
