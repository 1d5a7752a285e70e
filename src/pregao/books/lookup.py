"""From security_id to the number of an instrument in its store: the table that kernels look into."""

import numpy as np
from numpy.typing import NDArray

from pregao.books import layout as t
from pregao.books.memory import Memory, address

_FIRST_BITS = 8
_MASK = (1 << 64) - 1


class Lookup:
    """At most half full. Instruments are never taken out: one that is deleted keeps its number."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._numbers: dict[int, int] = {}
        self._bits = _FIRST_BITS
        self._in_order = self._order = np.zeros(0, np.int64)  # ids and their numbers, by id
        self._rebuild()

    def __len__(self) -> int:
        return len(self._numbers)

    def get(self, security_id: int) -> int | None:
        return self._numbers.get(security_id)

    def get_many(self, security_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """-1 for those that are not there."""
        if len(self._in_order) != len(self._numbers):
            known = np.fromiter(self._numbers, np.int64, len(self._numbers))
            self._order = np.argsort(known)
            self._in_order = known[self._order]
        if not len(self._in_order):
            return np.full(len(security_ids), -1)
        places = np.minimum(np.searchsorted(self._in_order, security_ids), len(self._in_order) - 1)
        return np.where(self._in_order[places] == security_ids, self._order[places], -1)

    def add(self, security_id: int) -> int:
        number = len(self._numbers)
        self._numbers[security_id] = number
        if 2 * len(self._numbers) > 1 << self._bits:
            self._bits += 1
            self._rebuild()
        else:
            self._put(security_id, number)
        return number

    def _put(self, security_id: int, number: int) -> None:
        mask = (1 << self._bits) - 1
        place = ((security_id * t.HASH_FACTOR) & _MASK) >> (64 - self._bits)
        while self._table[place, 1] != 0:
            place = (place + 1) & mask
        self._table[place] = security_id, number + 1

    def _rebuild(self) -> None:
        self._table = np.zeros((1 << self._bits, 2), np.int64)
        for security_id, number in self._numbers.items():
            self._put(security_id, number)
        self._memory.set(t.LOOKUP, address(self._table))
        self._memory.set(t.LOOKUP_BITS, self._bits)
