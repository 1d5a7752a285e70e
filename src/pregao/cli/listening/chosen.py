"""Which instruments are on the screen."""

from typing import Final

from pregao.handler.views import HandledBook
from pregao.market.names import AmbiguousSymbolError, UnknownInstrumentError
from pregao.market.watch import Watch

_FAR_BUSIER: Final = 2


class Chosen:
    """Those that were named, or else any of all: first the one that is traded most when there is one."""

    def __init__(self, watch: Watch, symbols: list[str]) -> None:
        self._watch, self._symbols = watch, symbols
        self._place = 0
        self._id: tuple[int, int] | None = None  # channel and securityID, where none was named
        self._moved = False

    def move(self, by: int) -> None:
        self._place += by
        if not self._symbols:
            books = self._all()
            ids = [(book.channel, book.security_id) for book in books]
            if ids:
                self._moved = True
                at = ids.index(self._id) if self._id in ids else 0
                self._id = ids[(at + by) % len(ids)]

    def shown(self, count: int) -> tuple[list[HandledBook], list[str]]:
        """At most so many books, and what is wrong with symbols that were named."""
        if not self._symbols:
            return self._any(), []
        books, wrong = [], []
        for offset in range(min(count, len(self._symbols))):
            symbol = self._symbols[(self._place + offset) % len(self._symbols)]
            try:
                books.append(self._watch.book(symbol))
            except AmbiguousSymbolError:
                books.append(self._first_of(symbol))
            except UnknownInstrumentError as error:
                wrong.append(str(error))
        return books, wrong

    def place(self) -> str:
        """Which of how many."""
        if self._symbols:
            return f"{self._place % len(self._symbols) + 1} of {len(self._symbols)}"
        books = self._all()
        ids = [(book.channel, book.security_id) for book in books]
        return f"{ids.index(self._id) + 1} of {len(ids)}" if self._id in ids else f"{len(ids)}"

    def _first_of(self, symbol: str) -> HandledBook:
        return next(book for book in self._watch.books() if book.symbol == symbol)

    def _any(self) -> list[HandledBook]:
        if not self._moved:
            self._follow_the_market()
        return [] if self._id is None else [self._watch.book(self._id[1], self._id[0])]

    def _follow_the_market(self) -> None:
        """Until somebody chooses: the busiest, and another only when that is far busier."""
        busiest = self._watch.busiest()
        if busiest is None or not busiest.instrument:
            return
        identity = busiest.channel, busiest.security_id
        trades = 0 if self._id is None else self._trades(self._id)
        if not trades or self._trades(identity) > _FAR_BUSIER * trades:
            self._id = identity

    def _trades(self, identity: tuple[int, int]) -> int:
        channel, security_id = identity
        return self._watch.trade_count(security_id, channel)

    def _all(self) -> list[HandledBook]:
        return sorted(self._watch.books(), key=lambda book: book.symbol)
