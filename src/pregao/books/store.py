"""The books and statistics of many instruments, in flat memory, kept by kernels.

    store = BookStore()
    done = store.apply(rows)          # rows of `model.rows`, in the order of the stream
    store.top(store.number(security_id))

Other kernels call `books.kernels.apply_row(store.context, number, row address)` themselves: when it
answers NEEDS_MEMORY they return to Python, which calls `make_room(code)` and them again.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pregao.books import layout as t
from pregao.books.instrument_view import StoreViews
from pregao.books.invariants import check_store
from pregao.books.kernels import rows as kernels
from pregao.books.kernels.by_level import set_depth
from pregao.books.kernels.quotes import settle
from pregao.books.kernels.statistics import empty_slots, forget_auction, reset_session
from pregao.books.memory import BookMemory, address
from pregao.books.phases import own_in_snapshot
from pregao.model.numbering import InstrumentNumbers, OtherBook
from pregao.model.rows import (
    ELECTRONIC,
    FIRST_ENTRY_KIND,
    FIRST_TRADING_KIND,
    LAST_ENTRY_KIND,
    LAST_STATISTIC_KIND,
    ROW,
    Kind,
    Rows,
)

MAX_INSTRUMENTS = 1 << 18
MAX_ORDERS = 1 << 25


class BookStore(StoreViews):
    def __init__(
        self,
        numbering: InstrumentNumbers | None = None,
        *,
        max_instruments: int = MAX_INSTRUMENTS,
        max_orders: int = MAX_ORDERS,
        depth: int = 0,
    ) -> None:
        """`numbering`: of the instruments, shared with others; else one of its own, of `max_instruments`.
        `depth`: of the books of instruments that levels are told of, until `set_depth`; 0: any."""
        super().__init__(BookMemory(max_orders))
        self._depth = depth
        self.numbering = InstrumentNumbers(max_instruments) if numbering is None else numbering
        self._looked_into: NDArray[Any] | None = None
        self._point_to_lookup()
        self.numbering.follow(self._on_new)

    def __len__(self) -> int:
        return len(self.numbering)

    def number(self, security_id: int) -> int | None:
        return self.numbering.get(security_id)

    def open_book(self, number: int, stream: int) -> int | None:
        """The number of an instrument's book of a stream (MDStreamID), made now if it never had a row; None
        when there are as many as there may be."""
        found = self.book_number(number, stream)
        return self.numbering.add_book(number, stream or ELECTRONIC) if found is None else found

    def numbers(self, security_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of many; -1 for those that are not kept."""
        return self.numbering.get_many(security_ids)

    def security_id(self, number: int) -> int:
        return self.numbering.security_ids[number]

    def add_instrument(self, security_id: int) -> int | None:
        """Its number; None when there are as many as there may be."""
        return self.numbering.add(security_id)

    def _on_new(self, number: int) -> None:
        if number >= self._memory.instruments:
            self._memory.grow_instruments(2 * self._memory.instruments)
        self._memory.security_ids[number] = self.numbering.security_ids[number]
        self._point_to_lookup()
        other = self.numbering.other_books.get(number)
        if other is not None:
            self._chain(number, other)
        elif self._depth:
            self.set_depth(number, self._depth)

    def _chain(self, number: int, book: OtherBook) -> None:
        """The newest of an instrument's other books stands behind its first."""
        words = self._memory.headers.view(np.uint32).reshape(-1, t.HEADER_SIZE // 4)[:, t.NEXT_BOOK // 4]
        words[number] = words[book.first] & t.NEXT_BOOK_MASK
        words[book.first] += np.uint32(number + 1 - int(words[number]))
        self._memory.firsts[number] = book.first
        self._set(number, t.BOOK_STREAM, t.E_BOOK if book.stream == ELECTRONIC else book.stream)
        self.set_depth(number, self.depth(book.first))

    def _point_to_lookup(self) -> None:
        """It moves as it grows."""
        if self._looked_into is self.numbering.lookup:
            return
        self._looked_into = self.numbering.lookup
        self._memory.set(t.LOOKUP, address(self.numbering.lookup))
        self._memory.set(t.LOOKUP_BITS, self.numbering.bits)

    def set_depth(self, number: int, depth: int) -> None:
        """How many levels a side of its books may have, where levels are told; 0: any. Others go."""
        for each in self.book_numbers(number):
            set_depth(self.context, self._header(each), depth)

    def skip_unknown(self, skip: bool = True) -> None:
        """Rows of instruments that were not added are skipped and counted, not added: for those who are
        interested in a few."""
        self._memory.set(t.SKIP_UNKNOWN, int(skip))

    def want_quotes(self) -> None:
        """From now on the tops that an event changed are told at its end: `take_quotes`."""
        if not len(self._memory.quotes):
            self._memory.grow_quotes()

    def take_quotes(self) -> NDArray[Any]:
        """The quotes since the last time."""
        count = self._memory.get(t.QUOTES_COUNT)
        taken = self._memory.quotes[:count].copy()
        self._memory.set(t.QUOTES_COUNT, 0)
        return taken

    def want_depth(self, levels: int) -> None:
        """From now on the first levels a side are told at the end of an event that changed one of them:
        `take_depths`."""
        self._memory.want_depth(levels)

    def take_depths(self) -> NDArray[Any]:
        """The depths since the last time, as `layout.depth_type`."""
        count = self._memory.get(t.DEPTHS_COUNT)
        taken = self._memory.depths[:count].copy()
        self._memory.set(t.DEPTHS_COUNT, 0)
        return taken

    def apply(self, rows: Rows, first: int = 0) -> tuple[int, int]:
        """Rows in the order of the stream. DONE and their count; or SPECIAL and the row that is not of
        one instrument; or REJOINED and the row after the one that told a group's phase."""
        assert rows.dtype == ROW
        assert rows.flags.c_contiguous
        place = address(rows)
        while True:
            code, first = kernels.apply_rows(self.context, place, first, len(rows))
            if code == t.UNKNOWN_INSTRUMENT:
                self._add_or_skip(int(rows[first]["security_id"]))
            elif not self.make_room(code):
                return code, first

    def make_room(self, code: int) -> bool:
        """Whether a kernel stopped for want of room; there is some then."""
        if code == t.NEEDS_MEMORY:
            wanted = self._memory.get(t.WANTED_BOOK)
            if wanted:
                self._add_book(wanted >> 8, wanted & 0xFF)
            else:
                self._memory.grow_arena()
        elif code == t.QUOTES_FULL:
            if len(self._memory.quotes):
                self._memory.grow_quotes()
            if self._memory.depth_levels:
                self._memory.grow_depths()
        else:
            return False
        return True

    def _add_book(self, first: int, stream: int) -> None:
        """A book that a row is for; when there are as many as there may be, such rows are skipped."""
        self._memory.set(t.WANTED_BOOK, 0)
        if self.numbering.add_book(first, ELECTRONIC if stream == t.E_BOOK else stream) is None:
            self._memory.set(t.SKIP_BOOKS, 1)

    def _add_or_skip(self, security_id: int) -> None:
        """An instrument that a row is of; when there are as many as there may be, such rows are skipped."""
        if self.add_instrument(security_id) is None:
            self.skip_unknown()

    def load_snapshot(self, number: int, rows: Rows, *, book: bool = True, statistics: bool = True) -> None:
        """Put the rows of a snapshot in the place of what was known of an instrument.

        The state comes first, for what it makes one forget is not what the snapshot brings. The phase of its
        group stays what it is."""
        if book:
            self.clear(number)
            self._load(number, rows, FIRST_ENTRY_KIND, LAST_ENTRY_KIND)
        if statistics:
            phase = self.group_phase(number)
            empty_slots(self.context, self._header(number), 0, t.STATISTICS_SLOTS)
            self._load(number, rows, int(Kind.STATE), int(Kind.STATE))
            self._set(number, t.GROUP_PHASE, phase)
            self._set(number, t.OWN_STATE, _own_state_in(rows))
            self._load(number, rows, FIRST_TRADING_KIND, LAST_STATISTIC_KIND)

    def load_books(
        self, numbers: NDArray[np.int64], rows: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        """Put the orders of many snapshots in the place of books: so many rows at an address for each."""
        done = 0
        while done < len(numbers):
            code, done = kernels.load_books(
                self.context, address(numbers), address(rows), address(counts), done, len(numbers)
            )
            self.make_room(code)

    def _load(self, number: int, rows: Rows, first: int, last: int) -> None:
        rows = np.ascontiguousarray(rows)
        done = 0
        while done < len(rows):
            rest = rows[done:]
            code, left = kernels.load_rows(self.context, number, address(rest), len(rest), first, last)
            done += left
            self.make_room(code)

    def clear(self, number: int) -> None:
        """Its books are empty; statistics stay (6.5.12, 6.5.13)."""
        kernels.clear_instrument(self.context, number)

    def clear_all(self) -> None:
        for number in range(len(self)):
            if number not in self.numbering.other_books:
                self.clear(number)

    def reset_statistics(self, numbers: Iterable[int]) -> None:
        """A new session (14.3)."""
        for number in numbers:
            reset_session(self.context, self._header(number))

    def forget_auction(self, numbers: Iterable[int]) -> None:
        """Their auction is over (13.10)."""
        for number in numbers:
            forget_auction(self.context, self._header(number))

    def set_phase(self, numbers: Iterable[int], phase: int) -> None:
        """The phase of their group: what a state of theirs means depends on it. 0: it is not known."""
        headers = self._memory.headers.reshape(-1, t.HEADER_SIZE)
        headers[list(numbers), t.GROUP_PHASE] = phase

    def set_own_states(self, numbers: NDArray[np.int64], states: NDArray[np.uint8]) -> None:
        """States that instruments have by themselves; 0: as their group."""
        self._memory.headers.reshape(-1, t.HEADER_SIZE)[numbers, t.OWN_STATE] = states

    def tops(self) -> NDArray[np.int64]:
        """Price, size and orders of the best bid and offer of each instrument, as last told."""
        words = self._memory.tops.view(np.int64).reshape(-1, t.TOP_SIZE // 8)
        return words[: len(self), : 2 * t.TOP_SIDE // 8]

    def forget_phases(self) -> None:
        """No phase is known any more."""
        self._memory.headers.reshape(-1, t.HEADER_SIZE)[:, t.GROUP_PHASE] = 0

    def _set(self, number: int, field: int, value: int) -> None:
        """A field of one byte."""
        self._memory.headers[number * t.HEADER_SIZE + field] = value

    def settle(self) -> None:
        """What is now counts as told: the next quotes are of what changes from here on."""
        settle(self.context)

    def _header(self, number: int) -> int:
        return self._memory.get(t.HEADERS) + number * t.HEADER_SIZE

    def check_invariants(self) -> None:
        check_store(self._memory, len(self))


def _own_state_in(snapshot: Rows) -> int:
    """A snapshot without a state is of an instrument that follows its group (14)."""
    states = snapshot[snapshot["kind"] == Kind.STATE]
    return own_in_snapshot(int(states[-1]["type"]), int(states[-1]["detail"])) if len(states) else 0
