"""What people look at: one instrument's book, as it is now.

    book = Book("PETR4", store, number)
    book.top.bid, book.bids[:5], book.orders(Side.BUY), book.statistics.last_trade
"""

from pregao.books.phases import effective
from pregao.books.row_updates import known
from pregao.books.statistics import Statistics
from pregao.books.store import BookStore
from pregao.books.views import Level, Order, Top
from pregao.model.market import Phase, Side, State


class Book:
    """A view: it costs nothing until it is asked, and answers from what is in the store then."""

    __slots__ = ("_number", "_store", "symbol")

    def __init__(self, symbol: str, store: BookStore, number: int) -> None:
        self.symbol, self._store, self._number = symbol, store, number

    @property
    def security_id(self) -> int:
        return self._store.security_id(self._number)

    @property
    def bids(self) -> list[Level]:
        """Price levels, best first."""
        return self._store.levels(self._number, Side.BUY)

    @property
    def offers(self) -> list[Level]:
        return self._store.levels(self._number, Side.SELL)

    def levels(self, side: Side, depth: int | None = None) -> list[Level]:
        return self._store.levels(self._number, side, depth)

    def orders(self, side: Side) -> list[Order]:
        """By priority."""
        return self._store.orders(self._number, side)

    @property
    def top(self) -> Top:
        return self._store.top(self._number)

    @property
    def statistics(self) -> Statistics:
        return self._store.statistics(self._number)

    @property
    def state(self) -> State | None:
        """What rules the instrument: the more restrictive of its group's phase and its own state (14.1);
        None while nothing was told."""
        phase, own = self._store.group_phase(self._number), self._store.own_state(self._number)
        return effective(known(Phase, phase), known(State, own))

    @property
    def is_suspect(self) -> bool:
        """Whether an update did not fit: see `anomalies`."""
        return self._store.is_suspect(self._number)

    def __repr__(self) -> str:
        top = self.top
        return f"Book({self.symbol!r}, bid={top.bid}, offer={top.offer})"
