"""A capture file as runs of packets, as the merge takes them: columns, and where the payloads are."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pregao.captures.decode import COMPRESSION_DAMAGED
from pregao.captures.decoded import Endpoint, Finding
from pregao.captures.readable import unknown_links
from pregao.captures.replay.sources import FileSources
from pregao.codecs.pcap.kernels import ENDED_FULL, Run, take_run
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.pcap.runs import CaptureRuns
from pregao.io.captures import WINDOW_SIZE, CaptureSource, Window, open_capture
from pregao.model.errors import CaptureError
from pregao.model.packets import Bytes

RUN_PACKETS = 2048
_MOST_BYTES = 1 << 40
_EARLIEST = -(1 << 63)
LATEST_KEY = (1 << 63) - 2  # a time clamped to the largest number must still be before "never"

Array = np.ndarray[Any, np.dtype[Any]]


class Columns:
    """Room for the packets of a run."""

    def __init__(self, packets: int) -> None:
        self.ts, self.key, self.offset, self.flow, self.number = (
            np.empty(packets, np.int64) for _ in range(5)
        )
        self.length = np.empty(packets, np.uint32)
        self.source = np.empty(packets, np.uint16)

    @property
    def run(self) -> Run:
        arrays = (self.ts, self.offset, self.length, self.flow, self.number)
        return Run(*(array.ctypes.data for array in arrays))


@dataclass(frozen=True, slots=True)
class PacketRun:
    """Packets of one file with their payloads in `payloads`, valid until the next run is asked for."""

    columns: Columns
    count: int
    payloads: Bytes  # offsets count from here


@dataclass(slots=True)
class Findings:
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
        self, file: str, sources: FileSources, findings: Findings, packets: int = RUN_PACKETS
    ) -> None:
        self._file, self._sources, self._findings = file, sources, findings
        self._columns = Columns(packets)
        self._single = Columns(1)
        self._run, self._packets = self._columns.run, packets
        self._runs = CaptureRuns()
        self._skipped = np.zeros(256, np.int64)
        self._last_key = _EARLIEST

    def runs(self, window_size: int = WINDOW_SIZE) -> Generator[PacketRun, None, None]:
        with open_capture(self._file) as source:
            try:
                for window in source.windows(window_size):
                    yield from self._window(window)
                    window.consumed = self._runs.position - window.base
            except CaptureError as error:
                if source.compression == "none":
                    raise
                self._found(COMPRESSION_DAMAGED, 0, error.offset, error.reason)
            self._finish(source)

    def _finish(self, source: CaptureSource) -> None:
        for damage in self._runs.reader.finish(source.length):
            self._damaged(damage)
        for finding in unknown_links(self._file, self._runs.reader):
            self._findings.add(finding)

    def _window(self, window: Window) -> Iterator[PacketRun]:
        # numpy makes no array of nothing.
        payloads = np.frombuffer(window.data if len(window.data) else b"\0", np.uint8)
        while True:
            full = False
            if self._runs.begin(window.data):
                count, full = self._kernel(payloads, len(window.data), window.base)
                if count:
                    yield self._finished(PacketRun(self._columns, count, payloads))
            if full:
                continue
            # Unusual, or the window's end: the plain reader says what to make of it.
            outcomes = self._runs.step(window.data, window.base)
            if outcomes is None:
                return
            for outcome in outcomes:
                if isinstance(outcome, Datagram):
                    yield self._finished(self._one(outcome))
                elif isinstance(outcome, Damage):
                    self._damaged(outcome)
                else:
                    self._skip(outcome)

    def _kernel(self, payloads: Bytes, size: int, base: int) -> tuple[int, bool]:
        """How many datagrams were taken, and whether there may be more."""
        runs, columns = self._runs, self._columns
        start = runs.position - base
        position, count, number, _, why = take_run(
            payloads.ctypes.data, start, size, runs.shape, runs.next_number, self._run, 0, self._packets,
            _MOST_BYTES, self._skipped.ctypes.data,
        )  # fmt: skip
        runs.took(position - start, number - runs.next_number)
        if count:
            self._number_sources(columns, count, payloads)
        return count, why == ENDED_FULL

    def _number_sources(self, columns: Columns, count: int, payloads: Bytes) -> None:
        flows = columns.flow[:count]
        if (flows == flows[0]).all():  # nearly always
            columns.source[:count] = self._source(int(flows[0]), columns, 0, payloads)
            return
        different, firsts, places = np.unique(flows, return_index=True, return_inverse=True)
        numbers = [
            self._source(int(flow), columns, int(first), payloads)
            for flow, first in zip(different, firsts, strict=True)
        ]
        columns.source[:count] = np.array(numbers, np.uint16)[places]

    def _source(self, flow: int, columns: Columns, row: int, payloads: Bytes) -> int:
        start = int(columns.offset[row])
        payload = payloads.data[start : start + int(columns.length[row])]
        return self._sources.number(Endpoint(4, flow >> 16, flow & 0xFFFF), payload)

    def _one(self, datagram: Datagram) -> PacketRun:
        """A datagram that the plain chain found, as a run of its own."""
        columns = self._single
        destination = Endpoint(datagram.ip_version, datagram.dst, datagram.dst_port)
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

    def _damaged(self, damage: Damage) -> None:
        detail = f"{damage.left} bytes left" if damage.left else ""
        self._found(damage.fault.label, damage.number, damage.offset, detail)

    def _found(self, name: str, packet: int, offset: int | None, detail: str) -> None:
        self._findings.add(Finding(self._file, name, packet, offset, detail))

    def _skip(self, skip: Skip) -> None:
        self._skipped[skip] += 1
