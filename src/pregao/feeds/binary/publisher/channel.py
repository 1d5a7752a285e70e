"""One channel at one site: the three streams, their timers and resets, tied together (6.1)."""

from collections import deque
from collections.abc import Set

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.publisher.incremental import IncrementalStream
from pregao.feeds.binary.publisher.loops import DefinitionLoop, LoopingStream
from pregao.feeds.binary.publisher.messages import MessageCounts, MessageWriter
from pregao.feeds.binary.publisher.packets import PacketStream
from pregao.feeds.binary.publisher.snapshots import ENTRIES, SnapshotLoop, SnapshotOrders
from pregao.feeds.publishers import orders_again
from pregao.feeds.publishing import (
    BookSource,
    InstrumentBook,
    OutgoingPacket,
    Paces,
    PublisherSetup,
    SequencePoint,
)
from pregao.model import events as e
from pregao.model.market import DefinitionAction
from pregao.model.streams import Feed, Stream

# When sequence, channel, book or publisher start over (6.5.11, 6.5.12, 6.5.13, 7.4.1).
#
# What each sends on the incremental stream, then for every instrument that has or had a book an EmptyBook and
# its orders, one event or many (`event_orders`), all marked RecoveryMsg:
#
#     stream reset     SequenceReset (the last packet of its sequenceVersion); number 1 of the next
#     failover         nothing: number 1 of the next sequenceVersion; last, LastTradePrice (13.6)
#     channel reset    ChannelReset, with the list of instruments where the system initialises
#     weekly start     SequenceReset, next sequenceVersion, ChannelReset, the list; rptSeq from 1
#     book reset       only the EmptyBook and orders of one instrument
#
# Books come back at once or one by one (`gradually`). Until an instrument's turn its book updates are not
# told, as its whole book will be; its trades and statistics are (6.5.12, step 6). Its snapshot is withdrawn.
# Statistics are never reset by any of this.


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
        emptied, orders = e.BookEmptied(security_id, now_ns), list(orders_again(security_id, book))
        if not self._event_orders:
            self._say(now_ns, emptied, *orders)
            return
        self._say(now_ns, emptied)
        for first in range(0, len(orders), self._event_orders):
            self._incremental.flush(now_ns)
            self._say(now_ns, *orders[first : first + self._event_orders])

    def _say(self, now_ns: int, *updates: e.Update) -> None:
        self._incremental.publish(e.Event(updates), now_ns)


class ChannelPublisher:
    """A `Publisher` of Binary UMDF: events in, packets out through `take`."""

    def __init__(self, schema: Schema, setup: PublisherSetup) -> None:
        channel, version, source, now_ns, site, *_ = setup
        paces, habits = setup.paces or Paces(), setup.habits
        self.channel, self.version, self.site = channel, version, site
        self._out: list[OutgoingPacket] = []
        writer = MessageWriter(schema, version)

        def packets(stream: Stream, feeds: tuple[Feed, ...], begin: SequencePoint | None) -> PacketStream:
            return PacketStream(
                channel, stream, feeds, writer.sequence, self._out,
                now_ns=now_ns, start=begin, heartbeat_ns=paces.heartbeat_ns,
            )  # fmt: skip

        incremental = packets(Stream.INCREMENTAL, site.incremental, setup.start)
        self.incremental = IncrementalStream(
            incremental, writer, rpt_seqs=setup.rpt_seqs, booked=setup.booked, listener=setup.listener
        )
        snapshot_orders = SnapshotOrders(schema, version, paces.snapshot_entries or ENTRIES)
        snapshots = SnapshotLoop(
            source, writer, snapshot_orders, self.incremental, phases_as_states=habits.phases_as_states
        )
        definitions = DefinitionLoop(source, writer)
        self.definitions = LoopingStream(
            packets(Stream.DEFINITION, site.loops, setup.loops), paces.definitions, definitions.begin,
            writer.sequence_reset if habits.definitions_reset else None, now_ns,
        )  # fmt: skip
        self.snapshots = LoopingStream(
            packets(Stream.SNAPSHOT, site.loops, setup.loops), paces.snapshots, snapshots.begin,
            writer.sequence_reset, now_ns,
        )  # fmt: skip
        self._resets = Resets(
            channel, self.incremental, source, writer.sequence_reset, paces.recovery_ns,
            habits.replenishment_orders,
        )  # fmt: skip
        # Called for every event: no call in between.
        self.publish = self.incremental.publish
        self.message_counts = MessageCounts(writer, self.incremental.muted).of
        self._streams = {
            Stream.INCREMENTAL: incremental,
            Stream.DEFINITION: self.definitions.packets,
            Stream.SNAPSHOT: self.snapshots.packets,
        }

    def flush(self, now_ns: int) -> None:
        """The instant is over: what was published leaves."""
        self.incremental.packets.flush(now_ns)

    def take(self) -> list[OutgoingPacket]:
        """The packets since the last call, in the order they are sent."""
        taken = self._out.copy()
        self._out.clear()
        return taken

    @property
    def waiting(self) -> int:
        """How many packets there are to `take`."""
        return len(self._out)

    def next_timeout(self) -> int:
        """When `on_timeout` is due. Publishing only moves it later, so there is no need to ask again
        after each event; a reset may move it earlier."""
        definitions, snapshots = self.definitions, self.snapshots
        due_ns = min(
            self.incremental.packets.silent_ns, definitions.due_ns, definitions.packets.silent_ns,
            snapshots.due_ns, snapshots.packets.silent_ns,
        )  # fmt: skip
        recovery_ns = self._resets.next_timeout()
        return due_ns if recovery_ns is None else min(due_ns, recovery_ns)

    def on_timeout(self, now_ns: int) -> None:
        """Time has passed: books that come back, packets of the loops, heartbeats."""
        self._resets.advance(now_ns)
        self.incremental.packets.on_timeout(now_ns)
        self.definitions.advance(now_ns)
        self.snapshots.advance(now_ns)

    def point(self, stream: Stream) -> SequencePoint:
        return self._streams[stream].point

    def hold_snapshots(self, now_ns: int, *, held: bool) -> None:
        self.snapshots.hold(now_ns, held=held)

    def is_in_loop(self, stream: Stream) -> bool:
        return (self.definitions if stream is Stream.DEFINITION else self.snapshots).under_way

    def rpt_seq(self, security_id: int) -> int | None:
        return self.incremental.rpt_seq(security_id)

    @property
    def muted(self) -> Set[int]:
        return self.incremental.muted

    def reset_stream(self, now_ns: int, *, gradually: bool = False) -> None:
        """6.5.11."""
        self._resets.stream(now_ns, gradually=gradually)

    def reset_channel(self, now_ns: int, *, definitions: bool = False, gradually: bool = False) -> None:
        """6.5.12; with definitions where the system initialises."""
        self._resets.channel(now_ns, definitions=definitions, gradually=gradually)

    def reset_book(self, security_id: int, now_ns: int) -> None:
        """6.5.13."""
        self._resets.book(security_id, now_ns)

    def start_week(self, now_ns: int, *, gradually: bool = False) -> None:
        self._resets.week(now_ns, gradually=gradually)

    def fail_over(self, now_ns: int, *, gradually: bool = False) -> None:
        """The secondary instance takes over (6.5.5.1, 7.4.1): all streams have a new sequenceVersion."""
        self._resets.fail_over(now_ns, gradually=gradually)
        self.definitions.restart()
        self.snapshots.restart()
