"""A capture taken in runs by a kernel, with the plain chain for whatever is unusual.

There is one loop for that, `CaptureRuns.through`; what takes the runs may be any kernel that begins with
`take_run`. `DatagramRuns` is the usual one: a run is some columns and the window that they point into.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.formats import NS_PER_SECOND, PcapHeader, PcapngHeader
from pregao.codecs.pcap.ip import LINKTYPE_RAW, LINKTYPES_RAW
from pregao.codecs.pcap.kernels import ENDED_FULL, INTERFACE_SIZE, PCAP, PCAPNG, RunAddresses, Shape, take_run
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.pcap.pcapng import Interface, PcapngBlocks

Array = np.ndarray[Any, np.dtype[Any]]
Interfaces = np.ndarray[tuple[int, int], np.dtype[np.int64]]
T = TypeVar("T")

RUN_PACKETS: Final = 2048
_MOST_BYTES: Final = 1 << 40
_LARGEST_OFFSET_S = 1 << 32  # beyond it a time might leave int64, and the plain chain clamps it


class Took(NamedTuple, Generic[T]):
    """What a kernel took from a window: up to where, the number of the next record, whether it may go on at
    once (it only ran out of room), and what it made of that; None: nothing."""

    end: int
    number: int
    goes_on: bool
    made: T | None


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

    def through(
        self, window: memoryview, base: int, take: Callable[[int], Took[T]]
    ) -> Iterator[T | Datagram | Skip | Damage]:
        """All of a window that begins at byte `base`: what `take` makes of runs of ordinary records, given
        where in the window they begin, and the outcomes of the plain chain for all others."""
        while True:
            if self.begin(window):
                start = self.position - base
                took = take(start)
                self.took(took.end - start, took.number - self.next_number)
                if took.made is not None:
                    yield took.made
                if took.goes_on:
                    continue
            # Unusual, or the window's end: the plain reader says whether a record is cut or damaged.
            outcomes = self.step(window, base)
            if outcomes is None:
                return
            yield from outcomes

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


class DatagramColumns:
    """Room for the datagrams of a run."""

    def __init__(self, packets: int) -> None:
        room = max(packets, 1)
        self.ts, self.offset, self.flow, self.number = (np.empty(room, np.int64) for _ in range(4))
        self.length = np.empty(room, np.uint32)

    @property
    def run(self) -> RunAddresses:
        arrays = (self.ts, self.offset, self.length, self.flow, self.number)
        return RunAddresses(*(array.ctypes.data for array in arrays))


@dataclass(frozen=True, slots=True)
class DatagramRun:
    """Datagrams in the order of the file, valid until the next run is asked for. Offsets count from the
    beginning of `payloads`; the records lie between bytes `start` and `end` of it."""

    columns: DatagramColumns
    count: int
    payloads: Array
    start: int
    end: int
    shape: Shape


class DatagramRuns(CaptureRuns):
    """At most `packets` datagrams a run. What is passed over is counted in `skipped`, by `Skip`."""

    def __init__(self, packets: int = RUN_PACKETS) -> None:
        super().__init__()
        self.skipped = np.zeros(256, np.int64)
        self._columns, self._packets = DatagramColumns(packets), packets
        self._run = self._columns.run

    def of_window(self, window: memoryview, base: int) -> Iterator[DatagramRun | Datagram | Damage]:
        """A Datagram by itself is one that the plain chain found."""
        # numpy makes no array of nothing.
        payloads: Array = np.frombuffer(window if len(window) else b"\0", np.uint8)
        address, size = payloads.ctypes.data, len(window)

        def take(start: int) -> Took[DatagramRun]:
            end, count, number, _, why = take_run(
                address, start, size, self.shape, self.next_number, self._run, 0, self._packets, _MOST_BYTES,
                self.skipped.ctypes.data,
            )  # fmt: skip
            run = DatagramRun(self._columns, count, payloads, start, end, self.shape) if count else None
            return Took(end, number, why == ENDED_FULL, run)

        for outcome in self.through(window, base, take):
            if isinstance(outcome, Skip):
                self.skipped[outcome] += 1
            else:
                yield outcome


def read_run(payloads: Array, shape: Shape, packets: int) -> DatagramRun:
    """Records that were taken as a run before, read again by themselves."""
    columns, skipped = DatagramColumns(packets), np.zeros(256, np.int64)
    end, count, _, _, _ = take_run(
        payloads.ctypes.data, 0, len(payloads), shape, 1, columns.run, 0, packets, _MOST_BYTES,
        skipped.ctypes.data,
    )  # fmt: skip
    return DatagramRun(columns, count, payloads, 0, end, shape)
