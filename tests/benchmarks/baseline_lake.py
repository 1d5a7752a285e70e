"""Frozen baseline: captures to tables as one would write it in plain Python, with struct, dicts and csv.

Both feeds are read packet by packet and merged by sequence number; orders, trades and the top of the book
after each event go to CSV files. It knows wire version 16 only, compares no bytes, proves nothing, takes no
samples of the book, and writes three tables of the twenty.
"""

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from .baseline_book import Book
from .baseline_struct import BLOCKS

RECORD = Struct("<IIII")
PACKET = Struct("<BxHIQ")
MESSAGE = Struct("<H4xH")
HEADERS, FRAME = 12, 42  # framing and message header; Ethernet, IPv4 and UDP
ORDER, DELETED, SIDE_DELETED, TRADE = (Struct(BLOCKS[template]) for template in (50, 51, 52, 53))
SECURITY = Struct("<Q")
NULL_PRICE = -(1 << 63)
BID, IMPLIED, END_OF_EVENT = b"0", 16, 128
Read = Iterator[tuple[int, int, int, bytes]]  # place, sent, received, payload


def packets(path: Path) -> Read:
    with path.open("rb") as file:
        data = file.read()
    at = 24
    while at < len(data):
        seconds, nanoseconds, captured, _ = RECORD.unpack_from(data, at)
        payload = data[at + 16 + FRAME : at + 16 + captured]
        at += 16 + captured
        _, version, number, sent = PACKET.unpack_from(payload)
        if number:
            yield version << 32 | number, sent, seconds * 1_000_000_000 + nanoseconds, payload


def merged(feeds: list[Path]) -> Iterator[tuple[int, int, list[int], bytes]]:
    """By place, with when each feed had it."""
    found: dict[int, tuple[int, list[int], bytes]] = {}
    for number, feed in enumerate(feeds):
        for place, sent, received, payload in packets(feed):
            known = found.setdefault(place, (sent, [0] * len(feeds), payload))
            known[1][number] = received
    for place in sorted(found):
        yield place, *found[place]


class PlainLake:
    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._files = [(out / f"{name}.csv").open("w", newline="") for name in ("orders", "trades", "quotes")]
        self._orders, self._trades, self._quotes = (csv.writer(file) for file in self._files)
        self.books: dict[int, Book] = defaultdict(Book)
        self._touched: set[int] = set()

    def run(self, feeds: list[Path]) -> int:
        """How many messages there were."""
        messages = 0
        for place, sent, received, payload in merged(feeds):
            at, end = PACKET.size, len(payload)
            while at < end:
                length, template = MESSAGE.unpack_from(payload, at)
                self._take(template, payload, at + HEADERS, (place, sent, *received))
                messages += 1
                at += length
        for file in self._files:
            file.close()
        return messages

    def _take(self, template: int, payload: bytes, at: int, lineage: tuple[int, ...]) -> None:
        ends = 0
        if template == 50:
            told = ORDER.unpack_from(payload, at)
            security_id, ends, action, entry_type, price, size, firm, inserted_ns, order_id = told[:9]
            side = self._side(security_id, entry_type)
            side.put(
                order_id, None if price == NULL_PRICE else price, size, inserted_ns, firm, ends & IMPLIED
            )
            self._orders.writerow((*lineage, security_id, action, entry_type, price, size, firm, order_id))
        elif template == 51:
            security_id, ends, entry_type, _, order_id, *_ = DELETED.unpack_from(payload, at)
            self._side(security_id, entry_type).remove(order_id)
            self._orders.writerow((*lineage, security_id, 2, entry_type, "", "", "", order_id))
        elif template == 53:
            told = TRADE.unpack_from(payload, at)
            ends = told[1]
            self._trades.writerow((*lineage, *told))
        elif template == 52:
            security_id, ends, _, entry_type, *_ = SIDE_DELETED.unpack_from(payload, at)
            half = self._side(security_id, entry_type)
            half.orders.clear()
            half.levels.clear()
            half.keys.clear()
        elif template == 9:
            security_id = SECURITY.unpack_from(payload, at)[0]
            self.books[security_id] = Book()
        if ends & END_OF_EVENT:
            self._end(lineage)

    def _side(self, security_id: int, entry_type: bytes):  # type: ignore[no-untyped-def]
        self._touched.add(security_id)
        book = self.books[security_id]
        return book.bids if entry_type == BID else book.offers

    def _end(self, lineage: tuple[int, ...]) -> None:
        for security_id in self._touched:
            book = self.books[security_id]
            top = book.bids.best(), book.offers.best()
            if top != book.top:
                book.top = top
                self._quotes.writerow((*lineage, security_id, *(top[0] or ()), *(top[1] or ())))
        self._touched.clear()
