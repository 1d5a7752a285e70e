"""A capture taken in runs by the kernel, with the plain chain for whatever is unusual."""

import numpy as np

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.formats import NS_PER_SECOND, PcapHeader, PcapngHeader
from pregao.codecs.pcap.ip import LINKTYPE_RAW, LINKTYPES_RAW
from pregao.codecs.pcap.kernels import INTERFACE_SIZE, PCAP, PCAPNG, Shape
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.pcap.pcapng import Interface, PcapngBlocks

Interfaces = np.ndarray[tuple[int, int], np.dtype[np.int64]]

_LARGEST_OFFSET_S = 1 << 32  # beyond it a time might leave int64, and the plain chain clamps it


class CaptureRuns:
    """What the kernel must know of a capture, kept in step with the plain reader. `shape` points at
    `interfaces`, which belong to it."""

    def __init__(self) -> None:
        self.reader = DatagramReader()
        self.shape = Shape(PCAP, 0, 1, 0, 0, 0)
        self.interfaces: Interfaces = np.zeros((0, INTERFACE_SIZE), np.int64)
        self._described: tuple[str, int] | None = None

    @property
    def position(self) -> int:
        return self.reader.position

    @property
    def next_number(self) -> int:
        """The number of the next record."""
        return self.reader.records.packets + 1

    def begin(self, window: memoryview) -> bool:
        """Recognise the capture from its first window; whether the kernel can read it."""
        records = self.reader.records
        if records.header is None and not records.stopped:
            records.begin(window)
        if isinstance(records.header, PcapHeader):
            header = records.header
            linktype = LINKTYPE_RAW if header.linktype in LINKTYPES_RAW else header.linktype
            self.shape = Shape(PCAP, int(header.big_endian), header.ts_unit_ns, linktype, 0, 0)
        elif isinstance(records.header, PcapngHeader) and self._described is None:
            self.shape = Shape(PCAPNG, int(records.header.big_endian), 0, 0, 0, 0)
        return records.header is not None and not records.stopped

    def took(self, size: int, records: int) -> None:
        """The kernel read this many bytes and records."""
        self.reader.records.advance(size, records)

    def step(self, window: memoryview, base: int) -> list[Datagram | Skip | Damage] | None:
        """One record or block by the plain chain; None when the window holds no more."""
        outcomes = self.reader.step(window, base)
        blocks = self.reader.records.blocks
        if blocks is not None:
            self._describe(blocks)
        return outcomes

    def _describe(self, blocks: PcapngBlocks) -> None:
        described = (blocks.order, len(blocks.interfaces))
        if described != self._described:
            self._described = described
            rows = [_interface_row(interface) for interface in blocks.interfaces]
            self.interfaces = np.array(rows, np.int64).reshape(-1, INTERFACE_SIZE)
            address = self.interfaces.ctypes.data
            self.shape = Shape(PCAPNG, int(blocks.order == ">"), 0, 0, address, len(rows))


def _interface_row(interface: Interface) -> tuple[int, int, int]:
    """An interface whose times are no whole nanoseconds is left to the plain chain: unit 0."""
    unit_ns, rest = divmod(NS_PER_SECOND, interface.units_per_second)
    if rest or abs(interface.offset_s) > _LARGEST_OFFSET_S:
        unit_ns = 0
    offset_ns = interface.offset_s * NS_PER_SECOND if unit_ns else 0
    linktype = LINKTYPE_RAW if interface.linktype in LINKTYPES_RAW else interface.linktype
    return linktype, unit_ns, offset_ns
