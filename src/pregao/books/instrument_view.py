"""What a `BookStore` shows of one instrument. Kernels walk its memory; here are the objects and arrays that
people get."""

import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pregao.books import layout as t
from pregao.books.kernels import lookups as kernels
from pregao.books.memory import BookMemory, address
from pregao.books.statistics import Statistics, StoredStatistics
from pregao.books.views import Anomaly, BookLevels, Level, Order, QueuePosition, SideLevels, SidePolicy, Top
from pregao.model.market import Side
from pregao.model.rows import ELECTRONIC, NULL, ROW, Rows

_COUNT: Final = struct.Struct(f"<{t.SIDE_ORDERS}xI").unpack_from
_STATISTICS_AT: Final = struct.Struct(f"<{t.STATISTICS_AT}xI").unpack_from
_NEXT_BOOK: Final = struct.Struct(f"<{t.NEXT_BOOK}xI").unpack_from
_STREAMS_AT: Final = struct.Struct(f"<{t.STREAMS_AT}xI").unpack_from
_STREAM: Final = struct.Struct("<IB").unpack_from  # where the next one is, and which
_NO_STATISTICS: Final = bytes(t.STATISTICS_BLOCK)
_SLOT: Final = struct.Struct("<qqqqII").iter_unpack


class StoreViews:
    """Instruments are known by their number."""

    def __init__(self, memory: BookMemory) -> None:
        self._memory = memory
        self._slot, self._top = np.zeros(1, t.SLOT), np.zeros(6, np.int64)  # what kernels answer
        self._slot_address, self._top_address = address(self._slot), address(self._top)

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

    def top_words(self, number: int) -> NDArray[np.int64]:
        """Best bid and best offer: price, size and orders of each."""
        start = number * t.TOP_SIZE
        words: NDArray[np.int64] = self._memory.tops[start : start + 2 * t.TOP_SIDE].view(np.int64)
        return words

    @property
    def has_touched(self) -> bool:
        """Whether books have changed whose quotes are not told yet: their event has not ended."""
        return self._memory.get(t.TOUCHED_COUNT) > 0

    def book_numbers(self, number: int) -> list[int]:
        """Of all books of an instrument: its own, and those of streams that are not E."""
        numbers = [number]
        while True:
            (word,) = _NEXT_BOOK(self._memory.headers.data, numbers[-1] * t.HEADER_SIZE)
            if not word & t.NEXT_BOOK_MASK:
                return numbers
            numbers.append((word & t.NEXT_BOOK_MASK) - 1)

    def book_stream(self, number: int) -> int:
        """The stream that a book is of (MDStreamID); 0: E, or no row has said it yet."""
        stream: int = self._memory.headers.data[number * t.HEADER_SIZE + t.BOOK_STREAM]
        return 0 if stream == t.E_BOOK else stream

    def book_number(self, number: int, stream: int) -> int | None:
        """The number of an instrument's book of a stream; None: it never had a row."""
        stream = 0 if stream == ELECTRONIC else stream
        if not self._memory.headers[number * t.HEADER_SIZE + t.BOOK_STREAM]:
            return number
        return next((each for each in self.book_numbers(number) if self.book_stream(each) == stream), None)

    def is_suspect(self, number: int) -> bool:
        """Whether a book of an instrument is."""
        headers = self._memory.headers
        return any(bool(headers[each * t.HEADER_SIZE + t.SUSPECT]) for each in self.book_numbers(number))

    def anomalies(self, number: int) -> Counter[Anomaly]:
        counters = self._memory.anomalies.view(np.uint32).reshape(-1, t.ANOMALY_COUNTERS)[number]
        return Counter({anomaly: int(counters[anomaly]) for anomaly in Anomaly if counters[anomaly]})

    def order_array(self, number: int, side: Side) -> NDArray[Any]:
        """Orders of a side, best first, as `layout.SLOT`."""
        count: int = _COUNT(self._memory.headers.data, number * t.HEADER_SIZE + (side - 1) * t.SIDE_SIZE)[0]
        orders = np.empty(count + 1, t.SLOT)  # the last is for the kernel
        kernels.read_orders(self.context, number, int(side), address(orders))
        return orders[:count]

    def find_order(self, number: int, order_id: int) -> tuple[Side, Order] | None:
        """An order by its secondaryOrderID, and which side it is on."""
        side = kernels.find_order(self.context, number, order_id, self._slot_address)
        return (Side(side), _order(next(_SLOT(self._slot.tobytes())))) if side else None

    def queue_position(self, number: int, order_id: int) -> QueuePosition | None:
        """Where an order stands among those at its price."""
        found = self.find_order(number, order_id)
        if found is None:
            return None
        side, order = found
        orders, size = kernels.count_ahead(self.context, number, int(side), order_id)
        return QueuePosition(side, order.price, orders, size)

    def both_sides(self, number: int, depth: int) -> BookLevels:
        """The first levels of both sides, as arrays."""
        columns = np.empty((2, 3, depth), np.int64)
        counts = kernels.read_levels(self.context, number, depth, address(columns))
        bids, offers = (SideLevels(*side[:, :count]) for side, count in zip(columns, counts, strict=True))
        return BookLevels(bids, offers)

    def policy(self, number: int, side: Side) -> SidePolicy:
        """What orders a side, as its last update said."""
        return SidePolicy(int(self._side(number, side)["policy"]))

    def depth(self, number: int) -> int:
        """How many levels a side may have, where levels are told; 0: as many as there are."""
        return int(self._side(number, Side.BUY)["depth"])

    def level_array(self, number: int, side: Side, depth: int | None = None) -> NDArray[Any]:
        """Price levels of a side, best first: price (NULL: none), size, orders."""
        head = self._side(number, side)
        count = int(head["levels"])
        levels = self._block(int(head["levels_at"]), t.LEVEL, count)[::-1][:depth].copy()
        is_rate = int(head["policy"]) == t.BY_RATE
        levels["key"] = (levels["key"] + 1) * (1 if (side is Side.BUY) != is_rate else -1)
        return levels.view(t.PRICE_LEVEL)

    def orders(self, number: int, side: Side) -> list[Order]:
        return list(map(_order, _SLOT(self.order_array(number, side).tobytes())))

    def levels(self, number: int, side: Side, depth: int | None = None) -> list[Level]:
        return [
            Level(None if price == NULL else price, size, orders)
            for price, size, orders in self.level_array(number, side, depth).tolist()
        ]

    def top(self, number: int) -> Top:
        bids, offers = kernels.read_levels(self.context, number, 1, self._top_address)
        bid_price, bid_size, bid_orders, price, size, orders = self._top.tolist()
        return Top(
            Level(None if bid_price == NULL else bid_price, bid_size, bid_orders) if bids else None,
            Level(None if price == NULL else price, size, orders) if offers else None,
        )

    def statistics_rows(self, number: int, stream: int = 0) -> Rows:
        """The row that told each statistic, by its slot in `layout`; kind 0 where there is none."""
        return np.frombuffer(self._statistics(number, stream), ROW).copy()

    def statistics(self, number: int, stream: int = 0) -> Statistics:
        """Of a stream (MDStreamID as `model.rows` has it)."""
        return StoredStatistics(self._statistics(number, stream))

    def streams(self, number: int) -> list[int]:
        """Those other than that of the electronic market that have statistics."""
        return sorted(stream for stream, _ in self._other_streams(number))

    def _statistics(self, number: int, stream: int) -> bytes:
        if stream not in (0, ELECTRONIC):
            at = dict(self._other_streams(number)).get(stream, 0)
        else:
            (at,) = _STATISTICS_AT(self._memory.headers.data, number * t.HEADER_SIZE)
        start = at * t.LINE
        return self._memory.arena[start : start + t.STATISTICS_BLOCK].tobytes() if at else _NO_STATISTICS

    def _other_streams(self, number: int) -> Iterator[tuple[int, int]]:
        """Each, and where its statistics lie, in lines."""
        (head,) = _STREAMS_AT(self._memory.headers.data, number * t.HEADER_SIZE)
        while head:
            following, stream = _STREAM(self._memory.arena.data, head * t.LINE)
            yield stream, head + 1
            head = following

    def own_state(self, number: int) -> int:
        """0: as its group."""
        return int(self._memory.headers[number * t.HEADER_SIZE + t.OWN_STATE])

    def group_phase(self, number: int) -> int:
        """0: not known."""
        return int(self._memory.headers[number * t.HEADER_SIZE + t.GROUP_PHASE])

    def _side(self, number: int, side: Side) -> NDArray[Any]:
        start = number * t.HEADER_SIZE + (side - 1) * t.SIDE_SIZE
        view: NDArray[Any] = self._memory.headers[start : start + t.SIDE_SIZE].view(t.SIDE)[0]
        return view

    def _block(self, at: int, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        return self._memory.arena[at * t.LINE : at * t.LINE + count * kind.itemsize].view(kind)


def _order(slot: tuple[int, ...]) -> Order:
    order_id, price, size, inserted_ns, firm, flags = slot
    return Order(
        order_id, None if price == NULL else price, size, inserted_ns, firm or None,
        bool(flags & t.SLOT_IMPLIED),
    )  # fmt: skip
