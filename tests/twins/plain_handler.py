"""The feed handler in plain Python: the twin of the handler's kernels.

Packets go one by one through `Arbiter`, rows through `ChannelMachine.on_row`, onto `PlainStore`. Rows are
read by the kernel, whose own twin is `feeds.binary.reading.plain`; the readers of recovery streams are the
handler's, which are plain already. Views change with every row: for whole events there is another test.
"""

from dataclasses import replace
from typing import Any, cast

from pregao.books.store import BookStore
from pregao.codecs.sbe import Schema
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.binary.system import BINARY
from pregao.handler.groups import SecurityGroups
from pregao.handler.instruments import DefinitionReader, Instruments
from pregao.handler.keeper import Observer, StoreKeeper
from pregao.handler.snapshots import SnapshotReader
from pregao.model.rows import FIRST_SPECIAL, LAST_BOOK_KIND, Kind
from pregao.model.streams import Feed, Stream
from pregao.recovery.arbitration import SequencedPacket
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.events import Event
from pregao.recovery.instruments import NEVER, BookStatus, Decision, VerifiedPart, part_of
from pregao.recovery.policy import SITE_OF, ChannelSettings
from tests.twins.plain_store import PlainStore


class PlainKeeper(StoreKeeper):
    """What is held is applied row by row."""

    def __init__(self, handler: "PlainHandler") -> None:
        super().__init__(cast(BookStore, handler.store), handler.groups, lambda: None)
        self._handler = handler

    def apply_held(self, index: int, after_at: int, parts: VerifiedPart) -> None:
        handler = self._handler
        handler.groups.go_back(index, after_at)
        for row in list(handler.machine.held.chain(handler.machine.table.sync[index])):
            if row["at"] <= after_at or not part_of(int(row["kind"])) & parts:
                continue
            if row["kind"] == Kind.PHASE:
                handler.groups.affect(index, row)
            else:
                handler.store[index].apply(row)
        handler.groups.bring_up_to_date(index)


class PlainHandler:
    def __init__(self, channel: int, schema: Schema, settings: ChannelSettings | None = None) -> None:
        self.channel = channel
        self.store, self.instruments = PlainStore(), Instruments()
        self.groups = SecurityGroups(cast(BookStore, self.store))
        keeper = PlainKeeper(self)
        settings = replace(settings or ChannelSettings(), policy=BINARY.policy)
        self.machine = ChannelMachine(channel, keeper, settings)
        self.machine.table.numbering.follow(self.store.add_instrument)
        headers, recovery = BINARY.headers(), RowReader(schema, channel=channel)
        self._reader = RowReader(schema, channel=channel)
        self.definitions = DefinitionReader(
            headers, recovery, self.machine, self.instruments, self.groups, Observer()
        )
        self.snapshots = SnapshotReader(headers, recovery, self.machine, keeper, self.groups)
        self._started = False
        for security_id in self.machine.settings.interest or ():
            self.machine.index_of(security_id)

    def receive(self, payload: bytes, stream: Stream, feed: Feed, now_ns: int) -> list[Event]:
        site = SITE_OF[Feed(feed)]
        if not self._started:
            self._started = True
            self.machine.settle(now_ns)
        if stream is Stream.INCREMENTAL:
            self._take_incremental(payload, Feed(feed), now_ns)
        elif int(stream) not in self.machine.joined:
            pass
        elif stream is Stream.SNAPSHOT:
            self.snapshots.receive(payload, Feed(feed))
        elif site is self.machine.sites.active:
            self.definitions.receive(payload)
        self.snapshots.settle()
        self.machine.settle(now_ns)
        return self.machine.take_events()

    def on_timeout(self, now_ns: int) -> list[Event]:
        for packet in self.machine.on_timeout(now_ns):
            self._take(packet)
        self.snapshots.settle()
        self.machine.settle(now_ns)
        return self.machine.take_events()

    def _take_incremental(self, payload: bytes, feed: Feed, now_ns: int) -> None:
        machine = self.machine
        if not machine.sites.follows(feed):
            machine.sites.hear_standby(feed, now_ns)
            return
        if len(payload) < PacketHeader.SIZE or payload[0] != self.channel:
            machine.arbiter.foreign()
            return
        header = PacketHeader.decode(payload)
        version, number = header.sequence_version, header.sequence_number
        if number:
            packets = machine.on_packet(feed, version, number, payload, now_ns)
        else:
            beats = [row for row in self._reader.read_unit(payload).rows if row["kind"] == Kind.SEQUENCE]
            if not beats:
                machine.arbiter.foreign()
                return
            packets = machine.on_heartbeat(feed, version, int(beats[0]["price"]), now_ns)
        for packet in packets:
            self._take(packet)

    def _take(self, packet: SequencedPacket) -> None:
        reading = self._reader.read_unit(bytes(packet.payload), packet.at >> 32)
        while True:
            for row in reading.rows:
                self._take_row(row)
            for fault in reading.faults:
                self.machine.on_damage(packet.at, fault.fault.name, fault.byte)
            if reading.whole:
                return
            reading = self._reader.go_on()

    def _take_row(self, row: Any) -> None:
        if row["kind"] >= FIRST_SPECIAL:
            self._take_special(row)
            return
        machine = self.machine
        index = machine.index_of(int(row["security_id"]))
        if index < 0:
            return
        outcome = machine.on_row(index, row)
        instrument, record = self.store[index], machine.table.sync[index]
        if outcome & Decision.EMPTIED and row["kind"] != Kind.EMPTY_BOOK:
            instrument.book.clear()
        if not outcome & Decision.APPLY:
            return
        if instrument.apply(row):
            ended = self.groups.infer(index, row)
            self.store.forget_auction(each for each in ended if machine.shows_statistics(each))
        if row["kind"] <= LAST_BOOK_KIND and instrument.book.suspect and record["book"] != BookStatus.STALE:
            record["book"], record["bound"] = BookStatus.STALE, NEVER
            record["missing"] = max(int(record["missing"]), int(row["at"]))
            machine.table.recount(index)
            machine.on_suspect(index, int(row["at"]))

    def _take_special(self, row: Any) -> None:
        machine, kind, at = self.machine, int(row["kind"]), int(row["at"])
        if kind == Kind.PHASE:
            self._phase(row)
        elif kind == Kind.CHANNEL_RESET:
            machine.on_channel_reset(at)
        elif kind == Kind.SEQUENCE_RESET:
            machine.on_sequence_reset(at)
        elif kind == Kind.DEFINITION:
            self.definitions.take_incremental(self._reader, row)

    def _phase(self, row: Any) -> None:
        machine = self.machine
        group = self.groups.tell(row)
        strangers = self.groups.strangers(len(machine.table))
        machine.on_group_phase(int(row["at"]), strangers)
        for index in group.members:
            if machine.on_row(index, row) & Decision.APPLY:
                self.groups.affect(index, row)
            self.groups.bring_up_to_date(index)
        for index in strangers.tolist():
            machine.on_row(index, row)
        machine.on_trade_date(int(row["trade_date"]))
