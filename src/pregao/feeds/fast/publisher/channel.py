"""One channel at one site: the three streams, their timers, and what is sent when something starts over.

    sequence reset   35=4 on all streams; listeners take snapshots (5.2.8)
    channel reset    J without instrument (template 81); then for every instrument that has or had a book J
                     with it and its book marked 276=R, RptSeq from 1; last, phases and states (5.2.9, 13.9)
    book reset       the same of one instrument, without the first J
    weekly start     sequence reset, channel reset, and the last valid trade of each instrument (277=U, 13.4)

Books come back at once or one by one (`gradually`). Until an instrument's turn its book updates are not told,
and it has no snapshot.
"""

from collections import deque
from collections.abc import Set
from typing import Final

from pregao.feeds.fast.publisher.books import PublishedBooks
from pregao.feeds.fast.publisher.datagrams import MessageStream
from pregao.feeds.fast.publisher.incremental import IncrementalStream
from pregao.feeds.fast.publisher.loops import DefinitionLoop, LoopingStream, SnapshotLoop
from pregao.feeds.fast.publisher.writing import MessageWriter
from pregao.feeds.publishers import orders_again
from pregao.feeds.publishing import (
    OutgoingPacket,
    Paces,
    PublisherSetup,
    SentMessage,
    SequencePoint,
)
from pregao.model import events as e
from pregao.model.market import DefinitionAction
from pregao.model.streams import Stream

USUAL_PACES: Final = Paces(heartbeat_ns=10 * 1_000_000_000)


class FastPublisher:
    """A `Publisher` of UMDF FIX/FAST. `depth` None: books by order; 1: the best level; else so many."""

    def __init__(
        self, writer: MessageWriter, setup: PublisherSetup, *, depth: int | None, stream_id: str | None
    ) -> None:
        """`stream_id`: the one MDStreamID that the channel has."""
        channel, source, now_ns, feeds = setup.channel, setup.source, setup.now_ns, setup.site.incremental
        paces = setup.paces or USUAL_PACES
        self.channel, self._source, self._recovery_ns = channel, source, paces.recovery_ns
        self._out: list[OutgoingPacket] = []
        self._writer = writer

        def stream(kind: Stream, begin: SequencePoint | None) -> MessageStream:
            return MessageStream(
                kind, feeds, writer.heartbeat, self._out, now_ns=now_ns, heartbeat_ns=paces.heartbeat_ns,
                start=begin,
            )  # fmt: skip

        books = PublishedBooks(depth)
        books.start(source)
        self.incremental = IncrementalStream(
            channel, stream(Stream.INCREMENTAL, setup.start), writer, books, rpt_seqs=setup.rpt_seqs,
            booked=setup.booked, listener=setup.listener, stream_id=stream_id,
        )  # fmt: skip
        self.incremental.figures.list(source.definitions())
        definitions = DefinitionLoop(source, self.incremental.lists)
        snapshots = SnapshotLoop(source, writer, self.incremental, setup.habits)
        self.definitions = LoopingStream(
            stream(Stream.DEFINITION, setup.loops), writer, paces.definitions, definitions.begin, now_ns
        )
        self.snapshots = LoopingStream(
            stream(Stream.SNAPSHOT, setup.loops), writer, paces.snapshots, snapshots.begin, now_ns
        )
        # Called for every event and every heartbeat: no call in between.
        self.publish = self.incremental.publish
        self.flush = self.incremental.stream.flush
        self._streams = self.incremental.stream, self.definitions.stream, self.snapshots.stream
        self.message_counts = self.incremental.message_counts
        self._waiting: deque[int] = deque()  # instruments whose book is to come again
        self._due_ns = 0

    def take(self) -> list[OutgoingPacket]:
        taken = self._out.copy()
        self._out.clear()
        return taken

    def keep_messages(self) -> None:
        self.incremental.stream.kept = []

    def take_messages(self) -> list[SentMessage]:
        taken = self.incremental.stream.kept or []
        if taken:
            self.incremental.stream.kept = []
        return taken

    def hold_snapshots(self, now_ns: int, *, held: bool) -> None:
        self.snapshots.hold(now_ns, held=held)

    @property
    def waiting(self) -> int:
        return len(self._out)

    def next_timeout(self) -> int:
        incremental, definitions, snapshots = self._streams
        due_ns = incremental.silent_ns  # one by one: `min` of five takes twice as long
        if definitions.silent_ns < due_ns:
            due_ns = definitions.silent_ns
        if snapshots.silent_ns < due_ns:
            due_ns = snapshots.silent_ns
        if self.definitions.due_ns < due_ns:
            due_ns = self.definitions.due_ns
        if self.snapshots.due_ns < due_ns:
            due_ns = self.snapshots.due_ns
        return min(due_ns, self._due_ns) if self._waiting else due_ns

    def on_timeout(self, now_ns: int) -> None:
        while self._waiting and self._due_ns <= now_ns:
            self._recover(self._waiting.popleft(), now_ns)
            self._due_ns += self._recovery_ns
            if not self._waiting:
                self._finish_recovery(now_ns)
        incremental, definitions, snapshots = self._streams
        incremental.on_timeout(now_ns)
        if self.definitions.due_ns <= now_ns or definitions.silent_ns <= now_ns:
            self.definitions.advance(now_ns)
        if self.snapshots.due_ns <= now_ns or snapshots.silent_ns <= now_ns:
            self.snapshots.advance(now_ns)

    def point(self, stream: Stream) -> SequencePoint:
        if stream is Stream.INCREMENTAL:
            return self.incremental.stream.point
        return (self.definitions if stream is Stream.DEFINITION else self.snapshots).stream.point

    def is_in_loop(self, stream: Stream) -> bool:
        return (self.definitions if stream is Stream.DEFINITION else self.snapshots).under_way

    def rpt_seq(self, security_id: int) -> int | None:
        return self.incremental.rpt_seq(security_id)

    @property
    def muted(self) -> Set[int]:
        return self.incremental.muted

    # Resets

    def reset_stream(self, now_ns: int, *, gradually: bool = False) -> None:
        """Books do not come again here: snapshots have them, and their loop begins at once (5.2.8)."""
        self._restart_sequence(now_ns)

    def fail_over(self, now_ns: int, *, gradually: bool = False) -> None:
        """Another instance has no way to tell but a sequence reset."""
        self._restart_sequence(now_ns)

    def reset_channel(self, now_ns: int, *, definitions: bool = False, gradually: bool = False) -> None:
        self._reset_books(now_ns, definitions=definitions)
        self._recover_all(now_ns, gradually=gradually)

    def start_week(self, now_ns: int, *, gradually: bool = False) -> None:
        self._restart_sequence(now_ns)
        self.incremental.forget()
        self._reset_books(now_ns, definitions=True)
        self.incremental.tells_last_trades = True
        self._recover_all(now_ns, gradually=gradually)

    def reset_book(self, security_id: int, now_ns: int) -> None:
        self._recover(security_id, now_ns)
        self.incremental.flush(now_ns)

    def _restart_sequence(self, now_ns: int) -> None:
        """The reset has the last number of the sequence that it ends."""
        stream = self.incremental.stream
        stream.flush(now_ns)
        stream.add(self._writer.sequence_reset, now_ns, 0)
        stream.flush(now_ns)
        stream.restart()
        self.definitions.restart(now_ns)
        self.snapshots.restart(now_ns)

    def _reset_books(self, now_ns: int, *, definitions: bool) -> None:
        self._say(now_ns, e.ChannelWasReset(self.channel, now_ns))
        listed = self._source.definitions() if definitions else ()
        if listed:
            self._say(now_ns, *(e.Definition(each, DefinitionAction.ADD) for each in listed))

    def _recover_all(self, now_ns: int, *, gradually: bool) -> None:
        self._waiting = deque(self._source.instruments())
        self.incremental.muted.clear()
        self.incremental.muted.update(self._waiting)
        self._due_ns = now_ns + self._recovery_ns
        if not gradually or not self._waiting:
            while self._waiting:
                self._recover(self._waiting.popleft(), now_ns)
            self._finish_recovery(now_ns)
        self.incremental.flush(now_ns)

    def _finish_recovery(self, now_ns: int) -> None:
        """Phases and states come when the books are there (13.9)."""
        for phase in self._source.phases():
            self._say(now_ns, phase)
        for security_id in self._source.instruments():
            book = self._source.book(security_id)
            if book is not None and book.state is not None and book.state.state is not None:
                self._say(now_ns, book.state)
        self.incremental.tells_last_trades = False

    def _recover(self, security_id: int, now_ns: int) -> None:
        """The whole book of one instrument; one deleted meanwhile has none."""
        incremental = self.incremental
        incremental.muted.discard(security_id)
        book = self._source.book(security_id)
        if book is None:
            return
        if book.bids or book.offers or security_id in incremental.booked:
            self._say(now_ns, e.BookEmptied(security_id, now_ns), *orders_again(security_id, book))
        if self.incremental.tells_last_trades:
            for update in book.statistics:
                if isinstance(update, e.LastTrade):
                    self._say(now_ns, update)

    def _say(self, now_ns: int, *updates: e.Update) -> None:
        self.incremental.publish(e.Event(updates), now_ns)
