"""One capture file to its index: a task of its own."""

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from pregao.captures.glance import FlowFacts
from pregao.captures.streams import configured_stream, identify, stream_of_file_name
from pregao.codecs.pcap.formats import MAGIC_SIZE
from pregao.feeds.identity import UNTOLD_CHANNEL
from pregao.feeds.port import Header, KeepsParts, SchemaInspector, UnitPart, UnitReader
from pregao.feeds.registry import DEFAULT, load_system
from pregao.feeds.wire import WiredSystem
from pregao.lake.plan.captures import (
    PIECE_PACKETS,
    CaptureLayout,
    PiecePackets,
    flow_headers,
    open_layout,
    read_units,
    unit_headers,
    walk_capture,
)
from pregao.lake.plan.contents import RANGE_BYTES, CaptureForm, ContentHash, NotInFramesError
from pregao.lake.plan.flows import PAUSE_NS, CalendarDays, Flow, UnitsRead, newest_events, pairs
from pregao.lake.plan.index import (
    NUMBER_BITS,
    PIECE,
    Array,
    FileIndex,
    LeftOutFlow,
    StreamIndex,
    count_unknown,
)
from pregao.lake.plan.loops import LoopReader
from pregao.lake.plan.marks import MarkReader
from pregao.lake.plan.presence import runs_of, union
from pregao.lake.plan.stored import LocalFile, Stored, look
from pregao.lake.store.location import is_remote
from pregao.model.channel_map import ChannelMap
from pregao.model.errors import CaptureError, Fault
from pregao.model.streams import Destination, Stream

_HASHED_AT_ONCE: Final = 1 << 20  # bytes, of whole stripes
_NO_CAPTURE: Final = f"{Fault.NOT_A_CAPTURE.label} at byte 0"


@dataclass(frozen=True, slots=True)
class ScanSettings:
    channels: ChannelMap | None = None
    scratch: str = ""
    piece_packets: int = PIECE_PACKETS
    system: str = DEFAULT
    range_bytes: int = RANGE_BYTES  # of a plain file that is larger: see `ranges`


def scan_capture(path: str, settings: ScanSettings | None = None) -> FileIndex:
    """CaptureError when it cannot be read at all; damage inside is in the layout."""
    settings = settings or ScanSettings()
    layout, scanner = _scan(path, settings)
    if not scanner.is_settled:  # read again, with what is known now of what each flow is
        layout, scanner = _scan(path, settings, scanner.verdicts)
    return index_of(layout, scanner, settings)


def index_of(layout: CaptureLayout, scanner: "Scanner", settings: ScanSettings) -> FileIndex:
    """What a scan has found."""
    stored, path = layout.stored, layout.path
    if stored.size >= MAGIC_SIZE and not layout.pieces and _NO_CAPTURE in layout.damage:
        raise CaptureError("is not a capture", file=path)
    streams, left_out = scanner.finish()
    content, layout.content = layout.content or content_of(stored), None
    index = FileIndex(path, stored.size, stored.version, content, layout, streams, left_out, settings.system)
    if look(path) != stored:
        raise CaptureError("changes while it is read", file=path)
    return index


def _scan(
    path: str, settings: ScanSettings, verdicts: "Verdicts | None" = None
) -> tuple[CaptureLayout, "Scanner"]:
    layout = open_layout(path, settings.scratch, settings.system)
    try:
        return layout, _scanned(layout, settings, verdicts)
    except NotInFramesError:
        layout = CaptureLayout(layout.stored, CaptureForm.UNPACKED, settings.scratch)
        return layout, _scanned(layout, settings, verdicts)


def _scanned(layout: CaptureLayout, settings: ScanSettings, verdicts: "Verdicts | None") -> "Scanner":
    scanner = Scanner(layout.path, settings, verdicts or {})
    for number, packets in walk_capture(layout, settings.piece_packets, settings.range_bytes):
        scanner.take(number, packets)
    scanner.judge()
    return scanner


def content_of(stored: Stored) -> str:
    """A hash of all bytes; of an object what its store says of them, for which nothing is read."""
    if is_remote(stored.path):
        return f"version {stored.version}"
    file, found = LocalFile(stored.path, stored.size), ContentHash(stored.size)
    try:
        for start in range(0, stored.size, _HASHED_AT_ONCE):
            found.take(start, file.bytes_between(start, min(start + _HASHED_AT_ONCE, stored.size)))
    finally:
        file.close()
    return str(found.value())


Verdicts = dict[tuple[int, int], Stream]  # by flow and channel


class Scanner:
    """One pass over a file. `verdicts` are those of a pass before, which did not know them from the start:
    what a flow is may show only when all of it has been seen."""

    def __init__(self, path: str, settings: ScanSettings, verdicts: Verdicts) -> None:
        self._by_name, self._channels = stream_of_file_name(path), settings.channels
        self._told, self._facts = verdicts, list[FlowFacts]()
        self._system = settings.system
        self._flows: dict[tuple[int, int], Flow] = {}
        chosen = load_system(settings.system)
        self._headers, self._identity = unit_headers(settings.system), chosen.identity
        self._wired = chosen if isinstance(chosen, WiredSystem) else None
        self._by_calendar = chosen.policy.dates_by_time
        self._opened: dict[int, tuple[int, Header]] = {}  # of wired systems: channel and headers by flow
        self._inspector = chosen.inspector()
        self._schema = self._inspector if isinstance(self._inspector, SchemaInspector) else None

    def take(self, piece: int, packets: PiecePackets) -> None:
        if self._wired is not None:
            for flow in np.unique(packets.flow).tolist():
                self._take_flow(flow, piece, packets)
            return
        units = self._headers.read(0, packets.address.ctypes.data, packets.length.ctypes.data, len(packets))
        read = UnitsRead.of(packets, units)
        counted = read.number > 0  # heartbeats are no part of the sequence
        whole = bool(counted.all())
        flows = read.packets.flow if whole else read.packets.flow[counted]
        channels = read.channel if whole else read.channel[counted]
        for flow, channel in pairs(flows, channels):
            mine = counted & (read.packets.flow == flow) & (read.channel == channel)
            self._take(self._flow(flow, channel), piece, read if bool(mine.all()) else read.pick(mine))

    def _take_flow(self, number: int, piece: int, packets: PiecePackets) -> None:
        """Packets that are not understood without those before them, and that do not say their channel: the
        configuration does, or the file's name."""
        if number not in self._opened:
            configured = configured_stream(self._channels, Destination.of_flow(number))
            channel = (self._by_name if configured is None else configured).channel or UNTOLD_CHANNEL
            self._opened[number] = channel, flow_headers(self._system, channel)
            opened = self._opened[number][1]
            if isinstance(opened, KeepsParts):
                opened.keep_parts()
        channel, headers = self._opened[number]
        mark = headers.mark()
        read = UnitsRead.of(packets, read_units(headers, packets, number, mark, with_times=True))
        counted = (read.number > 0) & (read.channel == channel)
        if counted.any():
            flow = self._flow(number, channel)
            flow.resumes.append(mark)
            self._take(flow, piece, read if bool(counted.all()) else read.pick(counted))

    def _flow(self, flow: int, channel: int) -> Flow:
        key = flow, channel
        if key not in self._flows:
            configured = configured_stream(self._channels, Destination.of_flow(flow))
            known = Stream.UNKNOWN if configured is None else configured.stream
            self._flows[key] = Flow(channel, flow, self._told.get(key, known))
            self._flows[key].wire = None if self._wired is None else self._wired.wire(channel)
            self._flows[key].days = CalendarDays() if self._by_calendar else None
        return self._flows[key]

    def _stream_of(self, flow: Flow) -> Stream:
        if flow.stream is not Stream.UNKNOWN:
            return flow.stream
        proven = self._identity.stream_of(set(np.flatnonzero(flow.seen).tolist()))
        return self._by_name.stream if proven is Stream.UNKNOWN else proven

    def _take(self, flow: Flow, piece: int, read: UnitsRead) -> None:
        units, sent = read.packets, read.sent_ns
        looked = self._inspector.look(0, units.address, units.length, flow.seen)
        keys = self._keys(flow, read)
        if self._schema is not None:
            count_unknown(flow.unknown, self._schema.unknown(0, units.address, units.length), keys, sent)
        flow.pieces.append(
            (piece, len(units), looked.messages, int(keys.min()), int(keys.max()), int(sent[0]),
             int(sent[-1]))
        )  # fmt: skip
        self._take_presence(flow, keys, sent)
        stream = self._stream_of(flow)
        flow.read_as.add(stream)
        if stream is Stream.SNAPSHOT:
            flow.loops = flow.loops or LoopReader(self._system, _reader(flow, stream))
            flow.loops.take(units, keys, sent)
        elif stream in (Stream.INCREMENTAL, Stream.DEFINITION):
            flow.marks = flow.marks or MarkReader(
                flow.channel, stream, self._system, _reader(flow, Stream.DEFINITION)
            )
            chosen = looked.noted
            if len(chosen):
                flow.marks.take(units.pick(chosen), keys[chosen], sent[chosen])
        if stream is Stream.INCREMENTAL and flow.days is not None:
            flow.days.take(keys, sent, partial(newest_events, self._system, units, keys))

    def _take_presence(self, flow: Flow, keys: Array, sent: Array) -> None:
        """Which numbers are there, and where nothing was sent for long."""
        flow.runs.append(runs_of(keys, sent))
        if flow.last_ns is None:
            flow.first = int(keys[0]), int(sent[0])
        after = np.flatnonzero(np.diff(sent, prepend=flow.last_ns or sent[0]) > PAUSE_NS)
        flow.pauses += zip(keys[after].tolist(), sent[after].tolist(), strict=True)
        flow.last_ns = int(sent[-1])

    def _keys(self, flow: Flow, read: UnitsRead) -> Array:
        versions = read.epoch
        if versions[0] not in flow.versions or (versions != versions[0]).any():
            _, firsts = np.unique(versions, return_index=True)
            for first in sorted(firsts.tolist()):
                if int(versions[first]) not in flow.versions:
                    flow.versions[int(versions[first])] = len(flow.versions)
                    flow.version_ns.append(int(read.sent_ns[first]))
        if (versions == versions[0]).all():
            places: Array = read.number + (flow.versions[int(versions[0])] << NUMBER_BITS)
            return places
        known, which = np.unique(versions, return_inverse=True)
        numbers = np.array([flow.versions[int(version)] for version in known], np.int64)
        mixed: Array = read.number + (numbers[which] << NUMBER_BITS)
        return mixed

    @property
    def flows(self) -> dict[tuple[int, int], Flow]:
        return self._flows

    def join(self, flows: dict[tuple[int, int], Flow], pieces: int) -> bool:
        """What a later range of the file has, in place of taking its pieces; see `Flow.append`."""
        return all(self._flow(*key).append(later, pieces, self._system) for key, later in flows.items())

    def judge(self) -> None:
        """All has been seen: what is each flow?"""
        self._facts = [
            FlowFacts(
                flow.channel, Destination.of_flow(flow.flow), set(np.flatnonzero(flow.seen).tolist()),
                set(flow.versions), sum(piece[1] for piece in flow.pieces),
            )
            for flow in self._flows.values()
        ]  # fmt: skip
        identify(self._facts, self._by_name, self._channels, self._identity)

    @property
    def verdicts(self) -> Verdicts:
        return {key: facts.stream for key, facts in zip(self._flows, self._facts, strict=True)}

    @property
    def is_settled(self) -> bool:
        """Whether every flow was read as what it is."""
        return all(flow.read_as == {self.verdicts[key]} for key, flow in self._flows.items())

    def finish(self) -> tuple[list[StreamIndex], list[LeftOutFlow]]:
        both = list(zip(self._flows.values(), self._facts, strict=True))
        told = [self._index(flow, facts) for flow, facts in both if self._why_not(facts) is None]
        reasons = [(facts.channel, self._why_not(facts)) for facts in self._facts]
        return told, [LeftOutFlow(channel, f"{why}; left out") for channel, why in reasons if why is not None]

    def _left_parts(self, flow: int) -> list[UnitPart]:
        """Of units that are not whole in this file."""
        _, headers = self._opened.get(flow, (UNTOLD_CHANNEL, None))
        return headers.left_parts() if isinstance(headers, KeepsParts) else []

    def _why_not(self, facts: FlowFacts) -> str | None:
        """Why nothing can be made of a flow; None: it can."""
        if self._wired is not None and facts.channel == UNTOLD_CHANNEL:
            where = f"{facts.units:,} units to {facts.destination}"
            return f"the channel of {where} is told neither by the file's name nor by the configuration"
        return facts.why_untold() if facts.stream is Stream.UNKNOWN else None

    def _index(self, flow: Flow, facts: FlowFacts) -> StreamIndex:
        """A feed that only other files can tell is named with all of them: see `units`."""
        stream = facts.stream
        index = StreamIndex(
            flow.channel, stream, facts.feed, flow.flow, list(flow.versions), flow.version_ns,
            np.array(flow.pieces, PIECE), unknown=list(flow.unknown.values()), resumes=flow.resumes,
            learned=b"" if flow.wire is None else flow.wire.learned(),
        )  # fmt: skip
        index.parts = self._left_parts(flow.flow)
        if stream is Stream.INCREMENTAL:
            index.pauses = flow.pauses
            index.days = [] if flow.days is None else flow.days.begins
        if stream in (Stream.INCREMENTAL, Stream.SNAPSHOT):
            index.runs = union(flow.runs)
        if flow.loops is not None:
            index.snapshots, index.loops = flow.loops.finish()
        if flow.marks is not None:
            index.marks, index.definitions, index.news = flow.marks.finish()
        return index


def _reader(flow: Flow, stream: Stream) -> UnitReader | None:
    """Of its own, where a channel must have one."""
    return None if flow.wire is None else flow.wire.reader(stream)
