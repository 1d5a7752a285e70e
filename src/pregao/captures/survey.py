"""The flows of a capture and what each of them carries, by kernel. Nothing is decoded; `glance` is the plain
twin."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.captures.glance import Survey
from pregao.codecs.pcap.kernels import ENDED_FULL, Run, take_run
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.pcap.runs import CaptureRuns
from pregao.feeds.identity import MARKS
from pregao.feeds.port import Header, Inspector
from pregao.feeds.registry import DEFAULT, load_system
from pregao.io.captures import Window, open_capture
from pregao.model.errors import CaptureError
from pregao.model.streams import Destination

_RUN_PACKETS: Final = 2048
_MOST_BYTES: Final = 1 << 40
_WINDOW: Final = 1 << 20

Array = np.ndarray[Any, np.dtype[Any]]


class _Adder:
    """Packets of a system to what is known of their flows."""

    def __init__(self, found: Survey, system: str) -> None:
        chosen = load_system(system)
        self._found = found
        self._headers: Header = chosen.headers(heartbeats=False)
        self._inspector: Inspector = chosen.inspector()

    def add(self, run: "_Taken") -> None:
        for number, destination in enumerate(run.destinations):
            mine = run.which == number
            self._add(destination, run.payloads, run.offsets[mine], run.lengths[mine])

    def _add(self, destination: Destination, payloads: Array, offsets: Array, lengths: Array) -> None:
        """Packets of one destination, by where they lie in `payloads`."""
        base = payloads.ctypes.data
        units = self._headers.read(base, offsets.ctypes.data, lengths.ctypes.data, len(offsets))
        channels, numbers = units.channel[: units.count], units.number[: units.count]
        numbered = numbers > 0  # no heartbeats
        for channel in np.unique(channels[numbered]).tolist():
            flow = self._found.flow(destination, channel)
            if flow is not None:
                mine = np.flatnonzero(numbered & (channels == channel))
                flow.units += len(mine)
                flow.versions.update(np.unique(units.epoch[mine]).tolist())
                seen = np.zeros(MARKS, np.uint8)
                self._inspector.look(base, units.offset[mine], units.length[mine], seen)
                flow.marks.update(np.flatnonzero(seen).tolist())


def survey(path: str, most_packets: int, system: str = DEFAULT) -> Survey:
    """Of so many packets from the beginning, a little more where the last come together; as `glance`."""
    found = Survey()
    adder = _Adder(found, system)
    with open_capture(path) as source:
        reader = _Reader()
        try:
            for window in source.windows(_WINDOW):
                for run in reader.runs(window):
                    adder.add(run)
                    found.packets += len(run.lengths)
                    if found.packets >= most_packets:
                        found.whole = False
                        return found
                window.consumed = reader.position - window.base
        except CaptureError:
            pass
    return found


class _Taken(NamedTuple):
    payloads: Array
    offsets: Array
    lengths: Array
    destinations: list[Destination]
    which: Array  # of them, for each packet


class _Reader:
    """Datagrams in runs, with the plain chain for what is unusual."""

    def __init__(self) -> None:
        self._runs = CaptureRuns()
        self._times, self._offsets, self._flows, self._numbers = (
            np.empty(_RUN_PACKETS, np.int64) for _ in range(4)
        )
        self._lengths = np.empty(_RUN_PACKETS, np.uint32)
        self._skipped = np.zeros(256, np.int64)
        columns = (self._times, self._offsets, self._lengths, self._flows, self._numbers)
        self._run = Run(*(column.ctypes.data for column in columns))

    @property
    def position(self) -> int:
        return self._runs.position

    def runs(self, window: Window) -> Iterator[_Taken]:
        # numpy makes no array of nothing.
        payloads: Array = np.frombuffer(window.data if len(window.data) else b"\0", np.uint8)
        while True:
            full = False
            if self._runs.begin(window.data):
                count, full = self._kernel(payloads, len(window.data), window.base)
                if count:
                    yield self._taken(payloads, count)
            if full:
                continue
            outcomes = self._runs.step(window.data, window.base)
            if outcomes is None:
                return
            yield from (_single(each) for each in outcomes if isinstance(each, Datagram))

    def _kernel(self, payloads: Array, size: int, base: int) -> tuple[int, bool]:
        runs = self._runs
        start = runs.position - base
        position, count, number, _, why = take_run(
            payloads.ctypes.data, start, size, runs.shape, runs.next_number, self._run, 0, _RUN_PACKETS,
            _MOST_BYTES, self._skipped.ctypes.data,
        )  # fmt: skip
        runs.took(position - start, number - runs.next_number)
        return count, why == ENDED_FULL

    def _taken(self, payloads: Array, count: int) -> _Taken:
        flows, which = np.unique(self._flows[:count], return_inverse=True)
        destinations = [Destination(4, flow >> 16, flow & 0xFFFF) for flow in flows.tolist()]
        return _Taken(payloads, self._offsets[:count], self._lengths[:count], destinations, which)


def _single(datagram: Datagram) -> _Taken:
    destination = Destination(datagram.ip_version, datagram.dst, datagram.dst_port)
    payload: Array = np.frombuffer(bytes(datagram.payload) or b"\0", np.uint8)
    lengths = np.array([len(datagram.payload)], np.uint32)
    return _Taken(payload, np.zeros(1, np.int64), lengths, [destination], np.zeros(1, np.int64))
