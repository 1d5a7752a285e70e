"""The instruments of a channel by securityID and by symbol, as their definitions tell them."""

from collections.abc import Collection, Iterator, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from pregao.feeds.port import Header, ListedDefinition, UnitReader
from pregao.handler.groups import SecurityGroups
from pregao.handler.keeper import Observer
from pregao.handler.kernels.live import FOLLOWED, NOT_OURS, RECOVERY, STANDBY, sort_packets
from pregao.model.errors import PregaoError
from pregao.model.events import Definition
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.packets import FOREIGN, NO_NEXT, PacketBatch, UInt32s, Unit
from pregao.model.rows import Kind
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.loops import Follow, loop_feed


class Instruments:
    """A symbol belongs to the instrument that was last defined with it: ids change owners."""

    def __init__(self) -> None:
        self._by_id: dict[int, Instrument] = {}
        self._by_symbol: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Instrument]:
        return iter(self._by_id.values())

    def put(self, instrument: Instrument) -> None:
        security_id = instrument.security_id
        self._forget_symbol(security_id)
        self._by_id[security_id] = instrument
        self._by_symbol[instrument.symbol] = security_id

    def remove(self, security_id: int) -> None:
        self._forget_symbol(security_id)
        self._by_id.pop(security_id, None)

    def get(self, security_id: int) -> Instrument | None:
        return self._by_id.get(security_id)

    def id_of(self, symbol: str) -> int | None:
        return self._by_symbol.get(symbol)

    def _forget_symbol(self, security_id: int) -> None:
        known = self._by_id.get(security_id)
        if known is not None and self._by_symbol.get(known.symbol) == security_id:
            del self._by_symbol[known.symbol]


# Instruments that somebody is interested in by their symbols.


class SymbolInterest(Set[int]):
    """The securityIDs whose definitions have one of these symbols. For `ChannelSettings.interest`.

    Nobody knows the id of a symbol before its definition was heard: until then its rows are skipped, like
    all others, and from then on its book is as that of an instrument that was just met: a snapshot makes
    it whole."""

    def __init__(self, symbols: Collection[str]) -> None:
        self.symbols = frozenset(symbols)
        self._ids: set[int] = set()

    def learn(self, instrument: Instrument) -> bool:
        """A definition; whether it is of interest and was not known before."""
        if instrument.symbol not in self.symbols or instrument.security_id in self._ids:
            return False
        self._ids.add(instrument.security_id)
        return True

    def __contains__(self, security_id: object) -> bool:
        return security_id in self._ids

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


# Which stream and feed of which channel each source of packets is.


Feeds = np.ndarray[tuple[int], np.dtype[np.uint8]]

Standby = np.ndarray[tuple[int, int], np.dtype[np.int64]]  # by feed: when it was last heard, and how often

_RECOVERY_STREAMS = (Stream.DEFINITION, Stream.SNAPSHOT)


class Sorted(NamedTuple):
    """Rows of a batch, valid until the next one is sorted."""

    followed: UInt32s  # incremental packets of the site that is followed
    followed_address: int
    recovery: UInt32s
    standby: Standby | None  # None: no source is of another site


class LineTable:
    """Sources are the indexes of `lines`; the feed of an unknown one is taken for A."""

    def __init__(self, lines: Sequence[StreamId]) -> None:
        self._lines = list(lines)
        self.feeds: Feeds = np.array([int(line.feed or Feed.A) for line in lines] or [0], np.uint8)
        self.feeds_address: int = self.feeds.ctypes.data
        self._roles: dict[tuple[int, tuple[int, ...]], Feeds] = {}
        self._known: dict[tuple[int, tuple[int, ...]], tuple[int, bool]] = {}  # address; has another site
        self._room = 0
        self._make_room(1)

    @property
    def channels(self) -> list[int]:
        return sorted({line.channel for line in self._lines if line.channel is not None})

    def line(self, source: int) -> tuple[Stream, Feed]:
        return self._lines[source].stream, self._lines[source].feed or Feed.A

    def sort(self, batch: PacketBatch, channel: int, site: tuple[int, ...]) -> Sorted:
        """The packets of a channel; `site` are the feeds of the one that is followed."""
        if batch.count > self._room:
            self._make_room(batch.count)
        known = self._known.get((channel, site))
        if known is None:
            found = self._roles[channel, site] = self._roles_of(channel, site)
            known = self._known[channel, site] = found.ctypes.data, bool((found == STANDBY).any())
        roles, has_standby = known
        if has_standby:
            self._standby.fill(0)
        _, _, _, sources, arrivals = batch.addresses
        feeds, places = self.feeds_address, self._places
        taken, others = sort_packets(sources, arrivals, batch.count, roles, feeds, *places)
        standby = self._standby if has_standby else None
        return Sorted(self._followed[:taken], places[0], self._recovery[:others], standby)

    def _roles_of(self, channel: int, site: Collection[int]) -> Feeds:
        roles = np.full(max(len(self._lines), 1), NOT_OURS, np.uint8)
        for source, line in enumerate(self._lines):
            if line.channel == channel and line.stream in _RECOVERY_STREAMS:
                roles[source] = RECOVERY
            elif line.channel == channel and line.stream is Stream.INCREMENTAL:
                roles[source] = FOLLOWED if int(self.feeds[source]) in site else STANDBY
        return roles

    def _make_room(self, packets: int) -> None:
        self._room = max(packets, 2 * self._room)
        self._followed: UInt32s = np.empty(self._room, np.uint32)
        self._recovery: UInt32s = np.empty(self._room, np.uint32)
        self._standby: Standby = np.zeros((len(Feed), 2), np.int64)
        self._places = tuple(array.ctypes.data for array in (self._followed, self._recovery, self._standby))


# Definitions of instruments, from the stream of their own and from the incremental one (6.4, 6.5.8).


class DefinitionReader:
    """`headers` and `reader` are for packets of the stream."""

    def __init__(
        self,
        headers: Header,
        reader: UnitReader,
        machine: ChannelMachine,
        instruments: Instruments,
        groups: SecurityGroups,
        observer: Observer,
    ) -> None:
        self._headers, self._reader, self._machine = headers, reader, machine
        self._instruments, self._groups, self._observer = instruments, groups, observer
        self._loop_feed = loop_feed(machine.settings.policy, machine.definitions.tracker)
        self.damaged = 0

    def receive(self, payload: bytes, feed: Feed = Feed.A, now_ns: int = 0) -> None:
        """A packet of the definition stream."""
        for unit in self._headers.split(payload, feed, now_ns):
            if unit.number == FOREIGN or unit.channel != self._machine.channel:
                self.damaged += 1
            else:
                self._take(unit, feed)

    def _take(self, unit: Unit, feed: Feed) -> None:
        definitions = self._machine.definitions
        if unit.number == 0 or unit.next_number != NO_NEXT:
            definitions.on_heartbeat(unit.number)
            return
        if self._loop_feed is not None and not self._loop_feed.admits(feed, unit.epoch, unit.number):
            return
        if definitions.on_packet(unit.epoch, unit.number) is Follow.REPEATED:
            return
        reading = self._reader.read_unit(unit.payload)
        while True:
            self.damaged += any(fault.lost for fault in reading.faults)
            for fault in reading.faults:
                self._machine.on_finding(self._machine.at, fault.fault.name, fault.byte)
            for row in reading.rows:
                if row["kind"] == Kind.DEFINITION:
                    self._take_listed(row)
                elif row["kind"] == Kind.SEQUENCE_RESET:
                    definitions.on_sequence_reset()
                    self._remove_dropped()
            if reading.whole:
                return
            reading = self._reader.go_on()

    def _take_listed(self, row: Any) -> None:
        listed = self._read(self._reader, row)
        if listed is not None:
            definition = listed.definition
            self._learn(definition.instrument)
            index = self._machine.definitions.on_item(
                definition.instrument.security_id, listed.total, listed.ends
            )
            if index is not None:
                self._put(definition, index)
            self._remove_dropped()

    def _remove_dropped(self) -> None:
        """Instruments whose deletion was lost are only known by their absence (6.5.8)."""
        for index in self._machine.definitions.take_dropped():
            instrument = self._instruments.get(self._machine.table.security_ids[index])
            if instrument is not None:
                self._put(Definition(instrument, DefinitionAction.DELETE), index)

    def take_incremental(self, reader: UnitReader, row: Any) -> None:
        """A definition told on the incremental stream."""
        listed = self._read(reader, row)
        if listed is None:
            return
        definition = listed.definition
        is_new = self._instruments.get(definition.instrument.security_id) is None
        self._learn(definition.instrument)
        index = self._machine.on_definition(
            definition.instrument.security_id,
            int(row["at"]),
            new=definition.action is DefinitionAction.ADD,
            deleted=definition.action is DefinitionAction.DELETE,
        )
        self._put(definition, index)
        created = is_new and definition.action is DefinitionAction.ADD and index >= 0
        if created and not self._machine.settings.policy.created_follow:
            self._groups.created.add(index)

    def _learn(self, instrument: Instrument) -> None:
        """Rows of an instrument that was chosen by its symbol were skipped until now."""
        interest = self._machine.settings.interest
        if isinstance(interest, SymbolInterest) and interest.learn(instrument):
            self._machine.on_interest()

    def _read(self, reader: UnitReader, row: Any) -> ListedDefinition | None:
        try:
            return reader.definition(row)
        except PregaoError:
            self.damaged += 1
            return None

    def _put(self, definition: Definition, index: int) -> None:
        instrument = definition.instrument
        if definition.action is DefinitionAction.DELETE:
            self._instruments.remove(instrument.security_id)
            if index >= 0:
                self._groups.remove(index)
        else:
            self._instruments.put(instrument)
            if index >= 0:
                self._groups.put(index, instrument.group)
        self._observer.on_definition(instrument, definition.action)
