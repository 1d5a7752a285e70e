"""Numbers for instruments: from securityID to a small number, which arrays are indexed by.

Whoever keeps something of each instrument (its book, what is known of it) follows one table and is told of
every new number, so that all of them number alike. Kernels look into `lookup`, open addressing by a hash.

An instrument may have a book for each stream (MDStreamID): the first has the instrument's own number, by
which its reports are counted; others have numbers of their own, which no securityID leads to.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

LOOKUP_SIZE: Final = 16  # bytes of an entry: security_id, number + 1 (0: empty)
HASH_FACTOR: Final = 0x9E3779B97F4A7C15  # Fibonacci hashing: ids that follow each other lie far apart
_FIRST_BITS: Final = 8
_MASK: Final = (1 << 64) - 1


class OtherBook(NamedTuple):
    """Which book it is: of the instrument of a number, in a stream (a character of MDStreamID)."""

    first: int
    stream: int


class InstrumentNumbers:
    """At most `most`. Numbers are never taken back: an instrument that is deleted keeps its own."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.security_ids: list[int] = []  # by number
        self._numbers: dict[int, int] = {}
        self.other_books: dict[int, OtherBook] = {}  # by number
        self._books: dict[OtherBook, int] = {}
        self._followers: list[Callable[[int], None]] = []
        self._in_order = self._order = np.zeros(0, np.int64)  # ids and their numbers, by id
        self.bits = _FIRST_BITS
        self.lookup: Array = np.zeros((1 << self.bits, 2), np.int64)  # at most half full
        self._words = self.lookup.reshape(-1).data  # Python reads and writes these five times as fast

    def __len__(self) -> int:
        return len(self.security_ids)

    def follow(self, on_new: Callable[[int], None]) -> None:
        """Have each new number told, and those that there are."""
        self._followers.append(on_new)
        for number in range(len(self)):
            on_new(number)

    def get(self, security_id: int) -> int | None:
        return self._numbers.get(security_id)

    def get_many(self, security_ids: Array) -> Array:
        """-1 for those that are not there."""
        if len(self._in_order) != len(self._numbers):
            known = np.fromiter(self._numbers, np.int64, len(self._numbers))
            order = np.argsort(known)
            self._order = np.fromiter(self._numbers.values(), np.int64, len(known))[order]
            self._in_order = known[order]
        if not len(self._in_order):
            return np.full(len(security_ids), -1)
        places = np.minimum(np.searchsorted(self._in_order, security_ids), len(self._in_order) - 1)
        return np.where(self._in_order[places] == security_ids, self._order[places], -1)

    def add(self, security_id: int) -> int | None:
        """Its number, made now if it is new; None when there are as many as there may be."""
        number = self._numbers.get(security_id)
        if number is not None:
            return number
        number = len(self)
        if number >= self._most:
            return None
        self._numbers[security_id] = number
        self.security_ids.append(security_id)
        if 2 * len(self._numbers) > 1 << self.bits:
            self._rebuild()
        else:
            self._put(security_id, number)
        self._tell(number)
        return number

    def add_book(self, first: int, stream: int) -> int | None:
        """The number of an instrument's book of another stream; as `add`."""
        book = OtherBook(first, stream)
        if book not in self._books:
            number = len(self)
            if number >= self._most:
                return None
            self._books[book], self.other_books[number] = number, book
            self.security_ids.append(self.security_ids[first])
            self._tell(number)
        return self._books[book]

    def first_of(self, number: int) -> int:
        """The number of the instrument that a book is of."""
        other = self.other_books.get(number)
        return number if other is None else other.first

    def _tell(self, number: int) -> None:
        for on_new in self._followers:
            on_new(number)

    def _put(self, security_id: int, number: int) -> None:
        mask, words = (1 << self.bits) - 1, self._words
        place = ((security_id * HASH_FACTOR) & _MASK) >> (64 - self.bits)
        while words[2 * place + 1] != 0:
            place = (place + 1) & mask
        words[2 * place], words[2 * place + 1] = security_id, number + 1

    def _rebuild(self) -> None:
        self.bits += 1
        self.lookup = np.zeros((1 << self.bits, 2), np.int64)
        self._words = self.lookup.reshape(-1).data
        for security_id, number in self._numbers.items():
            self._put(security_id, number)
