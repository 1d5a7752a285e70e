"""Capture files in pieces that can be read on their own, by whoever has the index of the file.

A piece is a run of ordinary records: of a plain file by its offsets, of our recordings a zstd frame. Files
are read by ranges, by each slice those of its own pieces.
A record that the kernel does not take (a fragment, IPv6, a block of pcapng that is no packet) ends a piece;
its datagram, if it has one, is kept in the index itself, for there are few.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.codecs.pcap.kernels import ENDED_FULL, INTERFACE_SIZE, Run, Shape, take_run
from pregao.codecs.pcap.outcomes import Damage, Datagram
from pregao.codecs.pcap.runs import CaptureRuns
from pregao.lake.plan.contents import Content
from pregao.lake.plan.scratch import Form, form_of
from pregao.lake.plan.stored import Stored, look
from pregao.model.errors import CaptureError

Array = np.ndarray[Any, np.dtype[Any]]

PIECE_PACKETS: Final = 4096
_MOST_BYTES: Final = 1 << 40
# Of a plain file at its first reading: of this machine, and of a store, where a request takes long.
_WINDOW: Final = 4 << 20
_REMOTE_WINDOW: Final = 32 << 20


class NotInFramesError(CaptureError):
    """A compressed capture that must be unpacked: its frames do not begin with records."""

    def __init__(self, path: str) -> None:
        super().__init__("records do not end with zstd frames", file=path)


class Piece(NamedTuple):
    """Bytes `start` to `end` of the capture (of a frame: of its content); `shape` is which of the file's."""

    start: int
    end: int
    frame: int  # -1: of the file itself
    shape: int
    packets: int


class Packets(NamedTuple):
    """Datagrams of a piece: addresses are absolute, and hold as long as `owner` does."""

    ts: Array
    address: Array
    length: Array
    flow: Array
    owner: Any

    def __len__(self) -> int:
        return len(self.ts)

    def pick(self, which: Array) -> "Packets":
        return Packets(self.ts[which], self.address[which], self.length[which], self.flow[which], self.owner)


@dataclass(slots=True)
class CaptureLayout:
    """What it takes to read pieces of a file again: goes with the index to the tasks."""

    stored: Stored
    form: Form
    scratch: str = ""
    shapes: list[tuple[Any, ...]] = field(default_factory=list)  # Shape without addresses, interfaces
    pieces: list[Piece] = field(default_factory=list)
    odd: dict[int, tuple[int, bytes, int]] = field(default_factory=dict)  # by piece: ts, payload, flow
    damage: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        """As it was named to us."""
        return self.stored.path


def open_layout(path: str, scratch: str = "") -> CaptureLayout:
    """Of a capture as it is now, still without pieces."""
    return CaptureLayout(look(path), form_of(path), scratch)


def _kept_shape(runs: CaptureRuns) -> tuple[Any, ...]:
    return (*runs.shape[:4], runs.interfaces.tobytes())


class PieceReader:
    """Pieces of one file, in any order."""

    def __init__(self, layout: CaptureLayout) -> None:
        self._layout = layout
        self._content: Content | None = None
        self._shapes: list[tuple[Shape, Array]] = [_shape(kept) for kept in layout.shapes]
        self._skipped = np.zeros(256, np.int64)

    def read(self, number: int) -> Packets:
        """The datagrams of a piece, in the order of the file."""
        piece = self._layout.pieces[number]
        if number in self._layout.odd:
            return _odd_packet(*self._layout.odd[number])
        owner = self._bytes(piece)
        columns = Columns(piece.packets)
        _, count, _, _, _ = take_run(
            owner.ctypes.data, 0, len(owner), self._shapes[piece.shape][0], 1, columns.run, 0, piece.packets,
            _MOST_BYTES, self._skipped.ctypes.data,
        )  # fmt: skip
        return columns.packets(count, owner)

    def _bytes(self, piece: Piece) -> Array:
        if self._content is None:
            self._content = Content(self._layout.stored, self._layout.form, self._layout.scratch)
        if piece.frame >= 0:
            return self._content.frame(piece.frame)[piece.start : piece.end]
        return self._content.between(piece.start, piece.end)

    def close(self) -> None:
        if self._content is not None:
            self._content.close()
        self._content = None


def _odd_packet(ts: int, payload: bytes, flow: int) -> Packets:
    owner = np.frombuffer(payload or b"\0", np.uint8)
    return Packets(
        np.array([ts]), np.array([owner.ctypes.data]), np.array([len(payload)], np.uint32), np.array([flow]),
        owner,
    )  # fmt: skip


class Columns:
    """Room for the datagrams of a run."""

    def __init__(self, packets: int) -> None:
        room = max(packets, 1)
        self.ts, self.offset, self.flow, self.number = (np.empty(room, np.int64) for _ in range(4))
        self.length = np.empty(room, np.uint32)

    @property
    def run(self) -> Run:
        arrays = (self.ts, self.offset, self.length, self.flow, self.number)
        return Run(*(array.ctypes.data for array in arrays))

    def packets(self, count: int, owner: Array) -> Packets:
        return Packets(
            self.ts[:count], self.offset[:count] + owner.ctypes.data, self.length[:count],
            self.flow[:count], owner,
        )  # fmt: skip


def walk_capture(layout: CaptureLayout, piece_packets: int = PIECE_PACKETS) -> Iterator[tuple[int, Packets]]:
    """The first reading of a file: fills the layout, and gives each piece with its number."""
    runs, content = CaptureRuns(), Content(layout.stored, layout.form, layout.scratch)
    try:
        for frame, array in _arrays(content, runs):
            yield from _walk(layout, runs, frame, array, piece_packets)
        for damage in runs.reader.finish(content.size):
            layout.damage.append(f"{damage.fault.label} at byte {damage.offset}")
    finally:
        content.close()


def _arrays(content: Content, runs: CaptureRuns) -> Iterator[tuple[int, Array]]:
    """The capture frame by frame, or in windows that each begin with a record."""
    if content.frames is not None:
        for number in range(len(content.frames.frames)):
            yield number, content.frame(number)
    else:
        yield from _windows(content, runs, _REMOTE_WINDOW if content.is_remote else _WINDOW)


def _windows(content: Content, runs: CaptureRuns, least: int) -> Iterator[tuple[int, Array]]:
    size = least
    while True:
        start = runs.position
        end = min(start + size, content.size)
        yield -1, content.between(start, end)
        if end == content.size:
            return
        size = least if runs.position > start else 2 * size  # a record longer than the window


def _walk(
    layout: CaptureLayout, runs: CaptureRuns, frame: int, content: Array, piece_packets: int
) -> Iterator[tuple[int, Packets]]:
    window, base, size = content.data, runs.position, len(content)
    columns, skipped = Columns(piece_packets), np.zeros(256, np.int64)
    while True:
        full = False
        if runs.begin(window):
            start = runs.position - base
            end, count, number, _, why = take_run(
                content.ctypes.data, start, size, runs.shape, runs.next_number, columns.run, 0, piece_packets,
                _MOST_BYTES, skipped.ctypes.data,
            )  # fmt: skip
            runs.took(end - start, number - runs.next_number)
            full = why == ENDED_FULL
            if count:
                origin = base if frame < 0 else 0
                layout.pieces.append(
                    Piece(origin + start, origin + end, frame, _shape_number(layout, runs), count)
                )
                yield len(layout.pieces) - 1, columns.packets(count, content)
                columns = Columns(piece_packets)
        if full:
            continue
        outcomes = runs.step(window, base)
        if outcomes is None:
            if frame >= 0 and runs.position - base != size:
                raise NotInFramesError(layout.path)
            return
        for outcome in outcomes:
            if isinstance(outcome, Datagram):
                yield _odd(layout, outcome)
            elif isinstance(outcome, Damage):
                layout.damage.append(f"{outcome.fault.label} at byte {outcome.offset}")


def _odd(layout: CaptureLayout, datagram: Datagram) -> tuple[int, Packets]:
    number = len(layout.pieces)
    flow = datagram.dst << 16 | datagram.dst_port if datagram.ip_version == 4 else -datagram.dst_port
    layout.pieces.append(Piece(0, 0, -1, 0, 1))
    layout.odd[number] = (datagram.ts_ns, bytes(datagram.payload), flow)
    return number, _odd_packet(*layout.odd[number])


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
