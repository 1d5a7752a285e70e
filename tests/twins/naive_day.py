"""A simulated day read back: naive dict books from the incremental stream, held against the truth."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pregao.captures.decode import CaptureDecoder, DecodedMessage
from pregao.codecs.sbe import load_builtin_schema

Point = tuple[int, int]  # sequenceVersion, sequenceNumber
Orders = list[tuple[int, int | None, int]]  # secondaryOrderID, price, size, in priority


def messages(path: Path) -> Iterator[DecodedMessage]:
    """Every message of a file, none of them damaged."""
    for item in CaptureDecoder(load_builtin_schema()).messages(str(path)):
        assert isinstance(item, DecodedMessage), item
        assert item.message.fields is not None
        yield item


def mantissa(price: Decimal | None) -> int | None:
    return None if price is None else int(price.scaleb(4))


@dataclass
class NaiveBooks:
    sides: dict[tuple[int, int], dict[int, tuple[int | None, int]]] = field(default_factory=dict)

    def side(self, security_id: int, side: int) -> dict[int, tuple[int | None, int]]:
        return self.sides.setdefault((security_id, side), {})

    def apply(self, name: str, fields: dict[str, Any]) -> None:
        if name == "ChannelReset_11":
            self.sides.clear()
        elif name == "EmptyBook_9":
            for side in (1, 2):
                self.side(fields["securityID"], side).clear()
        elif name in ("Order_MBO_50", "DeleteOrder_MBO_51", "MassDeleteOrders_MBO_52"):
            book = self.side(fields["securityID"], 1 if fields["mDEntryType"] == "BID" else 2)
            if name == "Order_MBO_50":
                self._put(book, fields)
            elif name == "DeleteOrder_MBO_51":
                del book[fields["secondaryOrderID"]]
            else:
                assert fields["mDUpdateAction"] == "DELETE_THRU"
                book.clear()

    @staticmethod
    def _put(book: dict[int, tuple[int | None, int]], fields: dict[str, Any]) -> None:
        key = fields["secondaryOrderID"]
        assert (key in book) == (fields["mDUpdateAction"] == "CHANGE")
        book[key] = mantissa(fields["mDEntryPx"]), fields["mDEntrySize"]

    def orders(self, security_id: int, side: int) -> Orders:
        def rank(order: tuple[int, int | None, int]) -> tuple[int, int]:
            price = order[1]
            level = -(1 << 62) if price is None else -price if side == 1 else price
            return level, order[0]

        return sorted(((key, *rest) for key, rest in self.side(security_id, side).items()), key=rank)


def truth_books(folder: Path, channel: int) -> dict[Point, dict[tuple[int, int], Orders]]:
    """The truth's books by the point they stand at; the last checkpoint of a point counts."""
    found: dict[Point, dict[tuple[int, int], Orders]] = {}
    for row in pq.read_table(folder / "truth" / "books.parquet").to_pylist():
        if row["channel"] == channel:
            orders = list(zip(row["order_id"], row["price"], row["size"], strict=True))
            point = row["seq_version"], row["seq_num"]
            found.setdefault(point, {})[row["security_id"], row["side"]] = orders
    return found


def snapshot_books(path: Path) -> tuple[dict[Point, dict[tuple[int, int], Orders]], int]:
    """The books of all snapshots by the point each names, and how many loops ended."""
    found: dict[Point, dict[tuple[int, int], Orders]] = {}
    loops, now = 0, dict[tuple[int, int], Orders]()
    for item in messages(path):
        fields = dict(item.message.fields or {})
        if item.message.name == "SequenceReset_1":
            loops += 1
        elif item.message.name == "SnapshotFullRefresh_Header_30":
            point = fields["lastSequenceVersion"], fields["lastMsgSeqNumProcessed"]
            now = found.setdefault(point, {})
            now[fields["securityID"], 1], now[fields["securityID"], 2] = [], []
        elif item.message.name == "SnapshotFullRefresh_Orders_MBO_71":
            for entry in fields["noMDEntries"]:
                side = 1 if entry["mDEntryType"] == "BID" else 2
                order = entry["secondaryOrderID"], mantissa(entry["mDEntryPx"]), entry["mDEntrySize"]
                now[fields["securityID"], side].append(order)
    return found, loops


def compare(books: NaiveBooks, expected: dict[tuple[int, int], Orders]) -> int:
    for (security_id, side), orders in expected.items():
        assert books.orders(security_id, side) == orders, (security_id, side)
    return len(expected)


def rebuild(folder: Path, channel: int) -> tuple[int, int, int]:
    """Walks the incremental stream of a day and compares every book; how many of the truth's sides,
    of the snapshots' sides, and how many loops were compared."""
    truth = truth_books(folder, channel)
    snapshots, loops = snapshot_books(folder / f"{channel:03}_SnapshotRecovery.pcap")
    books = NaiveBooks()
    point = next(iter(truth))  # the books a day starts with
    books.sides = {key: {one[0]: one[1:] for one in orders} for key, orders in truth[point].items()}
    compared = [0, 0]

    def check() -> None:
        for n, source in enumerate((truth, snapshots)):
            compared[n] += compare(books, source.pop(point, {}))

    for item in messages(folder / f"{channel:03}_Incremental_FeedA.pcap"):
        here = item.header.sequence_version, item.header.sequence_number
        if here != point and here[1]:
            check()
            point = here
        books.apply(item.message.name or "", dict(item.message.fields or {}))
    check()
    assert not truth
    assert not snapshots
    return compared[0], compared[1], loops
