"""The market of PUMA Conflated as all its servers tell it: events in, bulletins out.

- **Books** are told at ticks, the same for everybody (6.6): `conflation`.
- **All else** leaves at once: within a few milliseconds, so that what comes together shares a message. Order
  is kept: a phase that stands between two trades is told between them.
- **Snapshots** (35=W) have the book as of the last tick, so that everybody's 35=X is the same.

Entries are encoded once; messages are joined from them for each session.
"""

from collections.abc import Iterable

from pregao.codecs.fix import Dictionary, EncodedBody, Encoder
from pregao.feeds.conflated.publisher import entries as n
from pregao.feeds.conflated.publisher.books import PublishedBooks
from pregao.feeds.conflated.publisher.desks import STATISTICS, index_entry, of_instrument
from pregao.feeds.conflated.publisher.history import TotalsBoard, TradeHistory
from pregao.feeds.conflated.publisher.listings import (
    UTF_8,
    instrument_fields,
    is_encoded,
    news_fields,
    status_fields,
)
from pregao.feeds.conflated.publisher.snapshots import Snapshots
from pregao.feeds.fix.batches import Batch
from pregao.feeds.fix.bulletins import ENTRIES, Bulletin, Listing, Notice, Outbox, Totals
from pregao.feeds.fix.server import Audience
from pregao.feeds.publishers import TradeFigures, orders_again
from pregao.feeds.publishing import BookSource
from pregao.feeds.serving import ServingSettings
from pregao.model import events as e
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction, StateEvent

LIST, STATUS, NEWS, TOTALS = b"y", b"f", b"B", b"UTOT"
_HISTORICAL = (b"2", b"3")


def _refresh_head(trade_date: int, is_book: bool) -> n.Entry:
    """1021 is that of messages about books only."""
    return {75: n.date_text(trade_date)} | ({1021: n.BY_ORDER} if is_book else {})


def _level_head(trade_date: int) -> n.Entry:
    return {75: n.date_text(trade_date), 1021: n.BY_LEVEL}


class ConflatedFeed:
    """Times given to it never go back."""

    def __init__(
        self, source: BookSource, settings: ServingSettings, dictionary: Dictionary, *, now_ns: int
    ) -> None:
        self.settings, self.dictionary, self._source = settings, dictionary, source
        self.encoder = Encoder(dictionary)
        self.instruments: dict[int, Instrument] = {}
        self.updated_ns: dict[int, int] = {}  # when each was listed or changed
        self.books = PublishedBooks(price_depth=settings.price_depth)
        self.history, self.totals = TradeHistory(self.encoder), TotalsBoard(settings.totals)
        self.outbox = Outbox(self.encoder, _refresh_head, _level_head)
        self.snapshots = Snapshots(source, self.instruments, self.books, self.encoder)
        self.audiences: list[Audience] = []
        self.totals_wanted = 0  # sessions that want them
        self.ticks = 0
        self._figures = TradeFigures()
        self._start_ns = now_ns
        self._tick_due_ns = self._flush_due_ns = 0  # 0: nothing waits
        self._totals_due_ns = now_ns + settings.totals_ns
        self.trade_date = max((each.trade_date for each in source.phases()), default=now_ns // n.DAY_NS)
        self._begin(now_ns)

    @property
    def history_available(self) -> bool:
        return self.history.is_available

    @history_available.setter
    def history_available(self, value: bool) -> None:
        self.history.is_available = value

    def _begin(self, now_ns: int) -> None:
        """Books and statistics of before."""
        for instrument in self._source.definitions():
            self.instruments[instrument.security_id] = instrument
            self.updated_ns[instrument.security_id] = now_ns
        self._figures.list(self.instruments.values())
        for security_id in self._source.instruments():
            book = self._source.book(security_id)
            if book is None:
                continue
            offers = [each for each in book.statistics if isinstance(each, e.LendingOffer)]
            self.books.set(security_id, orders_again(security_id, book))
            self.books.set_offers(security_id, offers)
            for update in book.statistics:
                if isinstance(update, e.ExecutionStatistics):
                    self._count(update)

    def _count(self, update: e.ExecutionStatistics) -> None:
        instrument = self.instruments.get(update.security_id)
        if instrument is not None:
            self.totals.observe(update, instrument.group)

    # Time

    def next_timeout(self) -> int | None:
        times = [time for time in (self._tick_due_ns, self._flush_due_ns) if time]
        if self.totals_wanted:
            times.append(self._totals_due_ns)
        return min(times, default=None)

    def advance(self, now_ns: int) -> None:
        """What is due by now goes out. Trades first: a tick is more work."""
        if self._flush_due_ns and self._flush_due_ns <= now_ns:
            self.flush(now_ns)
        if self._tick_due_ns and self._tick_due_ns <= now_ns:
            self._tick(now_ns)
        if self._totals_due_ns <= now_ns:
            self._totals_due_ns = now_ns + self.settings.totals_ns
            if self.totals_wanted:
                self._tell([Totals(self.totals_body(now_ns))], now_ns)

    def flush(self, now_ns: int) -> None:
        """All but books leaves now."""
        self._flush_due_ns = 0
        self._tell(self.outbox.take(self.trade_date), now_ns)

    def _tick(self, now_ns: int) -> None:
        """After what waits: an instrument is listed before its book is told."""
        self.flush(now_ns)
        self._tick_due_ns = 0
        self.ticks += 1
        told = self.books.tick()
        self.snapshots.change(told.by_order)
        self._tell(self.outbox.refreshes(told.by_order, self.trade_date, is_book=True), now_ns)
        levels = self.outbox.refreshes(told.by_level, self.trade_date, is_book=True, by_level=True)
        self._tell(levels, now_ns)

    def _tell(self, bulletins: Iterable[Bulletin], now_ns: int) -> None:
        batch = Batch(bulletins, self.outbox)
        if batch.bulletins:
            for audience in self.audiences:
                audience.deliver(batch, now_ns)

    # Events

    def publish(self, event: e.Event, now_ns: int) -> None:
        due_ns = self.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self.advance(now_ns)
        self._figures.begin(event.updates)
        restores = any(type(update) is e.BookEmptied for update in event.updates)
        for update in event.updates:
            if type(update) is not e.OrderUpdate:
                self._other(update, now_ns)
            elif not restores:
                self.books.update(update)
                self._wait_for_tick(now_ns)
        if restores:
            self._restore(event.updates, now_ns)

    def _wait_for_tick(self, now_ns: int) -> None:
        if not self._tick_due_ns:
            tick_ns = self.settings.tick_ns
            self._tick_due_ns = self._start_ns + ((now_ns - self._start_ns) // tick_ns + 1) * tick_ns

    def _wait(self, now_ns: int) -> None:
        if not self._flush_due_ns:
            self._flush_due_ns = now_ns + self.settings.delay_ns

    def _other(self, update: e.Update, now_ns: int) -> None:
        if isinstance(update, e.SideDeleted):
            self.books.wipe(update)
            self._wait_for_tick(now_ns)
        elif isinstance(update, e.LendingOffer):
            self.books.offer(update)
            self._wait_for_tick(now_ns)
        elif isinstance(update, e.PhaseChanged | e.StateChanged):
            self._change_status(update, now_ns)
        elif isinstance(update, e.Definition):
            self._define(update, now_ns)
        elif isinstance(update, e.News):
            header = {347: UTF_8} if is_encoded(update) else {}
            self.outbox.add(Notice(self.encoder.body(NEWS, news_fields(update)), header))
            self._wait(now_ns)
        else:
            self._figure(update, now_ns)

    def _figure(self, update: e.Update, now_ns: int) -> None:
        """Trades and statistics: entries of 35=X that leave at once."""
        made = self._entries_of(update)
        self._figures.observe(update)
        if not made:
            return
        security_id = int(made[0][48])
        self.snapshots.keep(security_id, update)
        made = [of_instrument(entry, self.instruments.get(security_id)) for entry in made]
        if made[0][269] in _HISTORICAL:
            self.history.add(security_id, made[0])
        self.outbox.add_entries(security_id, made)
        self._wait(now_ns)

    def _entries_of(self, update: e.Update) -> list[n.Entry]:
        if isinstance(update, e.Trade):
            return [n.trade_entry(update, self._figures.of(update))]
        if isinstance(update, e.TradeBusted):
            return [n.bust_entry(update)]
        if isinstance(update, e.ExecutionStatistics):
            self._count(update)
            return [n.vwap_entry(update), n.volume_entry(update)]
        if isinstance(update, e.LastTrade):
            return [n.exchange_last_entry(update)]
        if isinstance(update, e.IndexValue):
            return [index_entry(update, self._figures.tick(update.security_id, update.value))]
        return [STATISTICS[type(update)](update)] if type(update) in STATISTICS else []

    def _change_status(self, update: e.PhaseChanged | e.StateChanged, now_ns: int) -> None:
        self._figures.observe(update)
        if update.trade_date > self.trade_date:
            self.trade_date = update.trade_date
            self.history.clear()
            self.totals.clear()
        body = self.encoder.body(STATUS, status_fields(update))
        if isinstance(update, e.PhaseChanged):
            self.snapshots.change_all()
            self.outbox.add(Notice(body, {}, group=update.group))
        else:
            self.snapshots.change([update.security_id])
            if update.event is StateEvent.SESSION_CHANGE:
                self.snapshots.start_session(update.security_id)
            self.outbox.add(Notice(body, {}, update.security_id))
        self._wait(now_ns)

    def _define(self, definition: e.Definition, now_ns: int) -> None:
        instrument, action = definition.instrument, definition.action
        security_id = instrument.security_id
        self._figures.observe(definition)
        if action is DefinitionAction.DELETE:
            self.instruments.pop(security_id, None)
            self.updated_ns.pop(security_id, None)
            self.snapshots.forget(security_id)
            self.books.forget(security_id)
        else:
            self.instruments[security_id], self.updated_ns[security_id] = instrument, now_ns
            self.snapshots.change([security_id])
        fields = instrument_fields(instrument, action, price_depth=self.settings.price_depth)
        body = self.encoder.body(LIST, {146: [fields]})
        self.outbox.add(Listing(instrument, action, body))
        self._wait(now_ns)

    # Books told whole

    def reset_book(self, security_id: int, now_ns: int) -> None:
        """269=J at once, and the orders again with 276=R (7.8.2)."""
        book = self._source.book(security_id)
        if book is not None:
            orders = orders_again(security_id, book)
            self._restore([e.BookEmptied(security_id, now_ns), *orders], now_ns)

    def _restore(self, updates: Iterable[e.Update], now_ns: int) -> None:
        books: dict[int, dict[int, e.OrderUpdate]] = {}
        emptied: dict[int, n.Entry] = {}
        for update in updates:
            if isinstance(update, e.BookEmptied):
                books[update.security_id] = {}
                emptied[update.security_id] = n.emptied_entry(update.security_id, update.time_ns)
            elif isinstance(update, e.OrderUpdate) and update.security_id in books:
                books[update.security_id][update.order_id] = update
            elif isinstance(update, e.OrderUpdate):
                self.books.update(update)
                self._wait_for_tick(now_ns)
        for security_id, orders in books.items():
            self.books.set(security_id, orders.values())
            for by_level in (False, True) if self.settings.price_depth else (False,):
                again = self.books.again(security_id, by_level=by_level)
                entries = [emptied[security_id], *again]
                self.outbox.add_entries(security_id, entries, is_book=True, by_level=by_level)
        self.snapshots.change(books)
        self.flush(now_ns)

    def totals_body(self, now_ns: int) -> EncodedBody:
        return self.encoder.body(TOTALS, {ENTRIES: self.totals.entries(now_ns)})
