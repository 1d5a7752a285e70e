"""The content of a capture, whatever it lies in: bytes by their place in it, or whole zstd frames.

Nothing is mapped: a file that somebody truncates meanwhile is then an error with a name, where touching its
mapping would end the process (SIGBUS), and a worker of Spark with it.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Final, cast
from uuid import uuid4

import numpy as np

from pregao.io.captures import WINDOW_SIZE, Window
from pregao.io.clock import system_time_ns
from pregao.io.compression import CompressionError, compression_of, gzip_chunks, zstd_chunks
from pregao.io.seekable import SeekableFile
from pregao.lake.errors import LakeFullError, is_full
from pregao.lake.plan.framed import write_capture
from pregao.lake.plan.kernels import STRIPE, begin_hash, end_hash, hash_stripes
from pregao.lake.plan.stored import LocalFile, RemoteFile, Stored, look, open_remote, open_stored, told
from pregao.lake.store.location import is_remote
from pregao.model.errors import CaptureError

# Captures that cannot be read in pieces as they are: unpacked once a machine, under a name that says from
# what, so that a slice on another machine than the scan unpacks the same again. What nobody has used for a
# day goes with the next unpacking.


_CHUNKS: Final[dict[str, Callable[[BinaryIO], Iterator[bytes]]]] = {"gzip": gzip_chunks, "zstd": zstd_chunks}
_UNUSED_NS: Final = 86_400 * 1_000_000_000


class CaptureForm(Enum):
    """How the content of a capture can be read in pieces."""

    PLAIN = "plain"
    FRAMES = "frames"  # zstd with a table of its frames
    UNPACKED = "unpacked"  # only from a copy
    FRAMED = "framed"  # messages without datagrams: only from a copy that has them


_COPIED: Final = (CaptureForm.UNPACKED, CaptureForm.FRAMED)


def form_of(path: str) -> CaptureForm:
    with told(path), open_stored(path) as file:
        compression = compression_of(file.read(4))
        if compression == "none":
            return CaptureForm.PLAIN
        has_frames = compression == "zstd" and SeekableFile(file, path).has_table
        return CaptureForm.FRAMES if has_frames else CaptureForm.UNPACKED


def unpacked(stored: Stored, scratch: str, framed_by: str = "") -> Path:
    """The content of a compressed capture as a file of this machine; of one that a system has framed, with
    datagrams."""
    words = [*map(str, stored), *filter(None, [framed_by])]
    name = hashlib.sha256("|".join(words).encode()).hexdigest()[:24]
    folder = Path(scratch) if scratch else Path(tempfile.gettempdir()) / f"pregao-scratch-{os.getuid()}"
    target = folder / f"{name}.pcap"
    try:
        os.utime(target)  # it is in use
    except OSError:
        _unpack(stored.path, folder, target, framed_by)
    return target


def _unpack(path: str, folder: Path, target: Path, framed_by: str) -> None:
    """What can be had of a damaged file is kept: the scan says where its last record was cut."""
    part = folder / f"{uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_unused(folder)
        with part.open("wb") as file:
            if framed_by:
                write_capture(path, framed_by, file)
            else:
                _decompress(path, file)
        os.replace(part, target)
    except OSError as error:
        if is_full(error):
            raise LakeFullError(str(target)) from error
        raise CaptureError(str(error).lower(), file=str(target)) from error
    finally:
        part.unlink(missing_ok=True)


def _decompress(path: str, file: BinaryIO) -> None:
    with open_stored(path) as source:
        head = source.read(4)
        source.seek(0)
        with suppress(CompressionError):
            for chunk in _CHUNKS[compression_of(head)](source):
                file.write(chunk)


def _remove_unused(folder: Path) -> None:
    oldest = system_time_ns() - _UNUSED_NS
    for file in (*folder.glob("*.pcap"), *folder.glob("*.part")):
        with suppress(OSError):  # somebody else has removed it
            if file.stat().st_mtime_ns < oldest:
                file.unlink()


Array = np.ndarray[Any, np.dtype[Any]]
HASH_SEED: Final = 1
RANGE_BYTES: Final = 256 << 20  # of a plain file: at each multiple is a line, and no piece crosses one


class NotInFramesError(CaptureError):
    """A compressed capture that must be unpacked: its frames do not begin with records."""

    def __init__(self, path: str) -> None:
        super().__init__("records do not end with zstd frames", file=path)


@dataclass(slots=True)
class FrameWindow(Window):
    """A whole frame; `base` counts the content of those before it."""

    frame: int = 0


class ContentHash:
    """A hash of all bytes of a file that is read from its beginning to its end, so that a scan need not read
    it twice. Windows may overlap, and must not leave anything out."""

    def __init__(self, size: int) -> None:
        self._size, self._end = size, 0
        self._state, self._rest = np.zeros(4, np.int64), np.zeros(0, np.uint8)
        begin_hash(self._state.ctypes.data, size, HASH_SEED)

    def take(self, start: int, data: Array) -> None:
        """Bytes from `start` on; those that came before are passed over."""
        if start > self._end:
            raise ValueError(f"bytes {self._end} to {start} were left out")
        new = data[self._end - start :]
        self._end += len(new)
        if len(self._rest):
            missing = STRIPE - len(self._rest)
            begun, new = np.concatenate([self._rest, new[:missing]]), new[missing:]
            if len(begun) < STRIPE:
                self._rest = begun
                return
            hash_stripes(self._state.ctypes.data, begun.ctypes.data, STRIPE)
        whole = len(new) // STRIPE * STRIPE
        hash_stripes(self._state.ctypes.data, new.ctypes.data, whole)
        self._rest = new[whole:].copy()

    def value(self) -> str | None:
        """None: the file was not read to its end."""
        if self._end != self._size:
            return None
        if not self._size:
            return "empty"
        return f"{int(end_hash(self._state.ctypes.data, self._rest.ctypes.data, len(self._rest))):016x}"


class Content:
    """What pieces are of: a file of this machine or of a store, or zstd frames of either. A `Source` of
    `captures.reader`: its windows are frames, or about as long as is asked for."""

    compression = "none"  # it is unpacked already

    def __init__(
        self, stored: Stored, form: CaptureForm, scratch: str = "", range_bytes: int = RANGE_BYTES,
        framed_by: str = "",
    ) -> None:  # fmt: skip
        self.frames: SeekableFile | None = None
        self.length, self._path, self._range_bytes = 0, stored.path, range_bytes
        self.hash: ContentHash | None = None  # of a plain file of this machine, as it is read
        self._file: LocalFile | RemoteFile | None = None
        self._last = -1, np.zeros(0, np.uint8)
        if form not in _COPIED and is_remote(stored.path):
            opened = open_remote(stored.path)
            _check_unchanged(stored, opened.stored)
            if form is CaptureForm.FRAMES:
                self.frames = SeekableFile(cast(BinaryIO, opened), stored.path)
            else:
                self._file = opened
            return
        _check_unchanged(stored, look(stored.path))
        if form in _COPIED:
            framed_by = framed_by if form is CaptureForm.FRAMED else ""
            self._file = LocalFile(str(unpacked(stored, scratch, framed_by)), name=stored.path)
        elif form is CaptureForm.FRAMES:
            self.frames = SeekableFile(open_stored(stored.path), stored.path)
        else:
            self._file, self.hash = LocalFile(stored.path, stored.size), ContentHash(stored.size)

    @property
    def size(self) -> int:
        """Of the capture, uncompressed."""
        if self.frames is not None:
            return sum(frame.length for frame in self.frames.frames)
        return 0 if self._file is None else self._file.size

    @property
    def is_remote(self) -> bool:
        return isinstance(self._file, RemoteFile)

    def windows(self, window_size: int = WINDOW_SIZE) -> Iterator[Window]:
        yield from self._frame_windows() if self.frames is not None else self._file_windows(window_size)

    def _frame_windows(self) -> Iterator[Window]:
        assert self.frames is not None
        for number in range(len(self.frames.frames)):
            window = FrameWindow(self.length, self.frame(number).data, frame=number)
            self.length += len(window.data)
            yield window
            if window.consumed != len(window.data):
                raise NotInFramesError(self._path)

    def _file_windows(self, least: int) -> Iterator[Window]:
        for window in self.windows_from(0, least):
            if self.hash is not None:
                self.hash.take(window.base, np.frombuffer(window.data, np.uint8))
            yield window

    def windows_from(self, start: int, least: int, end: int | None = None) -> Iterator[Window]:
        """From a record on, to the line `end` or to the end of the file. Windows end at lines: only one that
        begins with the record in which a line falls goes over it. So pieces are the same whoever reads the
        file, as a whole or from one of these records on."""
        wanted, line = least, self._next_line(start)
        while start != end:
            self.length = min(start + wanted, line, self.size)
            window = Window(start, self.between(start, self.length).data)
            yield window
            if self.length == self.size:
                return
            start += window.consumed
            if window.consumed:
                wanted, line = least, self._next_line(start)
            elif self.length < line:
                wanted *= 2  # a record longer than the window
            elif line == end:
                break
            else:
                line += self._range_bytes
        self.length = start

    def _next_line(self, start: int) -> int:
        return (start // self._range_bytes + 1) * self._range_bytes

    def frame(self, number: int) -> Array:
        """Several pieces may be of one frame, one after the other."""
        if self._last[0] != number:
            assert self.frames is not None
            self._last = number, np.frombuffer(self.frames.read(number), np.uint8)
        return self._last[1]

    def between(self, start: int, end: int) -> Array:
        """CaptureError where the file has fewer bytes than it had."""
        assert self._file is not None
        return self._file.bytes_between(start, end)

    def close(self) -> None:
        for opened in (self.frames, self._file):
            if opened is not None:
                opened.close()


def _check_unchanged(planned: Stored, now: Stored) -> None:
    """Offsets of one content mean nothing in another."""
    if now != planned:
        raise CaptureError("has changed since it was planned", file=planned.path)
