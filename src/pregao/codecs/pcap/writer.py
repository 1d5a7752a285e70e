"""Captures written: for the recorder, the simulation and tests. Functions that give bytes, no files."""

import struct
from collections.abc import Sequence
from ipaddress import ip_address

from pregao.codecs.pcap.formats import (
    NS_PER_SECOND,
    PCAP_MICROSECONDS,
    PCAP_NANOSECONDS,
    PCAPNG_BYTE_ORDER_MAGIC,
    PCAPNG_SECTION_HEADER,
)
from pregao.codecs.pcap.ip import ETHERTYPE_IPV4, ETHERTYPE_IPV6, FRAGMENT, LINKTYPE_ETHERNET, PROTOCOL_UDP
from pregao.codecs.pcap.pcapng import (
    ENHANCED_PACKET,
    INTERFACE_DESCRIPTION,
    OPTION_END,
    OPTION_TSOFFSET,
    OPTION_TSRESOL,
)
from pregao.model.errors import EncodeError

SNAPLEN = 262_144
_SOURCE_MAC = bytes.fromhex("020000000001")  # locally administered
_TTL = 16


def pcap_header(
    *, nanoseconds: bool = True, big_endian: bool = False, linktype: int = LINKTYPE_ETHERNET
) -> bytes:
    """The 24 bytes that begin a classic pcap file."""
    magic = PCAP_NANOSECONDS if nanoseconds else PCAP_MICROSECONDS
    return struct.pack(_order(big_endian) + "IHHiIII", magic, 2, 4, 0, 0, SNAPLEN, linktype)


def pcap_record(
    ts_ns: int,
    frame: bytes,
    *,
    nanoseconds: bool = True,
    big_endian: bool = False,
    original_length: int | None = None,
) -> bytes:
    """One record; its file's header must have the same unit and byte order."""
    seconds, fraction = divmod(ts_ns, NS_PER_SECOND)
    original = len(frame) if original_length is None else original_length
    fields = (seconds, fraction if nanoseconds else fraction // 1000, len(frame), original)
    return struct.pack(_order(big_endian) + "IIII", *fields) + frame


def ethernet_udp_frame(
    payload: bytes,
    *,
    src: str | int,
    dst: str | int,
    src_port: int,
    dst_port: int,
    vlan_tags: Sequence[tuple[int, int]] = (),
    ip_options: bytes = b"",
    ipv6: bool = False,
) -> bytes:
    """A whole frame. `vlan_tags` are (ethertype, tag control) from the outside in."""
    src_int, dst_int = address(src), address(dst)
    udp = udp_datagram(payload, src_int, dst_int, src_port, dst_port, ipv6=ipv6)
    if ipv6:
        packet = ipv6_packet(udp, src_int, dst_int)
    else:
        packet = ipv4_packet(udp, src_int, dst_int, options=ip_options)
    return ethernet_frame(packet, dst_int, ipv6=ipv6, vlan_tags=vlan_tags)


def address(text: str | int) -> int:
    """An address as the integer that records carry."""
    return int(ip_address(text)) if isinstance(text, str) else text


def ethernet_frame(
    packet: bytes, dst: int, *, ipv6: bool = False, vlan_tags: Sequence[tuple[int, int]] = ()
) -> bytes:
    """An Ethernet frame around an IP packet; multicast addresses go to their multicast MAC."""
    tags = b"".join(struct.pack(">HH", *tag) for tag in vlan_tags)
    ethertype = ETHERTYPE_IPV6 if ipv6 else ETHERTYPE_IPV4
    return _destination_mac(dst, ipv6) + _SOURCE_MAC + tags + struct.pack(">H", ethertype) + packet


def _destination_mac(dst: int, ipv6: bool) -> bytes:
    if ipv6 and dst >> 120 == 0xFF:
        return b"\x33\x33" + (dst & 0xFFFFFFFF).to_bytes(4, "big")
    if not ipv6 and dst >> 28 == 0xE:
        return b"\x01\x00\x5e" + (dst & 0x7FFFFF).to_bytes(3, "big")
    return bytes.fromhex("020000000002")


def udp_datagram(
    payload: bytes, src: int, dst: int, src_port: int, dst_port: int, *, ipv6: bool = False
) -> bytes:
    """UDP header and payload, with the checksum over the pseudo-header."""
    length = 8 + len(payload)
    if length > 0xFFFF:
        raise EncodeError(f"payload of {len(payload)} bytes", message="UDP datagram", field="length")
    width = 16 if ipv6 else 4
    addresses = src.to_bytes(width, "big") + dst.to_bytes(width, "big")
    pseudo = addresses + struct.pack(">II", length, PROTOCOL_UDP)
    header = struct.pack(">HHH", src_port, dst_port, length)
    # Zero would mean that there is no checksum.
    check = checksum(pseudo + header + b"\0\0" + payload) or 0xFFFF
    return header + struct.pack(">H", check) + payload


def ipv4_packet(
    payload: bytes,
    src: int,
    dst: int,
    *,
    protocol: int = PROTOCOL_UDP,
    options: bytes = b"",
    identification: int = 0,
    fragment_offset: int = 0,
    more_fragments: bool = False,
) -> bytes:
    """An IPv4 packet, or one fragment of it. `fragment_offset` is in bytes, a multiple of eight."""
    if len(options) % 4 or len(options) > 40:
        raise EncodeError(f"options of {len(options)} bytes", message="IPv4 packet", field="options")
    header = 20 + len(options)
    if header + len(payload) > 0xFFFF:
        raise EncodeError(f"payload of {len(payload)} bytes", message="IPv4 packet", field="totalLength")
    flags = more_fragments << 13 | fragment_offset >> 3
    total = header + len(payload)
    before = struct.pack(">BBHHHBB", 0x40 | header // 4, 0, total, identification, flags, _TTL, protocol)
    after = struct.pack(">II", src, dst) + options
    return before + struct.pack(">H", checksum(before + after)) + after + payload


def ipv6_packet(payload: bytes, src: int, dst: int, *, next_header: int = PROTOCOL_UDP) -> bytes:
    """An IPv6 packet; extension headers are the caller's, as the first part of the payload."""
    if len(payload) > 0xFFFF:
        raise EncodeError(f"payload of {len(payload)} bytes", message="IPv6 packet", field="payloadLength")
    header = struct.pack(">IHBB", 6 << 28, len(payload), next_header, _TTL)
    return header + src.to_bytes(16, "big") + dst.to_bytes(16, "big") + payload


def ipv6_fragment(
    piece: bytes,
    src: int,
    dst: int,
    *,
    identification: int,
    offset: int,
    more: bool,
    protocol: int = PROTOCOL_UDP,
) -> bytes:
    """One fragment of an IPv6 datagram."""
    extension = struct.pack(">BBHI", protocol, 0, offset | more, identification)
    return ipv6_packet(extension + piece, src, dst, next_header=FRAGMENT)


def checksum(data: bytes) -> int:
    """The internet checksum: the ones' complement sum of 16-bit words is the number modulo 2^16 − 1."""
    number = int.from_bytes(data + b"\0" * (len(data) % 2), "big")
    # A sum that is not nothing but zeros folds to 0xFFFF, never to 0.
    return 0xFFFF - ((number % 0xFFFF) or (0xFFFF if number else 0))


def pcapng_section_header(*, big_endian: bool = False) -> bytes:
    """A section of unknown length."""
    body = struct.pack(_order(big_endian) + "IHHq", PCAPNG_BYTE_ORDER_MAGIC, 1, 0, -1)
    return pcapng_block(PCAPNG_SECTION_HEADER, body, big_endian=big_endian)


def pcapng_interface(
    *,
    linktype: int = LINKTYPE_ETHERNET,
    snaplen: int = 0,
    tsresol: int | None = 9,
    tsoffset_s: int | None = None,
    big_endian: bool = False,
) -> bytes:
    """An interface description; `tsresol` is the raw option byte, None leaves the default (6)."""
    order = _order(big_endian)
    body = struct.pack(order + "HHI", linktype, 0, snaplen)
    options = b""
    if tsresol is not None:
        options += struct.pack(order + "HHB3x", OPTION_TSRESOL, 1, tsresol)
    if tsoffset_s is not None:
        options += struct.pack(order + "HHq", OPTION_TSOFFSET, 8, tsoffset_s)
    if options:
        options += struct.pack(order + "HH", OPTION_END, 0)
    return pcapng_block(INTERFACE_DESCRIPTION, body + options, big_endian=big_endian)


def pcapng_packet(
    units: int,
    frame: bytes,
    *,
    interface: int = 0,
    original_length: int | None = None,
    big_endian: bool = False,
) -> bytes:
    """An enhanced packet; its time is in units of the interface's resolution."""
    original = len(frame) if original_length is None else original_length
    fields = (interface, units >> 32, units & 0xFFFFFFFF, len(frame), original)
    body = struct.pack(_order(big_endian) + "IIIII", *fields) + frame
    return pcapng_block(ENHANCED_PACKET, body, big_endian=big_endian)


def pcapng_block(kind: int, body: bytes, *, big_endian: bool = False) -> bytes:
    """Any block: type, length, padded body, length again."""
    padded = body + b"\0" * (-len(body) % 4)
    length = 12 + len(padded)
    order = _order(big_endian)
    return struct.pack(order + "II", kind, length) + padded + struct.pack(order + "I", length)


def _order(big_endian: bool) -> str:
    return ">" if big_endian else "<"
