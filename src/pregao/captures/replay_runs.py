"""A capture file as runs of packets, as the merge takes them: columns, and where the payloads are."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pregao.captures.decoded import Finding, SocketAddress
from pregao.captures.runs import RunReader
from pregao.captures.streams import CaptureStreams, stream_of_file_name
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.pcap.runs import RUN_PACKETS, DatagramRun
from pregao.feeds.registry import DEFAULT
from pregao.io.captures import WINDOW_SIZE, open_capture
from pregao.model.channel_map import ChannelMap
from pregao.model.packets import MAX_SOURCES, Bytes
from pregao.model.streams import Destination, StreamId

# Which stream, feed and channel the packets of a replay belong to: see `captures.streams`.


@dataclass(frozen=True, slots=True)
class ReplaySource:
    """Where packets come from; `id` says what is not known with UNKNOWN and None."""

    id: StreamId
    destination: SocketAddress
    file: str  # the first in which it was met


class Sources:
    """Numbered as they are met. Rotated files of one stream have one source."""

    def __init__(self, files: Sequence[str], channels: ChannelMap | None, system: str = DEFAULT) -> None:
        self.all: list[ReplaySource] = []
        self.streams = CaptureStreams(files, channels, system)
        self._numbers: dict[tuple[StreamId, SocketAddress, str], int] = {}

    def of_file(self, file: str) -> "FileSources":
        return FileSources(self, file)

    def number(self, source: ReplaySource) -> int:
        """More sources than a batch can tell apart share the last number."""
        known = source.id.channel is not None and source.id.stream and source.id.feed
        key = (source.id, source.destination, "" if known else source.file)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = min(len(self.all), MAX_SOURCES - 1)
            if number == len(self.all):
                self.all.append(source)
        return number


class FileSources:
    """The sources of one file, by destination."""

    def __init__(self, sources: Sources, file: str) -> None:
        self._sources, self._file = sources, file
        self._numbers: dict[SocketAddress, int] = {}

    def number(self, destination: SocketAddress, payload: memoryview) -> int:
        """The number of a destination; `payload` is its first packet, whose header names the channel."""
        number = self._numbers.get(destination)
        if number is None:
            identity = self._identify(destination, payload)
            source = ReplaySource(identity, destination, self._file)
            number = self._numbers[destination] = self._sources.number(source)
        return number

    def _identify(self, destination: SocketAddress, payload: memoryview) -> StreamId:
        channel = self._sources.streams.identity.channel_of(payload)
        if channel is None:
            return stream_of_file_name(self._file)
        place = Destination(destination.ip_version, destination.address, destination.port)
        return self._sources.streams.of(self._file, place, channel)


_EARLIEST = -(1 << 63)
LATEST_KEY = (1 << 63) - 2  # a time clamped to the largest number must still be before "never"

Array = np.ndarray[Any, np.dtype[Any]]


class RunColumns:
    """Packets of a run: those of its datagrams, with their keys and sources."""

    def __init__(self, packets: int) -> None:
        self.ts, self.key, self.offset = (np.empty(packets, np.int64) for _ in range(3))
        self.length = np.empty(packets, np.uint32)
        self.source = np.empty(packets, np.uint16)


@dataclass(frozen=True, slots=True)
class PacketRun:
    """Packets of one file with their payloads in `payloads`, valid until the next run is asked for."""

    columns: RunColumns
    count: int
    payloads: Bytes  # offsets count from here


@dataclass(slots=True)
class ReplayFindings:
    """What was wrong in the files; all are counted, the first of them kept."""

    kept: list[Finding] = field(default_factory=list)
    count: int = 0
    most: int = 1000

    def add(self, finding: Finding) -> None:
        self.count += 1
        if len(self.kept) < self.most:
            self.kept.append(finding)


class FileRuns:
    """One pass over one capture. `key` is the time, but never before that of an earlier packet."""

    def __init__(
        self, file: str, sources: FileSources, findings: ReplayFindings, packets: int = RUN_PACKETS
    ) -> None:
        self._sources, self._findings, self._file = sources, findings, file
        self._columns, self._single = RunColumns(packets), RunColumns(1)
        self._reader = RunReader(file, packets)
        self._last_key = _EARLIEST

    def runs(self, window_size: int = WINDOW_SIZE) -> Generator[PacketRun, None, None]:
        with open_capture(self._file) as source, closing(self._reader.read(source, window_size)) as items:
            for item in items:
                if isinstance(item, Finding):
                    self._findings.add(item)
                elif isinstance(item, Datagram):
                    yield self._finished(self._one(item))
                else:
                    yield self._finished(self._run(item))

    def _run(self, run: DatagramRun) -> PacketRun:
        columns = self._columns
        columns.ts, columns.offset, columns.length = run.columns.ts, run.columns.offset, run.columns.length
        self._number_sources(columns, run.columns.flow[: run.count], run.payloads)
        return PacketRun(columns, run.count, run.payloads)

    def _number_sources(self, columns: RunColumns, flows: Array, payloads: Bytes) -> None:
        count = len(flows)
        if (flows == flows[0]).all():  # nearly always
            columns.source[:count] = self._source(int(flows[0]), columns, 0, payloads)
            return
        different, firsts, places = np.unique(flows, return_index=True, return_inverse=True)
        numbers = [
            self._source(int(flow), columns, int(first), payloads)
            for flow, first in zip(different, firsts, strict=True)
        ]
        columns.source[:count] = np.array(numbers, np.uint16)[places]

    def _source(self, flow: int, columns: RunColumns, row: int, payloads: Bytes) -> int:
        start = int(columns.offset[row])
        payload = payloads.data[start : start + int(columns.length[row])]
        return self._sources.number(SocketAddress(*Destination.of_flow(flow)), payload)

    def _one(self, datagram: Datagram) -> PacketRun:
        """A datagram that the plain chain found, as a run of its own."""
        columns = self._single
        destination = SocketAddress(datagram.ip_version, datagram.dst, datagram.dst_port)
        columns.ts[0], columns.offset[0], columns.length[0] = datagram.ts_ns, 0, len(datagram.payload)
        columns.source[0] = self._sources.number(destination, datagram.payload)
        return PacketRun(columns, 1, np.frombuffer(bytes(datagram.payload) or b"\0", np.uint8))

    def _finished(self, run: PacketRun) -> PacketRun:
        key, ts = run.columns.key[: run.count], run.columns.ts[: run.count]
        np.maximum.accumulate(ts, out=key)
        if key[0] < self._last_key:
            np.maximum(key, self._last_key, out=key)
        if key[-1] > LATEST_KEY:
            np.minimum(key, LATEST_KEY, out=key)
        self._last_key = int(key[-1])
        return run
