"""What comes of a slice in plain Python, and an instrument of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pregao.books.views import Level, Order
from pregao.model.market import Side
from pregao.model.rows import Flag, Rows
from tests.twins.plain_book import ReferenceBook
from tests.twins.plain_sides import SideByPosition
from tests.twins.row_updates import update_of

NOTHING = Level(None, 0, 0)
Top = tuple[Level, Level]


@dataclass
class Quote:
    """`by`: place and index of the row that ended the event; index None: by a snapshot."""

    by: tuple[int, int | None]
    security_id: int
    sides: int  # 1 the bid changed, 2 the offer
    quality: int
    top: Top
    transacted: bool = False  # its time is a transactTime (9)
    state: int = 0  # phase of its group, and its own state above it


@dataclass
class Sample:
    packet: int
    security_id: int
    quality: int
    bids: list[Level]
    offers: list[Level]


@dataclass
class Emitted:
    """A row for a table, with what only the machine knows of it."""

    row: Any
    quality: int
    trades: int = 0  # of a matching event
    changes: int = 0


@dataclass
class Stored:
    """A book that the next day begins with; security_id None: how far all others are known to be empty."""

    security_id: int | None
    rpt_seq: int
    quality: int
    book: ReferenceBook


@dataclass
class Told:
    """All that comes of a slice."""

    rows: dict[str, list[Emitted]] = field(default_factory=dict)
    snapshots: list[tuple[int, int, int, list[Order]]] = field(default_factory=list)
    checkpoints: list[tuple[int, int, int, list[Order]]] = field(default_factory=list)
    carried: list[tuple[int, int, int, int]] = field(default_factory=list)  # books that are known to be empty
    stored: list[Stored] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    findings: list[tuple[Any, ...]] = field(default_factory=list)
    loops: dict[int, Counter[str]] = field(default_factory=dict)


class Instrument:
    def __init__(self, security_id: int) -> None:
        self.security_id, self.book = security_id, ReferenceBook()
        self.told: Top = (NOTHING, NOTHING)
        self.own, self.told_day = 0, 0  # state of its own, and the date of the message that told it

    @property
    def top(self) -> Top:
        top = self.book.top
        return top.bid or NOTHING, top.offer or NOTHING

    def load(self, orders: Rows) -> None:
        self.book.clear()
        for row in orders:
            self.book.apply(update_of(row), Flag(int(row["flags"])))  # type: ignore[arg-type]

    def settle(self) -> int:
        """Which sides have another best than was told; now it is told."""
        now = self.top
        changed = sum(
            bit for bit, before, after in zip((1, 2), self.told, now, strict=True) if before != after
        )
        self.told = now
        return changed

    def equals(self, orders: Rows) -> bool:
        """Whether a snapshot tells this book: by position in its order too, by price the same orders."""
        loaded = Instrument(self.security_id)
        loaded.load(orders)
        for side in Side:
            ours, theirs = self.book.orders(side), loaded.book.orders(side)
            if isinstance(self.book._sides[side], SideByPosition):
                theirs = [order_of(row) for row in orders if row["side"] == side]
            if ours != theirs:
                return False
        return True


def order_of(row: Any) -> Order:
    update: Any = update_of(row)
    return Order(update.order_id, update.price, update.size, update.inserted_ns, update.firm, update.implied)
