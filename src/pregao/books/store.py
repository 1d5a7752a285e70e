"""The books and statistics of many instruments, in flat memory, kept by kernels.

    store = BookStore()
    done = store.apply(rows)          # rows of `model.rows`, in the order of the stream
    store.top(store.number(security_id))

Other kernels call `books.kernels.apply_row(store.context, number, row address)` themselves: when it
answers NEEDS_MEMORY they return to Python, which calls `make_room(code)` and them again.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pregao.books import kernels
from pregao.books import layout as t
from pregao.books.anomalies import Anomaly
from pregao.books.figures.kernels import empty_slots, forget_auction, reset_session
from pregao.books.invariants import check_store
from pregao.books.lookup import Lookup
from pregao.books.memory import Memory, address
from pregao.books.statistics import Statistics
from pregao.books.views import Level, Order, Top
from pregao.model.market import Side
from pregao.model.rows import NULL, ROW, Kind, Rows

MAX_INSTRUMENTS = 1 << 18
MAX_ORDERS = 1 << 25


class BookStore:
    def __init__(self, *, max_instruments: int = MAX_INSTRUMENTS, max_orders: int = MAX_ORDERS) -> None:
        self._memory = Memory(max_orders)
        self._lookup = Lookup(self._memory)
        self._max_instruments = max_instruments

    def __len__(self) -> int:
        return len(self._lookup)

    @property
    def context(self) -> int:
        """Address for kernels; it never changes."""
        return self._memory.context

    @property
    def held(self) -> int:
        """Orders in all books."""
        return self._memory.get(t.ORDERS_HELD)

    @property
    def size(self) -> int:
        """Bytes of the arena."""
        return len(self._memory.arena)

    @property
    def used(self) -> int:
        """Bytes of the arena that were ever needed."""
        return self._memory.get(t.ARENA_USED)

    @property
    def skipped(self) -> int:
        """Rows of instruments that are not kept."""
        return self._memory.get(t.SKIPPED)

    def number(self, security_id: int) -> int | None:
        return self._lookup.get(security_id)

    def numbers(self, security_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of many; -1 for those that are not kept."""
        return self._lookup.get_many(security_ids)

    def security_id(self, number: int) -> int:
        return int(self._memory.security_ids[number])

    def add_instrument(self, security_id: int) -> int | None:
        """Its number; None when there are as many as there may be."""
        number = self._lookup.get(security_id)
        if number is not None:
            return number
        if len(self._lookup) >= self._max_instruments:
            return None
        number = self._lookup.add(security_id)
        if number >= self._memory.instruments:
            self._memory.grow_instruments(2 * self._memory.instruments)
        self._memory.security_ids[number] = security_id
        return number

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

    @property
    def has_touched(self) -> bool:
        """Whether books have changed whose quotes are not told yet: their event has not ended."""
        return self._memory.get(t.TOUCHED_COUNT) > 0

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
            self._memory.grow_arena()
        elif code == t.QUOTES_FULL:
            self._memory.grow_quotes()
        else:
            return False
        return True

    def _add_or_skip(self, security_id: int) -> None:
        """An instrument that a row is of; when there are as many as there may be, such rows are skipped."""
        if self.add_instrument(security_id) is None:
            self.skip_unknown()

    def load_snapshot(self, number: int, rows: Rows, *, book: bool = True, statistics: bool = True) -> None:
        """Put the rows of a snapshot in the place of what was known of an instrument.

        The state comes first, for what it makes one forget is not what the snapshot brings."""
        if book:
            self.clear(number)
            self._load(number, rows, Kind.SNAPSHOT_ORDER, Kind.SNAPSHOT_ORDER)
        if statistics:
            self._load(number, rows, Kind.STATE, Kind.STATE)
            empty_slots(self.context, self._header(number), 0, t.STATE)
            empty_slots(self.context, self._header(number), t.BANDS, t.BAND_TYPES)
            self._load(number, rows, Kind.TRADE, Kind.QUANTITY_BAND)

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

    def _load(self, number: int, rows: Rows, first: Kind, last: Kind) -> None:
        rows = np.ascontiguousarray(rows)
        done = 0
        while done < len(rows):
            rest = rows[done:]
            code, left = kernels.load_rows(
                self.context, number, address(rest), len(rest), int(first), int(last)
            )
            done += left
            self.make_room(code)

    def clear(self, number: int) -> None:
        """Its book is empty; statistics stay (6.5.12, 6.5.13)."""
        kernels.clear_instrument(self.context, number)

    def clear_all(self) -> None:
        for number in range(len(self)):
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
        """The phase of their group: what a state of theirs means depends on it."""
        headers = self._memory.headers.reshape(-1, t.HEADER_SIZE)
        headers[list(numbers), t.GROUP_PHASE] = phase

    def settle(self) -> None:
        """What is now counts as told: the next quotes are of what changes from here on."""
        kernels.settle(self.context)

    def _header(self, number: int) -> int:
        return self._memory.get(t.HEADERS) + number * t.HEADER_SIZE

    # Views

    def is_suspect(self, number: int) -> bool:
        return bool(self._memory.headers[number * t.HEADER_SIZE + t.SUSPECT])

    def anomalies(self, number: int) -> Counter[Anomaly]:
        counters = self._memory.anomalies.view(np.uint32).reshape(-1, t.ANOMALY_COUNTERS)[number]
        return Counter({anomaly: int(counters[anomaly]) for anomaly in Anomaly if counters[anomaly]})

    def order_array(self, number: int, side: Side) -> NDArray[Any]:
        """Orders of a side, best first, as `layout.SLOT`."""
        head = self._side(number, side)
        at, count = int(head["orders_at"]), int(head["orders"])
        if not count:
            return np.empty(0, t.SLOT)
        if head["policy"] == t.BY_POSITION:
            return self._block(at, t.SLOT, count)[::-1].copy()
        table = self._block(at, t.SLOT, t.FIRST_CAPACITY << int(head["orders_class"]))
        orders = table[table["flags"] != 0]
        keys = _keys(orders["price"], side)
        ranked: NDArray[Any] = orders[np.lexsort((orders["id"], ~keys))]  # ~: falling, also for the greatest
        return ranked

    def is_by_position(self, number: int, side: Side) -> bool:
        """Whether the last update of a side told positions (below wire version 15)."""
        return bool(self._side(number, side)["policy"] == t.BY_POSITION)

    def level_array(self, number: int, side: Side, depth: int | None = None) -> NDArray[Any]:
        """Price levels of a side, best first: price (NULL: none), size, orders."""
        head = self._side(number, side)
        count = int(head["levels"])
        levels = self._block(int(head["levels_at"]), t.LEVEL, count)[::-1][:depth].copy()
        levels["key"] = (levels["key"] + 1) * (1 if side is Side.BUY else -1)
        return levels.view(PRICE_LEVEL)

    def orders(self, number: int, side: Side) -> list[Order]:
        return [
            Order(
                order_id, None if price == NULL else price, size, inserted_ns, firm or None,
                bool(flags & t.SLOT_IMPLIED),
            )
            for order_id, price, size, inserted_ns, firm, flags in self.order_array(number, side).tolist()
        ]  # fmt: skip

    def levels(self, number: int, side: Side, depth: int | None = None) -> list[Level]:
        return [
            Level(None if price == NULL else price, size, orders)
            for price, size, orders in self.level_array(number, side, depth).tolist()
        ]

    def top(self, number: int) -> Top:
        bids, offers = (self.levels(number, side, 1) for side in Side)
        return Top(bids[0] if bids else None, offers[0] if offers else None)

    def statistics_rows(self, number: int) -> Rows:
        """The row that told each statistic, by its slot in `layout`; kind 0 where there is none."""
        at = int(self._memory.headers.view(np.uint32)[(number * t.HEADER_SIZE + t.STATISTICS_AT) // 4])
        if not at:
            return np.zeros(t.STATISTICS_SLOTS, ROW)
        return self._block(at, ROW, t.STATISTICS_SLOTS).copy()

    def statistics(self, number: int) -> Statistics:
        return Statistics.of_rows(self.statistics_rows(number))

    def own_state(self, number: int) -> int:
        """0: as its group."""
        return int(self._memory.headers[number * t.HEADER_SIZE + t.OWN_STATE])

    def group_phase(self, number: int) -> int:
        """0: not known."""
        return int(self._memory.headers[number * t.HEADER_SIZE + t.GROUP_PHASE])

    def check_invariants(self) -> None:
        check_store(self._memory, len(self))

    def _side(self, number: int, side: Side) -> NDArray[Any]:
        start = number * t.HEADER_SIZE + (side - 1) * t.SIDE_SIZE
        view: NDArray[Any] = self._memory.headers[start : start + t.SIDE_SIZE].view(t.SIDE)[0]
        return view

    def _block(self, at: int, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        return self._memory.arena[at * t.LINE : at * t.LINE + count * kind.itemsize].view(kind)


PRICE_LEVEL = np.dtype([("price", "<i8"), ("size", "<i8"), ("orders", "<i8")])


def _keys(prices: NDArray[np.int64], side: Side) -> NDArray[np.int64]:
    """As in `layout`: NumPy's numbers wrap, and that of no price becomes the greatest."""
    return prices * (1 if side is Side.BUY else -1) - 1
