"""Definitions of instruments, from the stream of their own and from the incremental one (6.4, 6.5.8)."""

from typing import Any

from pregao.feeds.port import Header, ListedDefinition, UnitReader
from pregao.handler.groups import Groups
from pregao.handler.instruments import Instruments, SymbolInterest
from pregao.handler.keeper import Observer
from pregao.model.errors import PregaoError
from pregao.model.events import Definition
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.packets import FOREIGN, NO_NEXT, Unit
from pregao.model.rows import Kind
from pregao.model.streams import Feed
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.loops import Follow


class DefinitionReader:
    """`headers` and `reader` are for packets of the stream."""

    def __init__(
        self,
        headers: Header,
        reader: UnitReader,
        machine: ChannelMachine,
        instruments: Instruments,
        groups: Groups,
        observer: Observer,
    ) -> None:
        self._headers, self._reader, self._machine = headers, reader, machine
        self._instruments, self._groups, self._observer = instruments, groups, observer
        self.damaged = 0

    def receive(self, payload: bytes, feed: Feed = Feed.A, now_ns: int = 0) -> None:
        """A packet of the definition stream."""
        for unit in self._headers.split(payload, feed, now_ns):
            if unit.number == FOREIGN or unit.channel != self._machine.channel:
                self.damaged += 1
            else:
                self._take(unit)

    def _take(self, unit: Unit) -> None:
        definitions = self._machine.definitions
        if unit.number == 0 or unit.next_number != NO_NEXT:
            definitions.on_heartbeat(unit.number)
            return
        if definitions.on_packet(unit.epoch, unit.number) is Follow.REPEATED:
            return
        reading = self._reader.read_unit(unit.payload)
        while True:
            self.damaged += bool(reading.faults)
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
        self._learn(definition.instrument)
        index = self._machine.on_definition(
            definition.instrument.security_id,
            int(row["at"]),
            new=definition.action is DefinitionAction.ADD,
            deleted=definition.action is DefinitionAction.DELETE,
        )
        self._put(definition, index)

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
