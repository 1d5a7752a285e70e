"""The definition and the snapshot stream: everything again and again, each loop begun by 35=4 (5.2.5, 5.2.8).

A loop of definitions is 35=y from number 1 to the one with 893=Y; one of snapshots is as many 35=W as their
911 says. An instrument's snapshot is made when its turn comes, and names the last incremental message of that
moment (369). One of which nothing was ever told has none, and is empty (5.1.2).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from pregao.feeds.fast.publisher import entries as n
from pregao.feeds.fast.publisher.datagrams import MessageStream
from pregao.feeds.fast.publisher.desks import STATISTICS, is_lending, set_stream
from pregao.feeds.fast.publisher.incremental import IncrementalStream
from pregao.feeds.fast.publisher.levels import whole_side
from pregao.feeds.fast.publisher.lists import InstrumentLists
from pregao.feeds.fast.publisher.writing import MessageWriter, Prepared
from pregao.feeds.publishers import PacedLoop
from pregao.feeds.publishing import BookSource, Habits, InstrumentBook, LoopPace
from pregao.model import events as e
from pregao.model.market import DefinitionAction, Session, Side, StateEvent

SNAPSHOT: Final = 147
WIDE_SNAPSHOT: Final = 10_147
_AT_ONCE: Final = 8  # small messages that share a datagram

Loop = Iterator[Prepared]


class LoopingStream(PacedLoop[Prepared]):
    """By messages: small ones share a datagram."""

    def __init__(
        self,
        stream: MessageStream,
        writer: MessageWriter,
        pace: LoopPace,
        begin: Callable[[], Loop | None],
        now_ns: int,
    ) -> None:
        super().__init__(stream, pace, begin, now_ns)
        self.stream, self._writer = stream, writer

    def restart(self, now_ns: int) -> None:
        """Another loop begins at once: what was said before it counts no longer."""
        self._messages = None
        self.due_ns = now_ns

    def send_some(self, now_ns: int) -> bool:
        is_new = not self.under_way
        messages = self.messages()
        if messages is None:
            return False
        if is_new:
            self.stream.flush(now_ns)
            self.stream.add(self._writer.sequence_reset, now_ns, 0)
            self.stream.flush(now_ns)
            self.stream.restart()
        sent = len(self.stream.out)
        for _ in range(_AT_ONCE):
            message = next(messages, None)
            if message is None:
                self._messages = None
                break
            self.stream.add(message, now_ns)
            if len(self.stream.out) > sent:
                break
        self.stream.flush(now_ns)
        return self._messages is not None


class DefinitionLoop:
    def __init__(self, source: BookSource, lists: InstrumentLists) -> None:
        self._source, self._lists = source, lists

    def begin(self) -> Loop | None:
        listed = [e.Definition(each, DefinitionAction.ADD) for each in self._source.definitions()]
        return (prepared for prepared, _ in self._lists.messages(listed)) if listed else None


class SnapshotLoop:
    def __init__(
        self,
        source: BookSource,
        writer: MessageWriter,
        incremental: IncrementalStream,
        habits: Habits,
    ) -> None:
        self._source, self._writer, self._incremental = source, writer, incremental
        self._habits = habits
        self._groups: dict[int, tuple[str, str]] = {}

    def begin(self) -> Loop | None:
        """None while all books are withdrawn (5.2.9), or there is nothing yet."""
        muted = self._incremental.muted
        self._groups = {each.security_id: (each.group, each.exchange) for each in self._source.definitions()}
        listed = [one for one in self._source.instruments() if one not in muted and self._has_snapshot(one)]
        return self._messages(listed) if listed else None

    def _has_snapshot(self, security_id: int) -> bool:
        if self._habits.empty_snapshots or self._incremental.rpt_seq(security_id) is not None:
            return True
        book = self._source.book(security_id)
        return book is not None and bool(book.bids or book.offers or book.statistics)

    def _messages(self, instruments: Sequence[int]) -> Loop:
        phases = {(each.group, each.exchange): each for each in self._source.phases()}
        for security_id in instruments:
            # Emptied or deleted since the loop began: its message comes all the same, so that 911 stays true.
            muted = security_id in self._incremental.muted
            book = None if muted else self._source.book(security_id)
            entries = [] if book is None else self._entries(security_id, book, phases)
            yield self._snapshot(security_id, entries, len(instruments))

    def _snapshot(self, security_id: int, entries: list[n.Entry], reports: int) -> Prepared:
        fields = {
            "LastMsgSeqNumProcessed": self._incremental.stream.next_number - 1,
            "TotNumReports": reports,
            "RptSeq": self._incremental.rpt_seq(security_id) or 0,
            "SecurityID": security_id,
        }
        if self._incremental.books.depth is not None:
            fields["MarketDepth"] = self._incremental.books.depth
        if self._incremental.stream_id is not None:
            for entry in entries:
                set_stream(entry, self._incremental.stream_id)
        wide = any(is_lending(each) or "PriceDelta" in each for each in entries)
        template = WIDE_SNAPSHOT if wide else SNAPSHOT
        return self._writer.snapshot(template, fields, [n.as_snapshot(entry) for entry in entries])

    def _entries(
        self, security_id: int, book: InstrumentBook, phases: Mapping[tuple[str, str], e.PhaseChanged]
    ) -> list[n.Entry]:
        made = self._orders(security_id, book)
        for update in book.statistics:
            if isinstance(update, e.LastTrade):
                made.append(n.exchange_last_entry(update))
            elif isinstance(update, e.ExecutionStatistics):
                made += [n.totals_entry(update)] + ([n.vwap_entry(update)] if update.vwap is not None else [])
            elif type(update) in STATISTICS:
                made.append(STATISTICS[type(update)](update))
        phase = phases.get(self._groups.get(security_id, ("", "")))
        status = _status(security_id, phase, book.state)
        if self._habits.phases_as_states and status is not None and phase is not None:
            status.setdefault("SecurityTradingStatus", int(phase.phase))
        return [*made, status] if status is not None else made

    def _orders(self, security_id: int, book: InstrumentBook) -> list[n.Entry]:
        depth = self._incremental.books.depth
        made: list[n.Entry] = []
        for side, orders in ((Side.BUY, book.bids), (Side.SELL, book.offers)):
            if depth is None:
                made += [n.snapshot_order(each, side, at, security_id) for at, each in enumerate(orders, 1)]
                continue
            time_ns = max((order.transact_ns for order in orders), default=0)
            rows = whole_side(orders, depth)
            made += [n.snapshot_level(row, side, at, security_id, time_ns) for at, row in enumerate(rows, 1)]
        return made


def _status(security_id: int, phase: e.PhaseChanged | None, state: e.StateChanged | None) -> n.Entry | None:
    """The group's phase and the instrument's own state (11.4); a change of session is never kept."""
    newest = state or phase
    if newest is None:
        return None
    entry = n.head("c", security_id, newest.transact_ns)
    if phase is not None:
        entry["TradingSessionSubID"] = str(int(phase.phase))
    if state is not None and state.state is not None:
        entry["SecurityTradingStatus"] = int(state.state)
    if newest.session is Session.NON_REGULAR:
        entry["TradingSessionID"] = int(newest.session)
    if newest.ends_ns:
        entry["TradSesOpenTime"] = n.moment_number(newest.ends_ns)
    if state is not None and state.event in (StateEvent.LEAVES_GROUP, StateEvent.REJOINS_GROUP):
        entry["SecurityTradingEvent"] = int(state.event)
    return entry
