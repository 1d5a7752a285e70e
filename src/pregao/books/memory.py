"""The memory that the kernels of a `BookStore` work on, and how it grows: between two calls, by moving
to a larger place. See `layout`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pregao.books import layout as t
from pregao.model.rows import NULL

FIRST_INSTRUMENTS = 64
FIRST_ARENA = 1 << 20
FIRST_QUOTES = 1 << 12
FIRST_DEPTHS = 1 << 8

Bytes = NDArray[np.uint8]


def address(array: NDArray[Any]) -> int:
    return array.ctypes.data  # __array_interface__ would describe every field of a record first


def lines(size: int) -> Bytes:
    """Bytes that begin at a cache line."""
    memory = np.empty(size + t.LINE, np.uint8)
    skipped = -address(memory) % t.LINE
    return memory[skipped : skipped + size]


class BookMemory:
    def __init__(self, max_orders: int) -> None:
        words = np.zeros(t.CONTEXT_WORDS, np.int64)
        self._words = words.data  # a word of it is an int at once, one of an array is not
        self.context = address(words)
        self.instruments = 0  # how many there is room for
        self.headers = self.tops = self.anomalies = lines(0)
        self.security_ids = np.empty(0, np.int64)
        self.firsts = np.empty(0, np.uint32)
        self.arena = lines(0)
        self.quotes = np.empty(0, t.QUOTE)
        self.depth_levels = 0
        self.depths: NDArray[Any] = np.empty(0, t.depth_type(0))
        self._depth_shown = np.empty(0, np.int64)
        self._touched = np.empty(0, np.uint32)
        self._found = np.empty(t.PIECE, np.int64)
        self.set(t.FOUND, address(self._found))
        self.set(t.MAX_ORDERS, max_orders)
        self.set(t.ARENA_USED, t.LINE)  # offset 0 is nowhere
        self.grow_arena(FIRST_ARENA)
        self.grow_instruments(FIRST_INSTRUMENTS)

    def get(self, field: int) -> int:
        return self._words[field >> 3]

    def set(self, field: int, value: int) -> None:
        self._words[field >> 3] = value

    def grow_arena(self, at_least: int = 0) -> None:
        """Room for what was wanted, and at least twice what there is."""
        used = self.get(t.ARENA_USED)
        size = max(2 * len(self.arena), used + max(at_least, self.get(t.WANTED)))
        arena = lines(size)
        kept = min(used, len(self.arena))
        arena[:kept] = self.arena[:kept]
        self.arena = arena
        self.set(t.ARENA, address(arena))
        self.set(t.ARENA_SIZE, size)

    def grow_instruments(self, count: int) -> None:
        old = self.instruments
        self.headers = _grown(self.headers, count * t.HEADER_SIZE)
        self.anomalies = _grown(self.anomalies, count * t.ANOMALIES_SIZE)
        self.tops = _grown(self.tops, count * t.TOP_SIZE)
        tops = self.tops.view(np.int64).reshape(count, t.TOP_SIZE // 8)
        tops[old:, [0, t.TOP_SIDE // 8]] = NULL
        security_ids, touched = np.zeros(count, np.int64), np.zeros(count, np.uint32)
        security_ids[:old], touched[:old] = self.security_ids, self._touched
        self.security_ids, self._touched = security_ids, touched
        firsts = np.arange(count, dtype=np.uint32)
        firsts[:old] = self.firsts
        self.firsts = firsts
        self.instruments = count
        self._grow_depth_shown(old)
        self.set(t.HEADERS, address(self.headers))
        self.set(t.ANOMALIES, address(self.anomalies))
        self.set(t.TOPS, address(self.tops))
        self.set(t.SECURITY_IDS, address(security_ids))
        self.set(t.TOUCHED, address(touched))
        self.set(t.FIRSTS, address(firsts))

    def grow_quotes(self) -> None:
        count = self.get(t.QUOTES_COUNT)
        needed = count + self.get(t.TOUCHED_COUNT) + 1
        quotes = np.empty(max(FIRST_QUOTES, 2 * len(self.quotes), 2 * needed), t.QUOTE)
        quotes[:count] = self.quotes[:count]
        self.use_quotes(quotes)

    def want_depth(self, levels: int) -> None:
        """From now on depths are told of so many levels a side. Nothing counts as told yet."""
        self.depth_levels, self._depth_shown = levels, np.empty(0, np.int64)
        self._grow_depth_shown(0)
        self.set(t.DEPTH_LEVELS, levels)
        self.depths = np.empty(0, t.depth_type(levels))
        self.grow_depths()

    def grow_depths(self) -> None:
        count = self.get(t.DEPTHS_COUNT)
        needed = count + self.get(t.TOUCHED_COUNT) + 1
        size = max(FIRST_DEPTHS, 2 * len(self.depths), 2 * needed)
        depths = np.empty(size, t.depth_type(self.depth_levels))
        depths[:count] = self.depths[:count]
        self.depths = depths
        self.set(t.DEPTHS, address(depths))
        self.set(t.DEPTHS_CAPACITY, len(depths))

    def _grow_depth_shown(self, old: int) -> None:
        """Of all instruments; of those after the first `old` there is nothing."""
        if not self.depth_levels:
            return
        words = 2 * 3 * self.depth_levels  # price, size and orders of each level
        shown = np.zeros((self.instruments, 2 * self.depth_levels, 3), np.int64)
        shown[:, :, 0] = NULL
        shown.reshape(-1)[: old * words] = self._depth_shown[: old * words]
        self._depth_shown = shown.reshape(-1)
        self.set(t.DEPTH_SHOWN, address(self._depth_shown))

    def use_quotes(self, quotes: NDArray[Any]) -> None:
        self.quotes = quotes
        self.set(t.QUOTES, address(quotes))
        self.set(t.QUOTES_CAPACITY, len(quotes))


def _grown(old: Bytes, size: int) -> Bytes:
    new = lines(size)
    new[: len(old)] = old
    new[len(old) :] = 0
    return new
