"""The handler of one session: messages in, books that are right or say that they are not.

    handler = SessionHandler(0, load_session_system("conflated"))
    handler.begin(now_ns)                             # logged on
    events = handler.take(messages, now_ns)           # in the order of their numbers
    handler.lose(now_ns)                              # the connection is gone: every book is stale

It has no connection and no clock. Multicast has `handler.handler`; books, statistics, groups and what people
ask are the same.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pregao.books.store import BookStore
from pregao.feeds.port import Reading, UnitReader, WholePackets
from pregao.feeds.session_port import (
    HistoryFilled,
    InstrumentsListed,
    RequestRefused,
    SessionBegun,
    SessionEvent,
    SessionLost,
    SessionMessage,
    SessionRun,
    SessionSystem,
    SnapshotsTaken,
)
from pregao.handler.core import RETOLD_NS, kept_apart
from pregao.handler.groups import SecurityGroups
from pregao.handler.incremental import IncrementalReader
from pregao.handler.instruments import DefinitionReader, Instruments
from pregao.handler.keeper import Observer, StoreKeeper
from pregao.handler.views import Handler
from pregao.model.events import MarketTotal
from pregao.model.instruments import group_number
from pregao.model.numbering import InstrumentNumbers
from pregao.model.packets import Unit, Units
from pregao.model.rows import (
    LAST_BOOK_KIND,
    NULL,
    Flag,
    Kind,
    Rows,
    place,
)
from pregao.recovery.events import Event
from pregao.recovery.policy import ChannelSettings
from pregao.recovery.session import SessionMachine

MOST_TOTALS: Final = 10_000
_RECOVERY: Final = np.uint8(Flag.RECOVERY)


class _NoHeaders(WholePackets):
    """Messages of a session have no packets around them."""

    def read(self, *_: Any) -> Units:
        raise AssertionError("a session has no packets")

    def split(self, *_: Any) -> list[Unit]:
        raise AssertionError("a session has no packets")


class SessionHandler(Handler):
    """One session. `observer` may have `on_totals(list[MarketTotal])`."""

    machine: SessionMachine

    def __init__(
        self,
        channel: int,
        system: SessionSystem,
        settings: ChannelSettings | None = None,
        *,
        observer: Observer | None = None,
        quotes: bool = False,
    ) -> None:
        self.channel = channel
        settings = settings or ChannelSettings()
        numbering = InstrumentNumbers(settings.instruments)
        self.store = BookStore(numbering)
        self.groups, self.instruments = SecurityGroups(self.store), Instruments()
        self._keeper = StoreKeeper(self.store, self.groups, lambda: None)
        self.machine = SessionMachine(channel, self._keeper, settings, numbering)
        self._observer = observer or Observer()
        self._reader: UnitReader = system.reader(channel)
        self.definitions = DefinitionReader(
            _NoHeaders(), self._reader, self.machine, self.instruments, self.groups, self._observer
        )
        self.incremental = IncrementalReader(
            self.machine, self.store, self.groups, self._reader, system.news_desk(channel), self.definitions,
            self._observer, whole=False,
        )  # fmt: skip
        self._keeper.attach(self.incremental.context, self.machine.held)
        self._now_ns = 0
        self._by_level = False  # what snapshots tell of books
        self.totals: dict[str, MarketTotal] = {}
        if quotes:
            self.store.want_quotes()

    # The session

    def begin(self, now_ns: int, endpoint: str = "server", epoch: int = 1) -> list[Event]:
        self._now_ns = now_ns
        self.machine.begin(endpoint, epoch)
        return self.machine.take_events()

    def lose(self, now_ns: int, endpoint: str = "server", reason: str = "") -> list[Event]:
        self._now_ns = now_ns
        self.machine.lose(endpoint, reason)
        return self.machine.take_events()

    def on_session(self, event: SessionEvent, now_ns: int) -> list[Event]:
        """What a client tells beside messages (`feeds.session_port`)."""
        match event:
            case SessionBegun():
                self._by_level = event.by_level
                return self.begin(now_ns, event.endpoint, event.epoch)
            case SessionLost():
                return self.lose(now_ns, event.endpoint, event.reason)
            case InstrumentsListed():
                self.machine.list_is_whole()
            case SnapshotsTaken():
                if event.is_last:
                    self.machine.snapshots_are_whole()
            case RequestRefused():
                self.machine.on_refused(event.request, event.reason)
            case HistoryFilled():
                self.machine.on_history(event.security_id, event.first, event.last, whole=event.whole)
            case _:
                pass
        return self.machine.take_events()

    def take(self, messages: Sequence[SessionMessage], now_ns: int) -> list[Event]:
        """Messages in the order of their numbers."""
        self._now_ns = now_ns
        if messages:
            reading, at = self._read(messages)
            self.machine.advance(int(at[-1]))
            self._take(reading, at)
        self._end_retelling()
        return self.machine.take_events()

    def take_many(self, run: SessionRun, now_ns: int) -> list[Event]:
        """The same of many that follow each other."""
        self._now_ns, self._buffer = now_ns, run.buffer
        count = len(run.offsets)
        at = place(run.epoch, run.first) + np.arange(count, dtype=np.int64)
        epochs = np.full(count, run.epoch & 0xFFFF, np.uint16)
        reading = self._reader.read(run.buffer.ctypes.data, run.offsets, run.lengths, at, epochs)
        self.machine.advance(int(at[-1]))
        self._take(reading, at)
        self._end_retelling()
        return self.machine.take_events()

    def next_timeout(self) -> int | None:
        """When a book that is told again has been."""
        since = self.machine.retold.values()
        return min(since) + RETOLD_NS if since else None

    def on_timeout(self, now_ns: int) -> list[Event]:
        self._now_ns = now_ns
        self._end_retelling()
        return self.machine.take_events()

    def book_depth(self) -> int | None:
        return 0 if self._by_level else None  # all levels, or orders

    # Messages

    def _read(self, messages: Sequence[SessionMessage]) -> tuple[Reading, Any]:
        self._buffer = np.frombuffer(b"".join(each.payload for each in messages), np.uint8)
        lengths = np.array([len(each.payload) for each in messages], np.uint32)
        offsets = np.cumsum(lengths, dtype=np.int64) - lengths
        at = np.array([place(each.epoch, each.number) for each in messages], np.int64)
        epochs = np.array([each.epoch & 0xFFFF for each in messages], np.uint16)
        return self._reader.read(self._buffer.ctypes.data, offsets, lengths, at, epochs), at

    def _take(self, reading: Reading, at: Any) -> None:
        while True:
            self._take_rows(reading.rows)
            for fault in reading.faults:
                self.incremental.damaged += 1
                self.machine.on_finding(int(at[fault.packet]), fault.fault.name, fault.byte)
            if reading.whole:
                return
            reading = self._reader.go_on()

    def _take_rows(self, rows: Rows) -> None:
        """Runs of rows that go to the books, with snapshots and history between them, in order."""
        apart = kept_apart(rows)
        if not apart.any():
            self._apply(rows)
            return
        edges = np.flatnonzero(np.diff(apart)) + 1
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(rows)], strict=True):
            run = rows[begin:end]
            if not apart[begin]:
                self._apply(run)
            else:
                self._take_apart(run)

    def _take_apart(self, rows: Rows) -> None:
        packets = rows["packet"]
        edges = np.flatnonzero(np.diff(packets)) + 1
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(rows)], strict=True):
            one = rows[begin:end]
            kind = one[0]["kind"]
            if kind == Kind.SNAPSHOT:
                self._load(one)
            elif kind == Kind.OTHER:
                self._other(one)
            else:  # told again: for whoever listens, not for the books
                self._observer.on_rows(one)

    def _apply(self, rows: Rows) -> None:
        """Onto the books. A book that is told again has been when an update comes that is no part of it."""
        if self.machine.retold:
            self._watch_retold(rows)
        emptied = rows["kind"] == Kind.EMPTY_BOOK
        self.incremental.rows += len(rows)
        self.incremental.apply(rows)
        if emptied.any():
            self._note_emptied(rows, emptied)

    def _note_emptied(self, rows: Rows, emptied: Any) -> None:
        """Books whose orders were not all told in the same messages are told again from now on."""
        for number in np.flatnonzero(emptied).tolist():
            security_id = int(rows[number]["security_id"])
            self.machine.tell_again(security_id, self._now_ns)
            behind = rows[number + 1 :]
            self._watch_retold(behind[behind["security_id"] == security_id])

    def _watch_retold(self, rows: Rows) -> None:
        normal = (rows["kind"] <= LAST_BOOK_KIND) & (rows["flags"] & _RECOVERY == 0)
        normal &= rows["kind"] != Kind.EMPTY_BOOK
        for security_id in np.unique(rows["security_id"][normal]).tolist():
            index = self.machine.table.find(security_id)
            if index in self.machine.retold:
                self.machine.told_again(index)

    def _end_retelling(self) -> None:
        for index, since_ns in list(self.machine.retold.items()):
            if since_ns > self._now_ns:  # the clock was set back
                self.machine.retold[index] = self._now_ns
            elif self._now_ns - since_ns >= RETOLD_NS:
                self.machine.told_again(index)

    def _load(self, rows: Rows) -> None:
        """35=W: the book and statistics of one instrument, in the place of what was known."""
        head, entries = rows[0], rows[1:]
        security_id, at = int(head["security_id"]), int(head["at"])
        if self.machine.index_of(security_id) < 0:
            return
        self._by_level = self._by_level or bool((entries["kind"] == Kind.SNAPSHOT_LEVEL).any())
        self._keeper.snapshot, self._keeper.depth = entries, 0
        self._tell_phase(security_id, entries)
        self.machine.load(security_id, at, max(len(entries), 1))
        time_ns = int(head["time_ns"])
        self.incremental.tell_quotes(at, self._now_ns if time_ns == NULL else time_ns)

    def _tell_phase(self, security_id: int, rows: Rows) -> None:
        """A snapshot may tell the phase of the instrument's group."""
        index = self.machine.table.find(security_id)
        group = self.groups.of(index)
        if group is None:
            return
        for row in rows[(rows["kind"] == Kind.STATE) & (rows["origin"] > 0)]:
            phase = row.copy()
            phase["kind"], phase["type"], phase["id"] = Kind.PHASE, row["origin"], group_number(group.name)
            self.groups.tell_from_snapshot(phase, after_loss=True)

    def _other(self, rows: Rows) -> None:
        """Market totals; or an instrument whose book was told something that cannot be read."""
        for row in rows:
            if row["security_id"] != NULL:
                self.machine.suspect(int(row["security_id"]), int(row["at"]))
                continue
            totals = getattr(self._reader, "market_totals", None)
            of_row: list[MarketTotal] = totals(row) if totals is not None else []
            for total in of_row:
                if total.symbol in self.totals or len(self.totals) < MOST_TOTALS:
                    self.totals[total.symbol] = total
            on_totals = getattr(self._observer, "on_totals", None)
            if of_row and on_totals is not None:
                on_totals(of_row)
