"""Capture files opened: read or decompressed in windows.

    with open_capture(path) as source:
        for window in source.windows():
            ...                                # read whole records of window.data
            window.consumed = ...              # how many bytes those were
        end = source.length

What was not consumed begins the next window, so no record is ever cut in two. Nothing here knows
what a record is.

Plain files are read piece by piece, not mapped: a file that somebody truncates meanwhile is then an error
with a name, where touching its mapping would end the process (SIGBUS).
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pregao.io.compression import CompressionError, compression_of, gzip_chunks, zstd_chunks
from pregao.io.files import ClosedAtExit
from pregao.model.errors import CaptureError

WINDOW_SIZE = 1024 * 1024  # what stays in a cache between being read and being decoded
MAX_WINDOW = 64 * 1024 * 1024

_CHUNKS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {"gzip": gzip_chunks, "zstd": zstd_chunks}


@dataclass(slots=True)
class Window:
    """A stretch of the (decompressed) capture, read-only, valid for as long as someone holds it."""

    base: int  # byte of the capture at which `data` begins
    data: memoryview
    consumed: int = 0  # set by whoever read it, before asking for the next
    skipped: int = 0  # records between the end of the window before it and `base`


class CaptureSource(ClosedAtExit):
    """An open capture file. `size` and `position` count bytes on disk, `length` decompressed ones."""

    def __init__(self, path: Path, file: BinaryIO, size: int, compression: str) -> None:
        self.path = path
        self.size = size
        self.compression = compression
        self.length = 0  # bytes of the capture given out so far; all of them once windows() has ended
        self._file = file

    @property
    def position(self) -> int:
        """How far into the file on disk the reading is: for progress."""
        return self._file.tell() if self.compression != "none" else self.length

    def windows(self, window_size: int = WINDOW_SIZE) -> Iterator[Window]:
        """The capture from its beginning.

        A window is about `window_size` long, longer only when nothing of the one before it was
        consumed, up to about `MAX_WINDOW`. Damage in the compression raises CaptureError after all
        that could be decompressed was given; so does a plain file that has become shorter.
        """
        self.length = 0
        yield from self._read(window_size) if self.compression == "none" else self._streamed(window_size)

    def part(self, head: int, start: int, end: int, records: int) -> Iterator[Window]:
        """Of a plain file: its first `head` bytes, then those from `start` to `end`, before which there are
        so many records."""
        self.length = head
        yield Window(0, memoryview(self._piece(0, head)))
        skipped = records
        for window in self._read(WINDOW_SIZE, start, end):
            window.skipped, skipped = skipped, 0
            yield window

    def _read(self, window_size: int, start: int = 0, end: int | None = None) -> Iterator[Window]:
        """A plain file, as long as it was when it was opened. What was not consumed is read again."""
        base, wanted, size = start, window_size, self.size if end is None else end
        while self.length < size:
            data = self._piece(base, min(wanted, size - base))
            self.length = base + len(data)
            window = Window(base, memoryview(data))
            yield window
            self._check_consumed(window)
            base += window.consumed
            if self.length < size:
                wanted = window_size if window.consumed else self._grown(window)

    def _piece(self, start: int, size: int) -> bytes:
        try:
            data = os.pread(self._file.fileno(), size, start)
            while len(data) < size:
                more = os.pread(self._file.fileno(), size - len(data), start + len(data))
                if not more:
                    end = start + len(data)
                    reason = f"has become shorter while it was read: {self.size - end} bytes are missing"
                    raise CaptureError(reason, file=str(self.path), offset=end)
                data += more
        except OSError as error:
            raise CaptureError(_reason(error), file=str(self.path), offset=start) from error
        return data

    def _streamed(self, window_size: int) -> Iterator[Window]:
        self._file.seek(0)
        chunks = _CHUNKS[self.compression](self._file)
        rest, wanted, damage = b"", window_size, None
        ended = False
        while not ended:
            parts, gathered = [rest], len(rest)
            while gathered < wanted and not ended:
                try:
                    chunk = next(chunks, b"")
                except (CompressionError, OSError) as error:
                    chunk, damage = b"", error
                ended = not chunk
                parts.append(chunk)
                gathered += len(chunk)
            if gathered == len(rest):
                break
            base, self.length = self.length - len(rest), self.length - len(rest) + gathered
            window = Window(base, memoryview(b"".join(parts)))
            yield window
            rest = self._rest(window)
            if not ended:
                wanted = max(window_size, len(rest) + 1) if window.consumed else self._grown(window)
        if damage is not None:
            raise self._error(damage) from damage

    def _rest(self, window: Window) -> bytes:
        self._check_consumed(window)
        return bytes(window.data[window.consumed :])

    def _check_consumed(self, window: Window) -> None:
        if not 0 <= window.consumed <= len(window.data):
            raise ValueError(f"{window.consumed} bytes consumed of a window of {len(window.data)}")

    def _grown(self, window: Window) -> int:
        if len(window.data) >= MAX_WINDOW:
            raise CaptureError(
                f"no record ends within {len(window.data)} bytes", file=str(self.path), offset=window.base
            )
        return min(2 * len(window.data), MAX_WINDOW)

    def _error(self, damage: CompressionError | OSError) -> CaptureError:
        if isinstance(damage, CompressionError):
            return CaptureError(damage.reason, file=str(self.path), offset=damage.offset)
        return CaptureError(_reason(damage), file=str(self.path), offset=self._file.tell())

    def close(self) -> None:
        """Close the file. Windows already given stay valid."""
        self._file.close()


def open_capture(path: str | os.PathLike[str]) -> CaptureSource:
    """Open a file and find out its compression from its first bytes, whatever its name."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise CaptureError("is a directory", file=str(path))
        if not stat.S_ISREG(mode):  # opening a pipe could wait for ever, and it has no length
            raise CaptureError("is not a regular file", file=str(path))
        file = path.open("rb")
    except OSError as error:
        raise CaptureError(_reason(error), file=str(path)) from error
    try:
        head = file.read(4)
        return CaptureSource(path, file, os.fstat(file.fileno()).st_size, compression_of(head))
    except OSError as error:
        file.close()
        raise CaptureError(_reason(error), file=str(path)) from error


def _reason(error: OSError) -> str:
    return error.strerror.lower() if error.strerror else str(error)
