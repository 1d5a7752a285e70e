"""Frozen baseline: a feed handler as one would write it in plain Python, with struct, dicts and bisect.

It takes the packets of both feeds in the order of arrival, drops those whose number it has had, and keeps
books (`baseline_book`) and the last message of each statistic. It knows wire version 16 only, compares no
bytes, heals nothing and waits for no end of an event: a packet that is missing ends it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from struct import Struct

from .baseline_book import Book, Side
from .baseline_struct import BLOCKS

PACKET = Struct("<BxHIQ")
MESSAGE = Struct("<H4xH")  # length, template
HEADERS = 12  # framing and message header
ORDER, DELETED, SIDE_DELETED = (Struct(BLOCKS[template]) for template in (50, 51, 52))
EMPTY_BOOK, PHASE, BAND = 9, 10, 22
KEPT = (3, 15, 16, 17, 19, 21, 22, 24, 25, 27, 28, 29, 53, 54, 56)
STATISTICS = {template: Struct(BLOCKS[template]) for template in KEPT}
SECURITY = Struct("<Q")
GROUP_PHASE = Struct(BLOCKS[PHASE])
NULL_PRICE = -(1 << 63)
BID, DELETE = b"0", 2
IMPLIED = 16

Statistic = tuple[object, ...]


class PlainHandler:
    def __init__(self) -> None:
        self.next_number = 1
        self.books: dict[int, Book] = defaultdict(Book)
        self.statistics: dict[int, dict[tuple[int, object], Statistic]] = defaultdict(dict)
        self.phases: dict[bytes, Statistic] = {}
        self._take: dict[int, Callable[[bytes, int], None]] = {
            50: self._order, 51: self._delete, 52: self._delete_side, EMPTY_BOOK: self._empty,
            PHASE: self._phase,
        }  # fmt: skip

    def run(self, packets: Iterable[bytes]) -> int:
        """How many messages there were."""
        messages = 0
        for payload in packets:
            number = PACKET.unpack_from(payload)[2]
            if number < self.next_number:
                continue
            if number > self.next_number:
                raise ValueError(f"packet {self.next_number} is missing")
            self.next_number = number + 1
            at, end = PACKET.size, len(payload)
            while at < end:
                length, template = MESSAGE.unpack_from(payload, at)
                take = self._take.get(template)
                if take is not None:
                    take(payload, at + HEADERS)
                elif template in STATISTICS:
                    self._statistic(payload, at + HEADERS, template)
                messages += 1
                at += length
        return messages

    def _side(self, security_id: int, entry_type: bytes) -> Side:
        book = self.books[security_id]
        return book.bids if entry_type == BID else book.offers

    def _order(self, payload: bytes, at: int) -> None:
        (security_id, indicator, _, entry_type, price, size, firm, inserted_ns, order_id, _, _, _) = (
            ORDER.unpack_from(payload, at)
        )
        side = self._side(security_id, entry_type)
        told = None if price == NULL_PRICE else price
        side.put(order_id, told, size, inserted_ns, firm, indicator & IMPLIED)

    def _delete(self, payload: bytes, at: int) -> None:
        security_id, _, entry_type, _, order_id, _, _, _ = DELETED.unpack_from(payload, at)
        self._side(security_id, entry_type).remove(order_id)

    def _delete_side(self, payload: bytes, at: int) -> None:
        security_id, _, _, entry_type, _, _ = SIDE_DELETED.unpack_from(payload, at)
        side = self._side(security_id, entry_type)
        side.orders.clear()
        side.levels.clear()
        side.keys.clear()

    def _empty(self, payload: bytes, at: int) -> None:
        self.books[SECURITY.unpack_from(payload, at)[0]] = Book()

    def _phase(self, payload: bytes, at: int) -> None:
        told = GROUP_PHASE.unpack_from(payload, at)
        self.phases[told[0]] = told

    def _statistic(self, payload: bytes, at: int, template: int) -> None:
        told = STATISTICS[template].unpack_from(payload, at)
        kind = told[2] if template == BAND else None
        self.statistics[told[0]][template, kind] = told
