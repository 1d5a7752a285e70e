"""Captures cut into windows, as `io.captures` does, and memory that ends where the capture does."""

import ctypes
import mmap
import random
from collections.abc import Iterator

from pregao.io.captures import Window

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_PAGE = mmap.PAGESIZE
_NOTHING_ALLOWED = 0


class GuardedMemory:
    """Memory with a page behind it that must not be touched.

    A kernel has no bounds checks: one that reads past the end of a capture would mostly find other
    memory there and nobody would notice. Here it dies.
    """

    def __init__(self, capacity: int) -> None:
        self.size = -(-capacity // _PAGE) * _PAGE
        self._map = mmap.mmap(-1, self.size + _PAGE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        if _LIBC.mprotect(address + self.size, _PAGE, _NOTHING_ALLOWED):
            raise OSError(ctypes.get_errno(), "mprotect")

    def hold(self, data: bytes) -> memoryview:
        """A copy whose last byte is the last before the guarded page; the one before is overwritten."""
        start = self.size - len(data)
        if start < 0:
            raise ValueError(f"{len(data)} bytes for {self.size}")
        view = memoryview(self._map)[start : self.size]
        view[:] = data
        return view.toreadonly()


def cut(
    data: bytes, rng: random.Random | None = None, memory: GuardedMemory | None = None
) -> Iterator[Window]:
    """Windows of random sizes, each beginning where the reader of the one before stopped; without
    `rng` one window of everything, as of a file that is mapped."""
    start = stop = 0
    while stop < len(data):
        stop = len(data) if rng is None else min(len(data), stop + _size(rng))
        piece = data[start:stop]
        window = Window(start, memoryview(piece) if memory is None else memory.hold(piece))
        yield window
        start += window.consumed


def _size(rng: random.Random) -> int:
    """Mostly as long as some packets, sometimes a few bytes, sometimes very long."""
    return max(1, int(rng.choice((3, 40, 400, 4_000, 60_000)) * rng.random()))
