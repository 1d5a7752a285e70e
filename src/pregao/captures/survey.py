"""The flows of a capture and what each of them carries, by kernel. Nothing is decoded; `glance` is the plain
twin."""

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from pregao.captures.decoded import Finding
from pregao.captures.glance import Survey
from pregao.captures.runs import RunReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.pcap.runs import DatagramRun
from pregao.feeds.identity import MARKS
from pregao.feeds.port import Header, Inspector
from pregao.feeds.registry import DEFAULT, load_system
from pregao.io.captures import open_capture
from pregao.model.errors import CaptureError
from pregao.model.streams import Destination

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
    with open_capture(path) as source, suppress(CaptureError):
        for item in RunReader(path).read(source):
            if isinstance(item, Finding):
                continue
            run = _single(item) if isinstance(item, Datagram) else _taken(item)
            adder.add(run)
            found.packets += len(run.lengths)
            if found.packets >= most_packets:
                found.whole = False
                break
    return found


class _Taken(NamedTuple):
    payloads: Array
    offsets: Array
    lengths: Array
    destinations: list[Destination]
    which: Array  # of them, for each packet


def _taken(run: DatagramRun) -> _Taken:
    columns, count = run.columns, run.count
    flows, which = np.unique(columns.flow[:count], return_inverse=True)
    destinations = [Destination.of_flow(flow) for flow in flows.tolist()]
    return _Taken(run.payloads, columns.offset[:count], columns.length[:count], destinations, which)


def _single(datagram: Datagram) -> _Taken:
    destination = Destination(datagram.ip_version, datagram.dst, datagram.dst_port)
    payload: Array = np.frombuffer(bytes(datagram.payload) or b"\0", np.uint8)
    lengths = np.array([len(datagram.payload)], np.uint32)
    return _Taken(payload, np.zeros(1, np.int64), lengths, [destination], np.zeros(1, np.int64))
