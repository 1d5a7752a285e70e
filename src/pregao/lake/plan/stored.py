"""Captures where they are stored: a file of this machine, or an object that is read by ranges.

A capture is named by its path or its URI (s3, gs, hdfs, …), as Spark's tasks on any machine know it. Its
version is what tells one content from the next at the same place: the store's own tag, or a time.
"""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, Final, NamedTuple, cast

import numpy as np

from pregao.lake.store.location import Location, is_remote
from pregao.model.errors import CaptureError, PregaoError

Array = np.ndarray[Any, np.dtype[Any]]

# A request takes as long as the transfer of a few megabytes; but whoever looks at a head wants only that.
_FIRST_READ: Final = 64 << 10
_LONGEST_READ: Final = 8 << 20
_TAG, _TIME = "ETag", "Last-Modified"


class Stored(NamedTuple):
    """A capture as it was found."""

    path: str
    size: int
    version: str


def look(path: str) -> Stored:
    """One question to the file system or store; CaptureError when there is no such file."""
    if is_remote(path):
        with open_remote(path) as file:
            return file.stored
    with told(path):
        about = Path(path).stat()
        if not stat.S_ISREG(about.st_mode):  # opening a pipe could wait for ever, and it has no places
            raise CaptureError("is not a regular file", file=path)
        return Stored(path, about.st_size, str(about.st_mtime_ns))


def open_stored(path: str) -> BinaryIO:
    """To be read from any place in it."""
    if is_remote(path):
        return cast(BinaryIO, open_remote(path))
    with told(path):
        return Path(path).open("rb")


class LocalFile:
    """A file of this machine, read in pieces that are each somebody's own. `size` is what it had when it was
    planned, `name` what errors call it."""

    def __init__(self, path: str, size: int | None = None, name: str = "") -> None:
        self._name = name or path
        with told(self._name):
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._descriptor).st_size if size is None else size

    def bytes_between(self, start: int, end: int) -> Array:
        """CaptureError with the byte at which the file ends, if it has become too short for them."""
        piece = np.empty(end - start, np.uint8)
        done = 0
        while done < len(piece):
            with told(self._name):
                read = os.preadv(self._descriptor, [piece[done:].data], start + done)
            if not read:
                raise self._too_short(start + done)
            done += read
        return piece

    def _too_short(self, wanted: int) -> CaptureError:
        end = min(wanted, os.fstat(self._descriptor).st_size)
        reason = f"has become shorter while it was read: {self.size - end} bytes are missing"
        return CaptureError(reason, file=self._name, offset=end)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


class RemoteFile(io.RawIOBase):
    """A file of a store, read ahead; what was read stays as long as someone holds it."""

    def __init__(self, path: str, file: Any, version: str) -> None:
        super().__init__()
        self.path, self.version = path, version
        self._file, self._at = file, 0
        self.size = int(file.size())
        self._block, self._start, self._ahead = np.zeros(0, np.uint8), 0, _FIRST_READ

    @property
    def stored(self) -> Stored:
        return Stored(self.path, self.size, self.version)

    def bytes_between(self, start: int, end: int) -> Array:
        """Bytes of the file as an array; CaptureError when it has fewer."""
        if start < self._start or end > self._start + len(self._block):
            self._fetch(start, min(max(end, start + self._ahead), self.size))
            if len(self._block) < end - start:
                raise CaptureError("ends too early", file=self.path, offset=start + len(self._block))
        return self._block[start - self._start : end - self._start]

    def _fetch(self, start: int, end: int) -> None:
        with told(self.path):
            self._block = np.frombuffer(self._file.read_at(end - start, start), np.uint8)
        self._start, self._ahead = start, min(4 * self._ahead, _LONGEST_READ)

    def read(self, size: int = -1) -> bytes:
        end = self.size if size < 0 else min(self._at + size, self.size)
        found = self.bytes_between(self._at, end).tobytes() if end > self._at else b""
        self._at += len(found)
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def open_remote(path: str) -> RemoteFile:
    with told(path):
        place = Location(path)
        file = place.filesystem.open_input_file(place.root)
        return RemoteFile(path, file, _version(place, file))


@contextmanager
def on_this_machine(path: str) -> Iterator[str]:
    """A file that is read from its beginning to its end, while that lasts: its own path, or that of a copy of
    what a store has."""
    if not is_remote(path):
        yield path
        return
    with open_remote(path) as source, NamedTemporaryFile(prefix="pregao-copy-") as copy:
        while data := source.read(_LONGEST_READ):
            copy.write(data)
        copy.flush()
        yield copy.name


def _version(place: Location, file: Any) -> str:
    """The tag came with the size. A store without tags knows when the file was written."""
    told = {_text(key): _text(value) for key, value in (file.metadata() or {}).items()}
    found = told.get(_TAG) or told.get(_TIME)
    if found:
        return found.strip('"')
    return str(place.filesystem.get_file_info(place.root).mtime_ns)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@contextmanager
def told(path: str) -> Iterator[None]:
    """Errors of the system and of Arrow, with the capture's name."""
    try:
        yield
    except PregaoError:
        raise
    except FileNotFoundError as error:
        raise CaptureError("no such file or directory", file=path) from error
    except (OSError, ValueError, NotImplementedError) as error:
        lines = str(error).strip().splitlines()
        reason = getattr(error, "strerror", None) or (lines[0] if lines else type(error).__name__)
        raise CaptureError(reason.lower() if len(reason) < 60 else reason, file=path) from error
