"""The incremental stream of a channel: packets whose turn has come, to rows, to the books.

A view only changes at the end of an event (4.2) for those who ask for whole events: rows after the last
end wait for the next packet, unless there are too many of them, or something happens in between that
concerns everything (a loss, another sequence version).
"""

from typing import Any, Final

import numpy as np

from pregao.books import layout as t
from pregao.books.store import BookStore
from pregao.feeds.port import Array, NewsDesk, Reading, UnitReader
from pregao.handler.core import RowCore
from pregao.handler.groups import SecurityGroups
from pregao.handler.instruments import DefinitionReader
from pregao.handler.keeper import Observer
from pregao.handler.kernels.core import OVERFLOW, SUSPECTED
from pregao.handler.kernels.live import (
    CONTEXT_FIELDS,
    end_without_row,
    take_phase,
    take_rows,
    whole_events,
)
from pregao.model.errors import PregaoError
from pregao.model.events import News
from pregao.model.packets import UInt32s
from pregao.model.rows import ROW, Kind, Rows
from pregao.recovery.arbitration import SequencedPacket
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.instruments import NOTABLE

MOST_WAITING: Final = 1 << 14  # rows of an event without an end; a real one has some hundreds
AFTER_ALL: Final = 0xFFFF  # index of no message: behind those of its packet


class IncrementalReader:
    def __init__(
        self,
        machine: ChannelMachine,
        store: BookStore,
        groups: SecurityGroups,
        reader: UnitReader,
        news: NewsDesk,
        definitions: DefinitionReader,
        observer: Observer,
        *,
        whole: bool,
    ) -> None:
        self._machine, self._store, self._groups = machine, store, groups
        self._reader, self._news, self._definitions = reader, news, definitions
        self._observer, self._whole = observer, whole
        self._now_ns = 0
        self._waiting: Rows = np.empty(MOST_WAITING, ROW)
        self._waiting_count = 0
        self._one_row: Rows = np.zeros(1, ROW)
        self._core = RowCore(take_rows, CONTEXT_FIELDS, store, machine.table.address, self)
        self._context = self._core.context
        self._context.set(
            unclean=machine.table.count_address, pool=machine.held.address, with_statistics=1,
            skip_unknown=int(machine.settings.interest is not None),
        )  # fmt: skip
        self.context = self._context.address  # of the kernels
        self.rows = self.damaged = self.forced = self.suspected = 0

    @property
    def skipped(self) -> int:
        """Rows of instruments that nobody is interested in."""
        return self._context["skipped"]

    @property
    def waits_from(self) -> int | None:
        """Place of the first row that waits for the end of its event."""
        return int(self._waiting[0]["at"]) if self._waiting_count else None

    # Packets

    def take(self, base: int, columns: tuple[Array, Array, Array, Array], count: int, now_ns: int) -> None:
        """Packets in sequence: offsets and lengths of their payloads from an address, places, versions."""
        self._now_ns = now_ns
        self._read(self._reader.read(base, *columns, count), columns[2])

    def take_packet(self, packet: SequencedPacket) -> None:
        """One packet that was judged by itself."""
        self._now_ns = packet.arrival_ns
        payload = np.frombuffer(packet.payload, np.uint8)
        at = np.array([packet.at], np.int64)
        length, version = np.array([len(payload)], np.uint32), np.array([packet.version], np.uint16)
        self._read(self._reader.read(payload.ctypes.data, np.zeros(1, np.int64), length, at, version), at)

    def _read(self, reading: Reading, at: Array) -> None:
        while True:
            self.rows += len(reading.rows)
            if self._whole:
                self._take_whole(reading.rows)
            else:
                self.apply(reading.rows)
            for fault in reading.faults:
                self.damaged += 1
                report = self._machine.on_damage if fault.lost else self._machine.on_finding
                report(int(at[fault.packet]), fault.fault.name, fault.byte)
                if fault.doubts is not None:
                    self._machine.on_unread(fault.doubts, int(at[fault.packet]))
            if reading.whole:
                return
            reading = self._reader.go_on()

    # Whole events

    def _take_whole(self, rows: Rows) -> None:
        ended = whole_events(rows.ctypes.data, len(rows))
        if ended or self._waiting_count + len(rows) > MOST_WAITING:
            self.forced += not ended
            self.catch_up()
            if ended or len(rows) > MOST_WAITING:
                self.apply(rows[: ended or len(rows)])
                rows = rows[ended or len(rows) :]
        if len(rows):
            count = self._waiting_count
            self._waiting[count : count + len(rows)] = rows
            self._waiting_count = count + len(rows)

    def catch_up(self) -> None:
        """Apply the rows that wait for the end of their event."""
        count, self._waiting_count = self._waiting_count, 0
        if count:
            self.apply(self._waiting[:count])

    # Rows

    def apply(self, rows: Rows) -> None:
        """Onto the books, in the order of the stream."""
        self._core.apply(rows)
        if len(rows):
            self._observer.on_rows(rows)

    def before_rows(self, count: int) -> None:
        """Nothing: rows go nowhere but to the books."""

    def on_unknown(self, security_id: int) -> None:
        self._machine.index_of(security_id)
        if self._machine.table.find(security_id) < 0:
            self._context.set(skip_unknown=1)  # as many as there may be

    def on_stop(self, code: int, rows: Rows, first: int) -> None:
        if code == t.REJOINED:
            self._rejoined(rows[first - 1])
        elif code == OVERFLOW:
            self._machine.on_overflow(int(rows[first - 1]["at"]))
        else:
            self._store.make_room(code)

    def on_note(self, number: int, outcome: int, kind: int, at: int) -> None:
        if outcome & SUSPECTED:
            self.suspected += 1
            self._machine.on_suspect(number, at)
        if outcome & NOTABLE:
            self._machine.on_note(number, outcome & ~SUSPECTED, kind, at)

    def _rejoined(self, row: Any) -> None:
        index = self._machine.table.find(int(row["security_id"]))
        ended = self._groups.infer(index, row)
        self._store.forget_auction([each for each in ended if self._machine.shows_statistics(each)])

    def on_special(self, rows: Rows, place: int) -> None:
        row: Any = rows[place]
        kind, at = int(row["kind"]), int(row["at"])
        if kind == Kind.PHASE:
            self._phase(row)
        elif kind == Kind.CHANNEL_RESET:
            self._machine.on_channel_reset(at)
            self.tell_quotes(at, int(row["time_ns"]))
        elif kind == Kind.SEQUENCE_RESET:
            self._machine.on_sequence_reset(at)
        elif kind == Kind.DEFINITION:
            self._definitions.take_incremental(self._reader, row)
        elif kind == Kind.NEWS:
            self._take_news(row)

    def _phase(self, row: Any) -> None:
        group = self._groups.tell(row)
        strangers = self._groups.strangers(len(self._machine.table))
        self._machine.on_group_phase(int(row["at"]), strangers)
        self._take_phase(row, group.indexes(), is_theirs=True)
        # Held, until its definition says whether this is its group.
        self._take_phase(row, strangers, is_theirs=False)
        self._machine.on_trade_date(int(row["trade_date"]))

    def _take_phase(self, row: Any, indexes: UInt32s, *, is_theirs: bool) -> None:
        self._one_row[0] = row
        done, place = 0, self._one_row.ctypes.data
        while done < len(indexes):
            code, done = take_phase(
                self.context, place, indexes.ctypes.data, done, len(indexes), int(is_theirs)
            )
            if code == OVERFLOW:
                self._machine.on_overflow(int(row["at"]))

    def _take_news(self, row: Any) -> None:
        try:
            news = self._news.receive(self._reader.message(row), self._now_ns)
        except PregaoError:
            self.damaged += 1
            return
        self._tell_news(news)

    def _tell_news(self, news: list[News]) -> None:
        for each in news:
            self._observer.on_news(each)

    # Time

    def next_timeout(self) -> int | None:
        """When a news that lacks a part is to be told as it is."""
        return self._news.next_timeout()

    def on_timeout(self, now_ns: int) -> None:
        self._now_ns = now_ns
        self._tell_news(self._news.on_timeout(now_ns))

    def on_end(self, now_ns: int) -> None:
        """Nothing will come any more: what lacks a part will go on to lack it."""
        self._now_ns = now_ns
        self._tell_news(self._news.flush())

    # Quotes

    def tell_quotes(self, at: int, time_ns: int) -> None:
        """Tops that changed without an event: a snapshot was loaded, all books emptied. `time_ns` is when
        that became known here."""
        if not self._store.has_touched:
            return
        self._one_row[0] = 0
        self._one_row[0]["at"], self._one_row[0]["time_ns"] = at, time_ns
        self._one_row[0]["index"] = AFTER_ALL
        while (code := end_without_row(self._store.context, self._one_row.ctypes.data)) != t.DONE:
            self._store.make_room(code)
        self._observer.on_rows(self._one_row[:0])
