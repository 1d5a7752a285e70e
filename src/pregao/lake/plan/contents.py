"""The content of a capture, whatever it lies in: bytes by their place in it, or whole zstd frames.

Nothing is mapped: a file that somebody truncates meanwhile is then an error with a name, where touching its
mapping would end the process (SIGBUS), and a worker of Spark with it.
"""

from typing import Any, BinaryIO, cast

import numpy as np

from pregao.io.seekable import SeekableFile
from pregao.lake.plan.scratch import Form, unpacked
from pregao.lake.plan.stored import LocalFile, RemoteFile, Stored, look, open_remote, open_stored
from pregao.lake.store.location import is_remote
from pregao.model.errors import CaptureError

Array = np.ndarray[Any, np.dtype[Any]]


class Content:
    """What pieces are of: a file of this machine or of a store, or zstd frames of either."""

    def __init__(self, stored: Stored, form: Form, scratch: str = "") -> None:
        self.frames: SeekableFile | None = None
        self._file: LocalFile | RemoteFile | None = None
        self._last = -1, np.zeros(0, np.uint8)
        if form is not Form.UNPACKED and is_remote(stored.path):
            opened = open_remote(stored.path)
            _check_unchanged(stored, opened.stored)
            if form is Form.FRAMES:
                self.frames = SeekableFile(cast(BinaryIO, opened), stored.path)
            else:
                self._file = opened
            return
        _check_unchanged(stored, look(stored.path))
        if form is Form.UNPACKED:
            self._file = LocalFile(str(unpacked(stored, scratch)), name=stored.path)
        elif form is Form.FRAMES:
            self.frames = SeekableFile(open_stored(stored.path), stored.path)
        else:
            self._file = LocalFile(stored.path, stored.size)

    @property
    def size(self) -> int:
        """Of the capture, uncompressed."""
        if self.frames is not None:
            return sum(frame.length for frame in self.frames.frames)
        return 0 if self._file is None else self._file.size

    @property
    def is_remote(self) -> bool:
        return isinstance(self._file, RemoteFile)

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
