"""One channel at one site: the three streams, their timers and resets, tied together (6.1)."""

from collections.abc import Iterable, Mapping, Set

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.publisher.incremental import IncrementalStream
from pregao.feeds.binary.publisher.loops import DefinitionLoop, LoopingStream
from pregao.feeds.binary.publisher.messages import MessageCounts, MessageWriter
from pregao.feeds.binary.publisher.packets import PacketStream
from pregao.feeds.binary.publisher.resets import Resets
from pregao.feeds.binary.publisher.snapshots import ENTRIES, SnapshotLoop, SnapshotOrders
from pregao.feeds.publishing import (
    BookSource,
    Habits,
    Listener,
    OutgoingPacket,
    Paces,
    PublishingSite,
    SequencePoint,
)
from pregao.model.streams import Feed, Stream


class ChannelPublisher:
    """A `Publisher` of Binary UMDF: events in, packets out through `take`. `PublishingSystem.publisher` says
    what its arguments are."""

    def __init__(
        self,
        channel: int,
        schema: Schema,
        version: int,
        source: BookSource,
        *,
        now_ns: int,
        site: PublishingSite = PublishingSite.PRIMARY,
        paces: Paces | None = None,
        habits: Habits | None = None,
        start: SequencePoint | None = None,
        loops: SequencePoint | None = None,
        rpt_seqs: Mapping[int, int] | None = None,
        booked: Iterable[int] = (),
        listener: Listener | None = None,
    ) -> None:
        paces, habits = paces or Paces(), habits or Habits()
        self.channel, self.version, self.site = channel, version, site
        self._out: list[OutgoingPacket] = []
        writer = MessageWriter(schema, version)

        def packets(stream: Stream, feeds: tuple[Feed, ...], begin: SequencePoint | None) -> PacketStream:
            return PacketStream(
                channel, stream, feeds, writer.sequence, self._out,
                now_ns=now_ns, start=begin, heartbeat_ns=paces.heartbeat_ns,
            )  # fmt: skip

        incremental = packets(Stream.INCREMENTAL, site.incremental, start)
        self.incremental = IncrementalStream(
            incremental, writer, rpt_seqs=rpt_seqs, booked=booked, listener=listener
        )
        snapshot_orders = SnapshotOrders(schema, version, paces.snapshot_entries or ENTRIES)
        snapshots = SnapshotLoop(
            source, writer, snapshot_orders, self.incremental, phases_as_states=habits.phases_as_states
        )
        definitions = DefinitionLoop(source, writer)
        self.definitions = LoopingStream(
            packets(Stream.DEFINITION, site.loops, loops), paces.definitions, definitions.begin,
            writer.sequence_reset if habits.definitions_reset else None, now_ns,
        )  # fmt: skip
        self.snapshots = LoopingStream(
            packets(Stream.SNAPSHOT, site.loops, loops), paces.snapshots, snapshots.begin,
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
