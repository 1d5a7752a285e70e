"""Capture files in pieces that can be read on their own, by whoever has the index of the file.

A piece is a run of ordinary records: of a mapped file by its offsets, of our recordings a zstd frame.
A record that the kernel does not take (a fragment, IPv6, a block of pcapng that is no packet) ends a piece;
its datagram, if it has one, is kept in the index itself, for there are few.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.codecs.pcap.kernels import ENDED_FULL, INTERFACE_SIZE, Run, Shape, take_run
from pregao.codecs.pcap.outcomes import Damage, Datagram
from pregao.codecs.pcap.runs import CaptureRuns
from pregao.io.seekable import open_seekable
from pregao.model.errors import CaptureError

Array = np.ndarray[Any, np.dtype[Any]]

PIECE_PACKETS: Final = 4096
_MOST_BYTES: Final = 1 << 40
_SHORTEST_RECORD: Final = 16 + 42


class NotInFramesError(CaptureError):
    """A compressed capture that must be unpacked: its frames do not begin with records."""

    def __init__(self, path: str) -> None:
        super().__init__("records do not end with zstd frames", file=path)


class Piece(NamedTuple):
    """Bytes `start` to `end` of the capture (of a frame: of its content); `shape` is which of the file's."""

    start: int
    end: int
    frame: int  # -1: of the mapped file itself
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

    path: str
    shapes: list[tuple[Any, ...]] = field(default_factory=list)  # Shape without addresses, interfaces
    pieces: list[Piece] = field(default_factory=list)
    odd: dict[int, tuple[int, bytes, int]] = field(default_factory=dict)  # by piece: ts, payload, flow
    damage: list[str] = field(default_factory=list)


def _kept_shape(runs: CaptureRuns) -> tuple[Any, ...]:
    return (*runs.shape[:4], runs._interfaces.tobytes())


class PieceReader:
    """Pieces of one file, in any order."""

    def __init__(self, layout: CaptureLayout) -> None:
        self._layout = layout
        self._mapped: Any = None
        self._frames: Any = None
        self._shapes: list[tuple[Shape, Array]] = [_shape(kept) for kept in layout.shapes]
        self._skipped = np.zeros(256, np.int64)

    def read(self, number: int) -> Packets:
        """The datagrams of a piece, in the order of the file."""
        piece = self._layout.pieces[number]
        if number in self._layout.odd:
            ts, payload, flow = self._layout.odd[number]
            owner = np.frombuffer(payload or b"\0", np.uint8)
            return Packets(
                np.array([ts]), np.array([owner.ctypes.data]), np.array([len(payload)], np.uint32),
                np.array([flow]), owner,
            )  # fmt: skip
        owner = self._content(piece)
        columns = Columns(piece.packets)
        _, count, _, _, _ = take_run(
            owner.ctypes.data, piece.start, piece.end, self._shapes[piece.shape][0], 1, columns.run, 0,
            piece.packets, _MOST_BYTES, self._skipped.ctypes.data,
        )  # fmt: skip
        return columns.packets(count, owner)

    def _content(self, piece: Piece) -> Array:
        if piece.frame < 0:
            if self._mapped is None:
                self._mapped = map_file(self._layout.path)
            found: Array = self._mapped
            return found
        if self._frames is None:
            self._frames = open_seekable(self._layout.path)
        return np.frombuffer(self._frames.read(piece.frame), np.uint8)

    def close(self) -> None:
        if self._frames is not None:
            self._frames.close()
        self._mapped = self._frames = None


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


def map_file(path: str) -> Array:
    try:
        with Path(path).open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except (OSError, ValueError) as error:
        raise CaptureError(str(error).lower(), file=path) from error


def walk_capture(layout: CaptureLayout, piece_packets: int = PIECE_PACKETS) -> Iterator[tuple[int, Packets]]:
    """The first reading of a file: fills the layout, and gives each piece with its number."""
    runs = CaptureRuns()
    for frame, content in _contents(layout.path):
        yield from _walk(layout, runs, frame, content, piece_packets)
    for damage in runs.reader.finish(runs.position):
        layout.damage.append(f"{damage.fault.label} at byte {damage.offset}")


def _contents(path: str) -> Iterator[tuple[int, Array]]:
    """The capture as a whole, or frame by frame."""
    with Path(path).open("rb") as file:
        head = file.read(4)
    if head != b"\x28\xb5\x2f\xfd":
        yield -1, map_file(path)
        return
    with open_seekable(path) as recording:
        for index in range(len(recording.frames)):
            yield index, np.frombuffer(recording.read(index), np.uint8)


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
                layout.pieces.append(Piece(start, end, frame, _shape_number(layout, runs), count))
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
    return number, PieceReader(layout).read(number)


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
