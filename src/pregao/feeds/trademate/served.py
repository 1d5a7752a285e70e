"""The market of bonds as all servers of Trademate tell it: events in, bulletins out, encoded once.

What happens leaves within some milliseconds, so that what comes together shares a message. The text names no
conflation: it is off, and where it is switched on books are told at ticks and all else as before.
"""

from collections.abc import Iterable
from typing import Final

from pregao.codecs.fix import Dictionary, Encoder
from pregao.codecs.fix.bodies import EncodedEntries
from pregao.feeds.fix.batches import Batch
from pregao.feeds.fix.bulletins import ENTRIES, Bulletin, Listing, Notice, Outbox
from pregao.feeds.fix.server import Audience
from pregao.feeds.serving import BondSource, ServingSettings
from pregao.feeds.trademate import feed as f
from pregao.feeds.trademate.conflation import TickedBooks
from pregao.feeds.trademate.entries import order_entry
from pregao.feeds.trademate.values import Fields, date_text
from pregao.model import events as e
from pregao.model.fixed_income import Bond
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction

_ORDERS: Final = (b"0", b"1")  # 269


def _refresh_head(trade_date: int, _: bool) -> Fields:
    return {75: date_text(trade_date)}


class ServedBonds:
    """Times given to it never go back."""

    history_available = False  # the system has none

    def __init__(
        self, source: BondSource, settings: ServingSettings, dictionary: Dictionary, *, now_ns: int
    ) -> None:
        self.settings, self.dictionary = settings, dictionary
        self.encoder = Encoder(dictionary)
        self.outbox = Outbox(self.encoder, _refresh_head)
        self.audiences: list[Audience] = []
        self.feed = f.TrademateFeed(source.bonds(), source.trade_date)
        self.instruments: dict[int, Instrument] = {
            number: told.bond.instrument for number, told in self.feed.told.items()
        }
        self._books = TickedBooks(self.feed) if settings.conflate else None
        self._snapshots: dict[int, EncodedEntries] = {}
        self._start_ns = now_ns
        self._tick_due_ns = self._flush_due_ns = 0  # 0: nothing waits

    @property
    def trade_date(self) -> int:
        return self.feed.trade_date

    # Time

    def next_timeout(self) -> int | None:
        return min((time for time in (self._tick_due_ns, self._flush_due_ns) if time), default=None)

    def advance(self, now_ns: int) -> None:
        if self._flush_due_ns and self._flush_due_ns <= now_ns:
            self.flush(now_ns)
        if self._tick_due_ns and self._tick_due_ns <= now_ns:
            self._tick(now_ns)

    def flush(self, now_ns: int) -> None:
        """All but books of ticks leaves now."""
        self._flush_due_ns = 0
        self._tell(self.outbox.take(self.trade_date), now_ns)

    def _tick(self, now_ns: int) -> None:
        self.flush(now_ns)
        self._tick_due_ns = 0
        if self._books is None:
            return
        entries: dict[int, list[Fields]] = {}
        for security_id, orders in self._books.tick():
            bond = self.feed.told[security_id].bond
            entries[security_id] = [order_entry(bond, order) for order in orders]
            self._snapshots.pop(security_id, None)
        self._tell(self.outbox.refreshes(entries, self.trade_date, is_book=True), now_ns)

    def _tell(self, bulletins: Iterable[Bulletin], now_ns: int) -> None:
        batch = Batch(bulletins, self.outbox)
        if batch.bulletins:
            for audience in self.audiences:
                audience.deliver(batch, now_ns)

    def _wait(self, now_ns: int) -> None:
        if not self._flush_due_ns:
            self._flush_due_ns = now_ns + self.settings.delay_ns

    def _wait_for_tick(self, now_ns: int) -> None:
        if not self._tick_due_ns:
            tick_ns = self.settings.tick_ns
            self._tick_due_ns = self._start_ns + ((now_ns - self._start_ns) // tick_ns + 1) * tick_ns

    # Events

    def publish(self, event: e.Event, now_ns: int) -> None:
        due_ns = self.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self.advance(now_ns)
        self._begin_day(event, now_ns)
        for bulletin in self.feed.publish(event):
            if isinstance(bulletin, f.Refresh):
                self._add(bulletin, now_ns)
            elif isinstance(bulletin, f.Status):
                body = self.encoder.body(f.STATUS, bulletin.fields)
                self.outbox.add(Notice(body, {}, bulletin.security_id))
                self._wait(now_ns)

    def _begin_day(self, event: e.Event, now_ns: int) -> None:
        dates = [each.trade_date for each in event.updates if isinstance(each, e.StateChanged)]
        if max(dates, default=0) > self.trade_date:
            self.flush(now_ns)  # what is of the day before has its date
            self.feed.begin_day(max(dates))
            self._snapshots.clear()

    def _add(self, refresh: f.Refresh, now_ns: int) -> None:
        for security_id, entries in refresh.entries.items():
            self._snapshots.pop(security_id, None)
            told: list[Fields] = entries
            if self._books is not None:
                told = [entry for entry in entries if entry[269] not in _ORDERS]
                if len(told) < len(entries):
                    self._books.touch([security_id])
                    self._wait_for_tick(now_ns)
            if told:
                self.outbox.add_entries(security_id, told)
                self._wait(now_ns)

    def define(self, bond: Bond, action: DefinitionAction, now_ns: int) -> None:
        """A bond comes, changes or goes: 35=y, one by one."""
        security_id = bond.instrument.security_id
        body = self.encoder.body(f.LIST, {146: [self.feed.listing_fields(bond, action)]})
        self.feed.define(bond, action)
        self._snapshots.pop(security_id, None)
        if action is DefinitionAction.DELETE:
            self.instruments.pop(security_id, None)
        else:
            self.instruments[security_id] = bond.instrument
        self.outbox.add(Listing(bond.instrument, action, body))
        self._wait(now_ns)

    def reset_book(self, security_id: int, now_ns: int) -> None:
        """There is no message that empties a book: who is in doubt asks for its 35=W."""

    # What is asked for

    def listed(self, security_id: int) -> Fields | None:
        told = self.feed.told.get(security_id)
        return None if told is None else self.feed.listing_fields(told.bond, DefinitionAction.MODIFY)

    def snapshot(self, security_id: int) -> tuple[Fields, EncodedEntries]:
        """Of a bond: fields and entries of its 35=W, encoded once for all who ask."""
        if security_id not in self.feed.told:  # it went while others were told
            fields: Fields = {75: date_text(self.trade_date), 48: b"%d" % security_id, 22: b"8", 207: b"BVMF"}
            return fields, self.encoder.entries(f.SNAPSHOT, ENTRIES, [])
        found = self._snapshots.get(security_id)
        if found is None:
            sides = None if self._books is None else self._books.shown(security_id)
            entries = self.feed.snapshot_entries(security_id, sides)
            found = self._snapshots[security_id] = self.encoder.entries(f.SNAPSHOT, ENTRIES, entries)
        return self.feed.snapshot_head(security_id), found
