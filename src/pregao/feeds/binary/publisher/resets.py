"""When sequence, channel, book or publisher start over (6.5.11, 6.5.12, 6.5.13, 7.4.1).

What each sends on the incremental stream, then for every instrument that has or had a book an
EmptyBook and its orders, one event or many (`event_orders`), all marked RecoveryMsg:

    stream reset     SequenceReset (the last packet of its sequenceVersion); number 1 of the next
    failover         nothing: number 1 of the next sequenceVersion; last, LastTradePrice (13.6)
    channel reset    ChannelReset, with the list of instruments where the system initialises
    weekly start     SequenceReset, next sequenceVersion, ChannelReset, the list; rptSeq from 1
    book reset       only the EmptyBook and orders of one instrument

Books come back at once or one by one (`gradually`). Until an instrument's turn its book updates are
not told, as its whole book will be; its trades and statistics are (6.5.12, step 6). Its snapshot is
withdrawn. Statistics are never reset by any of this.
"""

from collections import deque

from pregao.feeds.binary.publisher.incremental import IncrementalStream
from pregao.feeds.publishing import BookSource, InstrumentBook, orders_told_again
from pregao.model import events as e
from pregao.model.market import DefinitionAction


class Resets:
    """Resets of one channel at one site."""

    def __init__(
        self,
        channel: int,
        incremental: IncrementalStream,
        source: BookSource,
        sequence_reset: bytes,
        interval_ns: int,
        event_orders: int = 0,
    ) -> None:
        self._event_orders = event_orders  # in an event and packet of their own; 0: one event for a book
        self._channel, self._incremental, self._source = channel, incremental, source
        self._sequence_reset, self._interval_ns = sequence_reset, interval_ns
        self._waiting: deque[int] = deque()
        self._last_trades = False
        self._due_ns = 0

    def stream(self, now_ns: int, *, gradually: bool = False) -> None:
        self._restart_sequence(now_ns)
        self._recover_all(now_ns, gradually=gradually)

    def fail_over(self, now_ns: int, *, gradually: bool = False) -> None:
        self._incremental.flush(now_ns)
        self._incremental.packets.start_version()
        self._recover_all(now_ns, gradually=gradually, last_trades=True)

    def channel(self, now_ns: int, *, definitions: bool = False, gradually: bool = False) -> None:
        self._reset_books(now_ns, definitions=definitions)
        self._recover_all(now_ns, gradually=gradually)

    def week(self, now_ns: int, *, gradually: bool = False) -> None:
        self._restart_sequence(now_ns)
        self._incremental.forget()
        self._reset_books(now_ns, definitions=True)
        self._recover_all(now_ns, gradually=gradually)

    def book(self, security_id: int, now_ns: int) -> None:
        self._recover(security_id, now_ns)
        self._incremental.flush(now_ns)

    def next_timeout(self) -> int | None:
        return self._due_ns if self._waiting else None

    def advance(self, now_ns: int) -> None:
        """The books whose turn it is."""
        while self._waiting and self._due_ns <= now_ns:
            self._recover(self._waiting.popleft(), now_ns)
            self._due_ns += self._interval_ns

    def _restart_sequence(self, now_ns: int) -> None:
        """SequenceReset tells that the next packet has number 1; it is still of the sequence it ends."""
        packets = self._incremental.packets
        packets.send_alone(self._sequence_reset, now_ns)
        packets.start_version()

    def _reset_books(self, now_ns: int, *, definitions: bool) -> None:
        self._say(now_ns, e.ChannelWasReset(self._channel, now_ns))
        if definitions:
            self._incremental.define(self._source.definitions(), DefinitionAction.ADD, now_ns)

    def _recover_all(self, now_ns: int, *, gradually: bool, last_trades: bool = False) -> None:
        self._last_trades = last_trades
        self._waiting = deque(self._source.instruments())
        self._incremental.muted.clear()
        self._incremental.muted.update(self._waiting)
        self._due_ns = now_ns + self._interval_ns
        if not gradually:
            while self._waiting:
                self._recover(self._waiting.popleft(), now_ns)
        self._incremental.flush(now_ns)

    def _recover(self, security_id: int, now_ns: int) -> None:
        """The whole book of one instrument; one deleted meanwhile has none."""
        incremental = self._incremental
        incremental.muted.discard(security_id)
        book = self._source.book(security_id)
        if book is None:
            return
        if book.bids or book.offers or security_id in incremental.booked:
            self._tell_again(security_id, book, now_ns)
        if self._last_trades:
            for update in book.statistics:
                if isinstance(update, e.LastTrade):
                    self._say(now_ns, update)

    def _tell_again(self, security_id: int, book: InstrumentBook, now_ns: int) -> None:
        emptied, orders = e.BookEmptied(security_id, now_ns), list(orders_told_again(security_id, book))
        if not self._event_orders:
            self._say(now_ns, emptied, *orders)
            return
        self._say(now_ns, emptied)
        for first in range(0, len(orders), self._event_orders):
            self._incremental.flush(now_ns)
            self._say(now_ns, *orders[first : first + self._event_orders])

    def _say(self, now_ns: int, *updates: e.Update) -> None:
        self._incremental.publish(e.Event(updates), now_ns)
