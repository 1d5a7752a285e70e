"""The datagrams of a capture by kernel (see `captures.reader`), and large plain captures in parts."""

from collections.abc import Generator, Iterator
from typing import NamedTuple

from pregao.captures.decoded import Finding
from pregao.captures.reader import Source, read_windows
from pregao.codecs.pcap.formats import PcapHeader
from pregao.codecs.pcap.outcomes import Damage, Datagram
from pregao.codecs.pcap.runs import RUN_PACKETS, DatagramRun, DatagramRuns
from pregao.io.captures import WINDOW_SIZE, CaptureSource, Window, open_capture


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


class CapturePart(NamedTuple):
    """Bytes `start` to `end` of a file whose header has `head` bytes; `records` come before it."""

    head: int
    start: int
    end: int
    records: int


def parts_of(path: str, part_bytes: int, run_packets: int = RUN_PACKETS) -> list[CapturePart]:
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
    return [
        CapturePart(head, start, end, records) for (start, records), end in zip(starts, ends, strict=True)
    ]


class PartSource:
    """A part of an open capture, as a `Source` of `captures.reader`."""

    compression = "none"

    def __init__(self, source: CaptureSource, part: CapturePart) -> None:
        self._source, self._part = source, part

    @property
    def length(self) -> int:
        return self._source.length

    def windows(self, window_size: int = WINDOW_SIZE) -> Iterator[Window]:
        return self._source.part(*self._part)
