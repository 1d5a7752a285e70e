"""The content of a capture, whatever it lies in: bytes by their place in it, or whole zstd frames."""

import mmap
import os
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from pregao.io.seekable import SeekableFile
from pregao.lake.plan.scratch import Form, unpacked
from pregao.lake.plan.stored import RemoteFile, Stored, look, open_remote, open_stored
from pregao.lake.store.location import is_remote
from pregao.model.errors import CaptureError

Array = np.ndarray[Any, np.dtype[Any]]


class Content:
    """What pieces are of: a mapped file, a file of a store, or zstd frames of either."""

    def __init__(self, stored: Stored, form: Form, scratch: str = "") -> None:
        self.mapped: Array | None = None
        self.frames: SeekableFile | None = None
        self._remote: RemoteFile | None = None
        self._last = -1, np.zeros(0, np.uint8)
        if form is not Form.UNPACKED and is_remote(stored.path):
            opened = open_remote(stored.path)
            _check_unchanged(stored, opened.stored)
            if form is Form.FRAMES:
                self.frames = SeekableFile(cast(BinaryIO, opened), stored.path)
            else:
                self._remote = opened
            return
        _check_unchanged(stored, look(stored.path))
        if form is Form.UNPACKED:
            self.mapped = map_file(str(unpacked(stored, scratch)), stored.path)
        elif form is Form.FRAMES:
            self.frames = SeekableFile(open_stored(stored.path), stored.path)
        else:
            self.mapped = map_file(stored.path)

    @property
    def size(self) -> int:
        """Of the capture, uncompressed."""
        if self.frames is not None:
            return sum(frame.length for frame in self.frames.frames)
        if self._remote is not None:
            return self._remote.size
        return 0 if self.mapped is None else len(self.mapped)

    def frame(self, number: int) -> Array:
        """Several pieces may be of one frame, one after the other."""
        if self._last[0] != number:
            assert self.frames is not None
            self._last = number, np.frombuffer(self.frames.read(number), np.uint8)
        return self._last[1]

    def between(self, start: int, end: int) -> Array:
        if self.mapped is not None:
            return self.mapped[start:end]
        assert self._remote is not None
        return self._remote.bytes_between(start, end)

    def close(self) -> None:
        for opened in (self.frames, self._remote):
            if opened is not None:
                opened.close()


def _check_unchanged(planned: Stored, now: Stored) -> None:
    """Offsets of one content mean nothing in another."""
    if now != planned:
        raise CaptureError("has changed since it was planned", file=planned.path)


def map_file(path: str, name: str = "") -> Array:
    """`name` is what errors call it."""
    try:
        with Path(path).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:  # cannot be mapped
                return np.zeros(0, np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except (OSError, ValueError) as error:
        raise CaptureError(str(error).lower(), file=name or path) from error
