"""Capture files in pieces that can be read on their own, by whoever has the index of the file.

A piece is a run of ordinary records: of a plain file by its offsets, of our recordings a zstd frame. Files
are read by ranges, by each slice those of its own pieces.
A record that the kernel does not take (a fragment, IPv6, a block of pcapng that is no packet) ends a piece;
its datagram, if it has one, is kept in the index itself, for there are few.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.captures.decoded import Finding
from pregao.captures.reader import Source
from pregao.captures.runs import RunReader
from pregao.codecs.pcap.kernels import INTERFACE_SIZE, Shape
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.pcap.runs import CaptureRuns, DatagramRun, read_run
from pregao.feeds.port import Came, Header, UnitReader
from pregao.feeds.registry import DEFAULT, load_system, load_tabled_system
from pregao.feeds.wire import WiredSystem
from pregao.lake.plan.contents import RANGE_BYTES, CaptureForm, Content, FrameWindow, form_of
from pregao.lake.plan.framed import is_framed_file
from pregao.lake.plan.stored import Stored, look
from pregao.lake.store.location import is_remote
from pregao.model.packets import Units
from pregao.model.streams import Destination, Feed, Stream

# Readers of this process: to make one takes a quarter of a second, so tasks share them.
#
# A reader's rows are its own memory, so each use that may go on beside another has one for itself. It is of
# no channel: whoever reads definitions says whose they are.


_NO_CHANNEL: Final = 0


@lru_cache(maxsize=16)
def row_reader(use: str, system: str = DEFAULT) -> UnitReader:
    return load_tabled_system(system).reader(_NO_CHANNEL)


@lru_cache(maxsize=4)
def unit_headers(system: str = DEFAULT) -> Header:
    """Its units are to be done with before the next are read."""
    return load_system(system).headers(heartbeats=False)


# Where bytes of a channel are not understood without what came before, or without what its other streams say
# (`feeds.wire`), each stream has readers of its own.


def needs_wire(system: str) -> bool:
    return isinstance(load_system(system), WiredSystem)


def channel_reader(use: str, system: str, channel: int, stream: Stream, learned: bytes = b"") -> UnitReader:
    """`learned`: what is known of the channel by others of its streams."""
    return _wired_reader(use, system, channel, stream, learned) or row_reader(use, system)


@lru_cache(maxsize=16)
def _wired_reader(use: str, system: str, channel: int, stream: Stream, learned: bytes) -> UnitReader | None:
    chosen = load_system(system)
    if not isinstance(chosen, WiredSystem):
        return None
    wire = chosen.wire(channel)
    wire.learn(learned)
    return wire.reader(stream)


def flow_headers(system: str, channel: int) -> Header:
    chosen = load_system(system)
    return (
        chosen.wire(channel).headers(Stream.INCREMENTAL)
        if isinstance(chosen, WiredSystem)
        else (unit_headers(system))
    )


def read_units(
    headers: Header, packets: "PiecePackets", flow: int, resume: bytes | None, *, with_times: bool = False
) -> Units:
    """The units of a piece. `resume`: what is known of the packets of its flow before it, where that is
    needed; then there are those of the flow alone. `with_times`: the header is told when packets came."""
    where = packets.address.ctypes.data, packets.length.ctypes.data
    if resume is None:
        return headers.read(0, *where, len(packets))
    headers.resume(resume)
    mine = np.flatnonzero(packets.flow == flow).astype(np.uint32)
    if not with_times:
        return headers.read(0, *where, len(mine), mine.ctypes.data)
    sources, times = np.zeros(len(packets), np.uint16), np.ascontiguousarray(packets.ts, np.int64)
    came = Came(sources.ctypes.data, times.ctypes.data, _ONE_FEED.ctypes.data)
    return headers.read(0, *where, len(mine), mine.ctypes.data, came)


Array = np.ndarray[Any, np.dtype[Any]]
_ONE_FEED: Final = np.array([Feed.A], np.uint8)  # of whatever feed: files are of one each

PIECE_PACKETS: Final = 4096
_NO_FRAME: Final = -1
# Of a plain file at its first reading: of this machine, and of a store, where a request takes long.
_WINDOW: Final = 4 << 20
_REMOTE_WINDOW: Final = 32 << 20


class CapturePiece(NamedTuple):
    """Bytes `start` to `end` of the capture (of a frame: of its content); `shape` is which of the file's."""

    start: int
    end: int
    frame: int  # -1: of the file itself
    shape: int
    packets: int

    @classmethod
    def of_odd(cls) -> "CapturePiece":
        """Of a datagram that the index itself has."""
        return cls(0, 0, _NO_FRAME, 0, 1)


class PiecePackets(NamedTuple):
    """Datagrams of a piece: addresses are absolute, and hold as long as `owner` does."""

    ts: Array
    address: Array
    length: Array
    flow: Array
    owner: Any

    def __len__(self) -> int:
        return len(self.ts)

    def pick(self, which: Array) -> "PiecePackets":
        return PiecePackets(
            self.ts[which], self.address[which], self.length[which], self.flow[which], self.owner
        )


@dataclass(slots=True)
class CaptureLayout:
    """What it takes to read pieces of a file again: goes with the index to the tasks."""

    stored: Stored
    form: CaptureForm
    scratch: str = ""
    shapes: list[tuple[Any, ...]] = field(default_factory=list)  # Shape without addresses, interfaces
    pieces: list[CapturePiece] = field(default_factory=list)
    odd: dict[int, tuple[int, bytes, int]] = field(default_factory=dict)  # by piece: ts, payload, flow
    damage: list[str] = field(default_factory=list)
    content: str | None = None  # a hash of its bytes, where they were read from the first to the last
    framed_by: str = ""  # the system whose messages it has without datagrams

    @property
    def path(self) -> str:
        """As it was named to us."""
        return self.stored.path


def open_layout(path: str, scratch: str = "", system: str = "") -> CaptureLayout:
    """Of a capture as it is now, still without pieces; or of a file in which a system has framed messages."""
    if system and is_framed_file(path, system):
        return CaptureLayout(look(path), CaptureForm.FRAMED, scratch, framed_by=system)
    return CaptureLayout(look(path), form_of(path), scratch)


def _kept_shape(runs: CaptureRuns) -> tuple[Any, ...]:
    return (*runs.shape[:4], runs.interfaces.tobytes())


class PieceReader:
    """Pieces of one file, in any order."""

    def __init__(self, layout: CaptureLayout) -> None:
        self._layout = layout
        self._content: Content | None = None
        self._shapes: list[tuple[Shape, Array]] = [_shape(kept) for kept in layout.shapes]

    def read(self, number: int) -> PiecePackets:
        """The datagrams of a piece, in the order of the file."""
        piece = self._layout.pieces[number]
        if number in self._layout.odd:
            return odd_packet(*self._layout.odd[number])
        owner = self._bytes(piece)
        return _packets(read_run(owner, self._shapes[piece.shape][0], piece.packets))

    def _bytes(self, piece: CapturePiece) -> Array:
        if self._content is None:
            layout = self._layout
            self._content = Content(layout.stored, layout.form, layout.scratch, framed_by=layout.framed_by)
        if piece.frame >= 0:
            return self._content.frame(piece.frame)[piece.start : piece.end]
        return self._content.between(piece.start, piece.end)

    def close(self) -> None:
        if self._content is not None:
            self._content.close()
        self._content = None


def odd_packet(ts: int, payload: bytes, flow: int) -> PiecePackets:
    owner = np.frombuffer(payload or b"\0", np.uint8)
    return PiecePackets(
        np.array([ts]), np.array([owner.ctypes.data]), np.array([len(payload)], np.uint32), np.array([flow]),
        owner,
    )  # fmt: skip


def _packets(run: DatagramRun) -> PiecePackets:
    columns, count, owner = run.columns, run.count, run.payloads
    return PiecePackets(
        columns.ts[:count], columns.offset[:count] + owner.ctypes.data, columns.length[:count],
        columns.flow[:count], owner,
    )  # fmt: skip


def walk_capture(
    layout: CaptureLayout, piece_packets: int = PIECE_PACKETS, range_bytes: int = RANGE_BYTES
) -> Iterator[tuple[int, PiecePackets]]:
    """The first reading of a file: fills the layout, and gives each piece with its number. Packets are valid
    until the next are asked for."""
    content = Content(layout.stored, layout.form, layout.scratch, range_bytes, layout.framed_by)
    try:
        yield from walk_source(layout, RunReader(layout.path, piece_packets), content)
        layout.content = content.hash.value() if content.hash is not None else None
    finally:
        content.close()


def walk_source(
    layout: CaptureLayout, reader: RunReader, source: Source
) -> Iterator[tuple[int, PiecePackets]]:
    """The same of what a source has of a file."""
    for item in reader.read(source, _REMOTE_WINDOW if is_remote(layout.path) else _WINDOW):
        if isinstance(item, Finding):
            layout.damage.append(_as_damage(item))
        elif isinstance(item, Datagram):
            yield _odd(layout, item)
        else:
            layout.pieces.append(_piece(layout, item, reader))
            yield len(layout.pieces) - 1, _packets(item)


def _piece(layout: CaptureLayout, run: DatagramRun, reader: RunReader) -> CapturePiece:
    """Of a frame by its place in that; of a file by its place in the capture."""
    window = reader.window
    frame = window.frame if isinstance(window, FrameWindow) else _NO_FRAME
    origin = window.base if frame == _NO_FRAME else 0
    shape = _shape_number(layout, reader.runs)
    return CapturePiece(origin + run.start, origin + run.end, frame, shape, run.count)


def _as_damage(finding: Finding) -> str:
    where = "" if finding.offset is None else f" at byte {finding.offset}"
    return f"{finding.name}{where}" if where else f"{finding.name}: {finding.detail}"


def _odd(layout: CaptureLayout, datagram: Datagram) -> tuple[int, PiecePackets]:
    number = len(layout.pieces)
    flow = Destination(datagram.ip_version, datagram.dst, datagram.dst_port).flow
    layout.pieces.append(CapturePiece.of_odd())
    layout.odd[number] = (datagram.ts_ns, bytes(datagram.payload), flow)
    return number, odd_packet(*layout.odd[number])


def _shape_number(layout: CaptureLayout, runs: CaptureRuns) -> int:
    kept = _kept_shape(runs)
    if not layout.shapes or layout.shapes[-1] != kept:
        layout.shapes.append(kept)
    return len(layout.shapes) - 1


def _shape(kept: tuple[Any, ...]) -> tuple[Shape, Array]:
    interfaces = np.frombuffer(kept[4], np.int64).reshape(-1, INTERFACE_SIZE)
    address = interfaces.ctypes.data if len(interfaces) else 0
    kind, big_endian, unit_ns, linktype = kept[:4]
    return Shape(kind, big_endian, unit_ns, linktype, address, len(interfaces)), interfaces
