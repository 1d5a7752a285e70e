"""From a captured frame to its IP packet: the link layers that captures of multicast come in."""

import struct
from typing import NamedTuple

from pregao.codecs.pcap.outcomes import Skip
from pregao.model.faults import Fault

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
