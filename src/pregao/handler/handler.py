"""The feed handler of one channel: packets in, books that are right or say that they are not.

    handler = ChannelHandler(84, load_system("binary"))
    for notice in handler.receive(payload, Stream.INCREMENTAL, Feed.A, now_ns):
        print(notice)
    handler.book("PETR4").top

It has no sockets and no clock: `next_timeout` says when `on_timeout` is due. `receive_batch` is the same for
many packets, and the way to go when there are many.
"""

from ctypes import string_at

import numpy as np

from pregao.books.store import BookStore
from pregao.feeds.port import Came, MulticastSystem, WholePackets
from pregao.feeds.wire import open_wire
from pregao.handler.groups import SecurityGroups
from pregao.handler.incremental import IncrementalReader
from pregao.handler.instruments import DefinitionReader, Feeds, Instruments, LineTable
from pregao.handler.keeper import Observer, StoreKeeper
from pregao.handler.snapshots import SnapshotReader
from pregao.handler.views import Handler
from pregao.model.numbering import InstrumentNumbers
from pregao.model.packets import FOREIGN, NO_NEXT, PacketBatch, Units, batch_of
from pregao.model.streams import Feed, Stream
from pregao.recovery.arbitration_state import ACCEPTED, STOP, STOP_ODD, STOP_RELEASE, AcceptedUnits
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.events import Event
from pregao.recovery.kernels.arrivals import take_in_sequence
from pregao.recovery.policy import SITE_OF, ChannelSettings, earlier, settings_of

ROOM = 4_096  # packets that are accepted before their rows are read
_ROW_BYTES = 4  # of the number of a packet in its batch


class ChannelHandler(Handler):
    """One channel. `whole_events`: views change at the end of events only."""

    def __init__(
        self,
        channel: int,
        system: MulticastSystem,
        settings: ChannelSettings | None = None,
        *,
        observer: Observer | None = None,
        whole_events: bool = True,
        quotes: bool = False,
    ) -> None:
        self.channel = channel
        settings = settings_of(system.policy, settings)
        numbering = InstrumentNumbers(settings.instruments)
        self.store = BookStore(numbering)
        self.groups, self.instruments = SecurityGroups(self.store), Instruments()
        self._keeper = StoreKeeper(self.store, self.groups, self._catch_up)
        self.machine = ChannelMachine(channel, self._keeper, settings, numbering)
        wire, observer = open_wire(system, channel), observer or Observer()
        self._headers = wire.headers(Stream.INCREMENTAL)
        self._wire = wire
        loops = {stream: wire.headers(stream) for stream in (Stream.DEFINITION, Stream.SNAPSHOT)}
        # Headers of whole packets keep nothing back: they need not be asked after every batch.
        self._waiting_headers = [
            each for each in (self._headers, *loops.values()) if not isinstance(each, WholePackets)
        ]
        self.definitions = DefinitionReader(
            loops[Stream.DEFINITION], wire.reader(Stream.DEFINITION), self.machine, self.instruments,
            self.groups, observer,
        )  # fmt: skip
        self.incremental = IncrementalReader(
            self.machine, self.store, self.groups, wire.reader(Stream.INCREMENTAL), wire.news_desk(),
            self.definitions, observer, whole=whole_events,
        )  # fmt: skip
        self.snapshots = SnapshotReader(
            loops[Stream.SNAPSHOT], wire.reader(Stream.SNAPSHOT), self.machine, self._keeper, self.groups,
            wire.epoch_at,
        )  # fmt: skip
        self._keeper.attach(self.incremental.context, self.machine.held)
        self._accepted = AcceptedUnits(ROOM)
        self.ignored = 0  # packets of recovery streams that nobody needs
        if quotes:
            self.store.want_quotes()
        for security_id in settings.interest or ():
            self.machine.index_of(security_id)
        self._started = False

    def start(self, now_ns: int) -> list[Event]:
        """Begin: which streams to join. Whoever does not call it begins with the first packet."""
        self._started = True
        return self._settle(now_ns)

    # Packets in

    def receive(self, payload: bytes, stream: Stream, feed: Feed, now_ns: int) -> list[Event]:
        """One packet of one stream."""
        events = [] if self._started else self.start(now_ns)
        if stream is not Stream.INCREMENTAL:
            self._take_recovery(payload, stream, feed, now_ns)
        elif self.machine.sites.follows(Feed(feed)):
            batch = batch_of([(0, now_ns, payload)])
            self._take_incremental(batch, 0, 1, np.array([feed], np.uint8))
        else:
            self.machine.sites.hear_standby(Feed(feed), now_ns)
        return events + self._settle(now_ns)

    def receive_batch(self, batch: PacketBatch, lines: LineTable, now_ns: int) -> list[Event]:
        """Packets of any streams of this channel; `lines` says which stream and feed a source is. What a
        loop says depends on what was told before it began: recovery packets are taken in their place."""
        events = [] if self._started else self.start(now_ns)
        sites, joined = self.machine.sites, self.machine.joined
        found = lines.sort(batch, self.channel, sites.active.feeds)
        taken = 0
        for row in found.recovery.tolist():
            stream, feed = lines.line(int(batch.source[row]))
            if int(stream) in joined:
                before = int(np.searchsorted(found.followed, row))
                if before > taken:
                    address = found.followed_address + taken * _ROW_BYTES
                    self._take_incremental(batch, address, before - taken, lines.feeds, lines.feeds_address)
                    taken = before
            self._take_recovery(batch.payload(row), stream, feed, int(batch.arrival_ns[row]))
        left = len(found.followed) - taken
        if left:
            address = found.followed_address + taken * _ROW_BYTES
            self._take_incremental(batch, address, left, lines.feeds, lines.feeds_address)
        if found.standby is not None:
            for number, (heard_ns, packets) in enumerate(found.standby.tolist()):
                if packets:  # the site that is not followed is only listened for
                    sites.hear_standby(Feed(number), heard_ns, packets)
        return events + self._settle(now_ns)

    def next_timeout(self) -> int | None:
        """Of what is missing: packets, feeds that are silent, parts of news."""
        due_ns = earlier(self.machine.next_timeout(), self.incremental.next_timeout())
        for headers in self._waiting_headers:
            due_ns = earlier(due_ns, headers.next_timeout())
        return due_ns

    def on_timeout(self, now_ns: int) -> list[Event]:
        for headers in self._waiting_headers:
            headers.on_timeout(now_ns)
        for packet in self.machine.on_timeout(now_ns):
            self.incremental.take_packet(packet)
        self.incremental.on_timeout(now_ns)
        return self._settle(now_ns)

    def on_replayed(self, number: int, payload: bytes, now_ns: int) -> list[Event]:
        """A unit that a replayer sent: `UnitsWanted` asked for it. It says itself which it is, and of which
        epoch: an answer may come after a reset."""
        unit = self._headers.unit_of(payload)
        if unit is not None and unit.number == number:
            for packet in self.machine.on_replayed(unit.epoch, number, payload, now_ns):
                self.incremental.take_packet(packet)
        return self._settle(now_ns)

    def on_unanswered(self, epoch: int, first: int, last: int, now_ns: int) -> list[Event]:
        """Units that a replayer was asked for and does not have: they are lost."""
        for packet in self.machine.on_unanswered(epoch, first, last):
            self.incremental.take_packet(packet)
        return self._settle(now_ns)

    def on_end(self, now_ns: int) -> list[Event]:
        """Nothing will come any more."""
        for headers in self._waiting_headers:
            headers.flush()
        self.incremental.on_end(now_ns)
        return self._settle(now_ns)

    def book_depth(self) -> int | None:
        return self._wire.book_depth()

    # Inside

    def _take_incremental(
        self, batch: PacketBatch, rows: int, count: int, feeds: Feeds, feeds_address: int | None = None
    ) -> None:
        """`rows`: the address of the numbers of `count` packets of the batch; 0: the first of them."""
        machine, out = self.machine, self._accepted
        base, offsets, lengths, sources, arrivals = batch.addresses
        feeds_address = feeds_address or int(feeds.ctypes.data)
        came = Came(sources, arrivals, feeds_address)
        units = self._headers.read(base, offsets, lengths, count, rows, came)
        columns = (base, *units.addresses, sources, arrivals, feeds_address)
        index, last = 0, units.count
        while index < last:
            state = machine.arbiter.state
            out.fill_by(state)
            index = take_in_sequence(state.address, *columns, index, last, ROOM)
            accepted = state.get(ACCEPTED)
            if accepted:
                arrival_ns = int(batch.arrival_ns[out.rows[accepted - 1]])
                self.incremental.take(base, out.columns, accepted, arrival_ns)
            stop = state.get(STOP)
            if stop == STOP_RELEASE:
                for packet in machine.on_kernel_release():
                    self.incremental.take_packet(packet)
            elif stop == STOP_ODD:
                self._take_odd(batch, units, index, feeds)
                index += 1

    def _take_odd(self, batch: PacketBatch, units: Units, index: int, feeds: Feeds) -> None:
        """A unit that is not simply the next."""
        machine, row, number = self.machine, int(units.row[index]), int(units.number[index])
        feed, now_ns = Feed(int(feeds[batch.source[row]])), int(batch.arrival_ns[row])
        epoch, next_number = int(units.epoch[index]), int(units.next_number[index])
        is_foreign = number == FOREIGN or (number == 0 and next_number == NO_NEXT)
        if is_foreign or int(units.channel[index]) != self.channel:
            machine.arbiter.foreign()
            return
        if number:
            # Not of the buffer: a unit that came in several packets is elsewhere.
            payload = string_at(batch.addresses[0] + int(units.offset[index]), int(units.length[index]))
            packets = machine.on_packet(feed, epoch, number, payload, now_ns)
        else:
            packets = machine.on_heartbeat(feed, epoch, next_number, now_ns)
        for packet in packets:
            self.incremental.take_packet(packet)

    def _take_recovery(self, payload: bytes | memoryview, stream: Stream, feed: Feed, now_ns: int) -> None:
        if int(stream) not in self.machine.joined:
            self.ignored += 1
        elif stream is Stream.SNAPSHOT:
            in_event = self.store.has_touched
            self.snapshots.receive(bytes(payload), Feed(feed), now_ns)
            if not in_event:  # else its end tells them
                self.incremental.tell_quotes(self.machine.at, now_ns)
        elif stream is Stream.DEFINITION and SITE_OF[Feed(feed)] is self.machine.sites.active:
            self.definitions.receive(bytes(payload), Feed(feed), now_ns)

    def _settle(self, now_ns: int) -> list[Event]:
        for headers in self._waiting_headers:
            for error in headers.take_faults():
                self.machine.on_finding(self.machine.at, error.fault.name, error.offset)
        self.snapshots.settle()
        self.machine.settle(now_ns)
        return self.machine.take_events()

    def _catch_up(self) -> None:
        self.incremental.catch_up()
