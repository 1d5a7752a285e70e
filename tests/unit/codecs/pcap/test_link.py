"""Every link layer, by hand."""

import pytest

from pregao.codecs.pcap.ip import Network, strip_link
from pregao.codecs.pcap.outcomes import Skip
from pregao.model.errors import Fault

V4, V6 = 0x0800, 0x86DD
MACS = bytes(12)
TAG = bytes.fromhex("8100 0064")


def strip(data: str | bytes, linktype: int) -> Network | Skip | Fault:
    return strip_link(memoryview(bytes.fromhex(data) if isinstance(data, str) else data), linktype)


@pytest.mark.parametrize(
    ("behind_macs", "expected"),
    [
        ("0800", Network(V4, 14)),
        ("86dd", Network(V6, 14)),
        ("0806", Skip.NON_IP),  # ARP
        ("0026 4242 03", Skip.NON_IP),  # 802.3 with a length: spanning tree
        ("8100 0064 0800", Network(V4, 18)),
        ("88a8 0064 8100 0065 86dd", Network(V6, 22)),
        ("9100 0064 8100 0065 0800", Network(V4, 22)),
        ("8100 0001 8100 0002 8100 0003 8100 0004 0800", Network(V4, 30)),
        ("8100 0001 8100 0002 8100 0003 8100 0004 8100 0005 0800", Skip.NON_IP),  # a fifth tag
        ("8100", Fault.LINK_TRUNCATED),
        ("8100 0064 08", Fault.LINK_TRUNCATED),
        ("8100 0064 8100 0065 08", Fault.LINK_TRUNCATED),
        ("08", Fault.LINK_TRUNCATED),
        ("", Fault.LINK_TRUNCATED),
    ],
)
def test_ethernet(behind_macs: str, expected: object) -> None:
    assert strip(MACS + bytes.fromhex(behind_macs), 1) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("0000 0001 0006 0011223344550000 0800", Network(V4, 16)),
        ("0000 0001 0006 0011223344550000 86dd", Network(V6, 16)),
        ("0000 0001 0006 0011223344550000 8100 0064 0800", Network(V4, 20)),
        ("0000 0001 0006 0011223344550000 0004", Skip.NON_IP),
        ("0000 0001 0006 0011223344550000 08", Fault.LINK_TRUNCATED),
    ],
)
def test_linux_cooked(data: str, expected: object) -> None:
    assert strip(data, 113) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("0800 0000 00000002 0001 00 06 0011223344550000", Network(V4, 20)),
        ("86dd 0000 00000002 0001 00 06 0011223344550000", Network(V6, 20)),
        ("8100 0000 00000002 0001 00 06 0011223344550000 0064 0800", Network(V4, 24)),
        ("0806 0000 00000002 0001 00 06 0011223344550000", Skip.NON_IP),
        ("0800 0000 00000002 0001 00 06 00112233445500", Fault.LINK_TRUNCATED),
    ],
)
def test_linux_cooked_version_2(data: str, expected: object) -> None:
    assert strip(data, 276) == expected


@pytest.mark.parametrize("linktype", [12, 14, 101])
def test_raw_ip_tells_its_version_itself(linktype: int) -> None:
    assert strip("45", linktype) == Network(V4, 0)
    assert strip("60", linktype) == Network(V6, 0)
    assert strip("50", linktype) == Skip.NON_IP
    assert strip("", linktype) == Fault.LINK_TRUNCATED


def test_raw_ip_of_one_version() -> None:
    assert strip("45", 228) == Network(V4, 0)
    assert strip("60", 229) == Network(V6, 0)


@pytest.mark.parametrize(
    ("data", "null", "loop"),
    [
        ("02000000", Network(V4, 4), Skip.NON_IP),
        ("00000002", Network(V4, 4), Network(V4, 4)),
        ("1e000000", Network(V6, 4), Skip.NON_IP),  # macOS
        ("0000001c", Network(V6, 4), Network(V6, 4)),  # FreeBSD
        ("00000018", Network(V6, 4), Network(V6, 4)),  # NetBSD, OpenBSD
        ("0a000000", Network(V6, 4), Skip.NON_IP),  # Linux
        ("07000000", Skip.NON_IP, Skip.NON_IP),
        ("020000", Fault.LINK_TRUNCATED, Fault.LINK_TRUNCATED),
    ],
)
def test_loopback(data: str, null: object, loop: object) -> None:
    assert strip(data, 0) == null
    assert strip(data, 108) == loop


def test_a_link_type_we_do_not_know() -> None:
    assert strip("0102", 147) == Skip.UNKNOWN_LINK
