"""From bytes to books: the examples of 9.1 to 9.6 as FAST messages, read to rows, applied by the kernel."""

from typing import Any

import pytest

from pregao.books.layout import DONE
from pregao.books.store import BookStore
from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.reader import BookShape, FastReader
from pregao.model.market import Side

SECURITY = 200_000_000_001
BUY, SELL = Side.BUY, Side.SELL
NEW, CHANGE, DELETE, DELETE_THRU, DELETE_FROM, OVERLAY = range(6)
BIDS = [(1058, 5000), (1058, 4000), (1057, 3000), (1054, 4000)]  # 9.1
OFFERS = [(1103, 7000), (1103, 2000), (1105, 1000)]
LEVELS = [(1058, 9000, 2), (1057, 3000, 1), (1054, 4000, 1), (1053, 10000, 4), (1050, 8000, 3)]  # 9.2.1


class Wire:
    """Sends entries as a message of 145, and keeps the book that they make."""

    def __init__(self, *, depth: int = 0) -> None:
        self.store = BookStore(depth=depth)
        assert self.store.add_instrument(SECURITY) == 0
        self._reader = FastReader(62, load_builtin_templates(), BookShape(depth > 0, depth))
        self._encoder, self._reports = FastMessageEncoder(load_builtin_templates()), 0

    def send(self, *entries: dict[str, Any]) -> None:
        made = []
        for entry in entries:
            self._reports += 1
            common = {"SecurityID": SECURITY, "RptSeq": self._reports, "MDEntryTime": 130000000}
            made.append(common | entry)
        fields = {"MsgSeqNum": self._reports, "SendingTime": 20131016130000000, "MDEntries": made}
        reading = self._reader.read_unit(self._encoder.encode(145, fields))
        assert not reading.faults
        assert self.store.apply(reading.rows) == (DONE, len(entries))
        self.store.check_invariants()
        assert not self.store.is_suspect(0), self.store.anomalies(0)

    def orders(self, side: Side) -> list[tuple[int | None, int]]:
        return [(each.price, each.size) for each in self.store.orders(0, side)]

    def levels(self, side: Side) -> list[tuple[int | None, int, int]]:
        return [(each.price, each.size, each.orders) for each in self.store.levels(0, side)]


def entry(
    action: int, side: Side, position: int, price: int | None = None, size: int | None = None, **more: Any
) -> dict[str, Any]:
    told: dict[str, Any] = {"MDUpdateAction": action, "MDEntryType": "0" if side is BUY else "1"}
    told |= {"MDEntryPositionNo": position, **more}
    if price is not None:
        told["MDEntryPx"] = Scaled(price, -4)  # one unit of the tables is one here
    return told | ({} if size is None else {"MDEntrySize": size})


@pytest.fixture
def orders() -> Wire:
    wire = Wire()
    for side, told in ((BUY, BIDS), (SELL, OFFERS)):
        wire.send(*(
            entry(NEW, side, position, price, size, OrderID=str(10 * side + position))
            for position, (price, size) in enumerate(told, 1)
        ))  # fmt: skip
    return wire


@pytest.fixture
def levels() -> Wire:
    wire = Wire(depth=5)
    wire.send(*(
        entry(NEW, BUY, position, price, size, NumberOfOrders=count)
        for position, (price, size, count) in enumerate(LEVELS, 1)
    ))  # fmt: skip
    return wire


def test_9_1(orders: Wire) -> None:
    assert (orders.orders(BUY), orders.orders(SELL)) == (BIDS, OFFERS)
    orders.send(entry(DELETE, BUY, 2, OrderID="12"), entry(NEW, BUY, 1, None, 9, OrderID="90"))
    assert orders.orders(BUY) == [(None, 9), BIDS[0], *BIDS[2:]]


def test_what_a_change_or_delete_need_not_tell(orders: Wire, levels: Wire) -> None:
    """9, 9.1, 9.2: only 290 addresses, so 37 may be absent; a change of a level keeps its price."""
    orders.send(entry(CHANGE, BUY, 2, 1058, 100), entry(DELETE, BUY, 1))
    assert [(each.order_id, each.size) for each in orders.store.orders(0, BUY)][:2] == [(12, 100), (13, 3000)]
    levels.send(entry(CHANGE, BUY, 2, None, 500, NumberOfOrders=7))
    assert levels.levels(BUY)[1] == (1057, 500, 7)


def test_9_2_1(levels: Wire) -> None:
    levels.send(entry(NEW, BUY, 1, 1060, 1000, NumberOfOrders=1))
    assert levels.levels(BUY) == [(1060, 1000, 1), *LEVELS[:4]]
    levels.send(entry(DELETE, BUY, 3), entry(NEW, BUY, 5, 1050, 8000, NumberOfOrders=3))
    assert levels.levels(BUY) == [(1060, 1000, 1), LEVELS[0], LEVELS[2], LEVELS[3], (1050, 8000, 3)]


def test_9_3_9_6() -> None:
    top = Wire(depth=1)
    for price, size in ((1058, 9000), (1060, 1000)):
        top.send(entry(OVERLAY, BUY, 1, price, size, NumberOfOrders=2))
        assert top.levels(BUY) == [(price, size, 2)]
    top.send(entry(OVERLAY, BUY, 1))
    assert top.levels(BUY) == []
    top.send(entry(OVERLAY, BUY, 1, None, 300, NumberOfOrders=1))
    assert top.levels(BUY) == [(None, 300, 1)], "a size without a price: orders at the auction's"


def test_all_six_actions_on_every_kind(orders: Wire, levels: Wire) -> None:
    """Certification script B2.8, B4.2: tops are deleted, too, and orders overlaid."""
    top = Wire(depth=1)
    top.send(entry(NEW, BUY, 1, 1058, 100, NumberOfOrders=1))
    top.send(entry(CHANGE, BUY, 1, 1058, 200, NumberOfOrders=2))
    assert top.levels(BUY) == [(1058, 200, 2)]
    top.send(entry(DELETE, BUY, 1))
    assert top.levels(BUY) == []
    for action in (DELETE_FROM, DELETE_THRU):
        top.send(entry(OVERLAY, BUY, 1, 1058, 100, NumberOfOrders=1))
        top.send(entry(action, BUY, 1))
        assert top.levels(BUY) == []
    levels.send(entry(OVERLAY, BUY, 2, 1056, 500, NumberOfOrders=1))
    assert levels.levels(BUY)[1] == (1056, 500, 1)
    levels.send(entry(DELETE_FROM, BUY, 2))
    assert levels.levels(BUY) == LEVELS[2:]
    orders.send(entry(OVERLAY, SELL, 1, 1102, 50, OrderID="99"))
    assert orders.orders(SELL) == [(1102, 50), *OFFERS[1:]]


def test_9_4(orders: Wire) -> None:
    orders.send(entry(DELETE_FROM, BUY, 3))
    assert (orders.orders(BUY), orders.orders(SELL)) == (BIDS[3:], OFFERS)


def test_9_5(orders: Wire) -> None:
    orders.send(entry(DELETE_THRU, BUY, 1))
    assert (orders.orders(BUY), orders.orders(SELL)) == ([], OFFERS)


def test_a_book_reset_empties_the_book(orders: Wire) -> None:
    orders.send({"MDUpdateAction": 0, "MDEntryType": "J"})
    assert orders.orders(BUY) == orders.orders(SELL) == []
