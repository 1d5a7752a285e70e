"""From a capture file to its datagrams: the one way, on which decode, columns, replay, the lake and its Spark
source stand.

    reader = CaptureReader(path)
    with open_capture(path) as source:
        for item in reader.read(source):
            ...                            # a Datagram, a Skip, or a Finding: file, packet and byte

What is wrong never ends the reading of the rest. `RunReader` is the same by kernel, many packets at a
time; `captures.streams` says which channel, stream and feed a flow is.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final, NamedTuple, Protocol, TypeVar

from pregao.captures.decoded import Finding
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.formats import PcapHeader
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.pcap.runs import RUN_PACKETS, DatagramRun, DatagramRuns
from pregao.io.captures import WINDOW_SIZE, CaptureSource, Window, open_capture
from pregao.model.errors import CaptureError

COMPRESSION_DAMAGED: Final = "compression-damaged"
UNKNOWN_LINK_TYPE: Final = "unknown-link-type"
T = TypeVar("T")


class Source(Protocol):
    """An open capture: `io.captures.CaptureSource`, or a file of a lake's plan."""

    @property
    def compression(self) -> str: ...

    @property
    def length(self) -> int:
        """Bytes of the capture given out so far."""

    def windows(self, window_size: int = ...) -> Iterator[Window]:
        """Each begins where the one before was consumed."""


class CaptureReader:
    """One pass over one capture, a datagram at a time, without arrays."""

    def __init__(self, file: str) -> None:
        self.file, self.reader = file, DatagramReader()

    def read(
        self, source: Source, window_size: int = WINDOW_SIZE
    ) -> Generator[Datagram | Skip | Finding, None, None]:
        """In the order of the file. CaptureError when it can no longer be read; damage of its compression is
        a finding, for what came before is good."""
        return read_windows(self.file, source, self.reader, self._of_window, window_size)

    def _of_window(self, window: Window) -> Iterator[Datagram | Skip | Damage]:
        return self.reader.outcomes(window.data)


def read_windows(
    file: str,
    source: Source,
    reader: DatagramReader,
    of_window: Callable[[Window], Iterable[T | Damage]],
    window_size: int,
) -> Generator[T | Finding, None, None]:
    """What is made of each window, with all that is wrong as findings, at the end too."""
    try:
        for window in source.windows(window_size):
            reader.skip_to(window.base, window.skipped)
            for item in of_window(window):
                yield damaged(file, item) if isinstance(item, Damage) else item
            window.consumed = reader.position - window.base
    except CaptureError as error:
        if source.compression == "none":
            raise
        yield Finding(file, COMPRESSION_DAMAGED, 0, error.offset, error.reason)
    for damage in reader.finish(source.length):
        yield damaged(file, damage)
    for linktype, packets in sorted(reader.unknown_links.items()):
        yield Finding(file, UNKNOWN_LINK_TYPE, 0, None, f"{packets} packets of link type {linktype} not read")


def damaged(file: str, damage: Damage) -> Finding:
    detail = f"{damage.left} bytes left" if damage.left else ""
    return Finding(file, damage.fault.label, damage.number, damage.offset, detail, left=damage.left)


# The datagrams of a capture by kernel, many at a time: see `captures.reader`.


class RunReader:
    """One pass over one capture. A run is valid until the next is asked for, and is of `window`."""

    window: Window

    def __init__(self, file: str, packets: int = RUN_PACKETS) -> None:
        self.file, self._runs = file, DatagramRuns(packets)

    @property
    def runs(self) -> DatagramRuns:
        return self._runs

    def read(
        self, source: Source, window_size: int = WINDOW_SIZE
    ) -> Generator[DatagramRun | Datagram | Finding, None, None]:
        """As `CaptureReader.read`. A Datagram by itself is unusual: in fragments, or of IPv6."""
        return read_windows(self.file, source, self._runs.reader, self._of_window, window_size)

    def _of_window(self, window: Window) -> Iterator[DatagramRun | Datagram | Damage]:
        self.window = window
        return self._runs.of_window(window.data, window.base)


# A large plain capture in parts that can be read apart: cut between records, each with the number of records
# before it, so that packets keep their numbers.


class Part(NamedTuple):
    """Bytes `start` to `end` of a file whose header has `head` bytes; `records` come before it."""

    head: int
    start: int
    end: int
    records: int


def parts_of(path: str, part_bytes: int, run_packets: int = RUN_PACKETS) -> list[Part]:
    """None but the whole file (an empty list) where it is short, compressed, or pcapng, whose blocks mean
    something only after those before them. Only headers of records are looked at."""
    with open_capture(path) as source:
        if source.compression != "none" or source.size <= part_bytes:
            return []
        reader, cuts = RunReader(path, run_packets), list[tuple[int, int]]()
        for item in reader.read(source):
            runs = reader.runs
            header = runs.reader.records.header
            if not isinstance(header, PcapHeader):
                return []
            if isinstance(item, Datagram | Finding):
                continue
            before = cuts[-1][0] if cuts else 0
            left = source.size - runs.position
            if runs.position - before >= part_bytes and left > part_bytes // 4:
                cuts.append((runs.position, runs.next_number - 1))
        if not isinstance(reader.runs.reader.records.header, PcapHeader):
            return []
        head = reader.runs.reader.records.header.header_size
        starts = [(head, 0), *cuts]
        ends = [*(start for start, _ in cuts), source.size]
    return [Part(head, start, end, records) for (start, records), end in zip(starts, ends, strict=True)]


class PartSource:
    """A part of an open capture, as a `Source` of `captures.reader`."""

    compression = "none"

    def __init__(self, source: CaptureSource, part: Part) -> None:
        self._source, self._part = source, part

    @property
    def length(self) -> int:
        return self._source.length

    def windows(self, window_size: int = WINDOW_SIZE) -> Iterator[Window]:
        return self._source.part(*self._part)
