"""Definitions of instruments, from the stream of their own and from the incremental one (6.4, 6.5.8)."""

from collections.abc import Callable
from typing import Any

from pregao.feeds.binary.handler.groups import Groups
from pregao.feeds.binary.handler.instruments import Instruments
from pregao.feeds.binary.handler.interest import SymbolInterest
from pregao.feeds.binary.handler.observer import Observer
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.binary.reading.told import Told
from pregao.model.errors import PregaoError
from pregao.model.events import Definition
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.rows import Kind
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.loops import Follow


class DefinitionReader:
    """`plain` reads the message that a row points at; `reader` is for packets of the stream."""

    def __init__(
        self,
        plain: PlainReader,
        reader: RowReader,
        machine: ChannelMachine,
        instruments: Instruments,
        groups: Groups,
        observer: Observer,
        align: Callable[[], None],
    ) -> None:
        self._plain, self._reader, self._machine = plain, reader, machine
        self._instruments, self._groups, self._observer = instruments, groups, observer
        self._align = align  # the book store with the machine's table
        self.damaged = 0

    def receive(self, payload: bytes) -> None:
        """A packet of the definition stream."""
        if len(payload) < PacketHeader.SIZE:
            self.damaged += 1
            return
        header, definitions = PacketHeader.decode(payload), self._machine.definitions
        if header.channel != self._plain.channel:
            self.damaged += 1
            return
        if header.sequence_number == 0:
            definitions.on_heartbeat()
            return
        if definitions.on_packet(header.sequence_version, header.sequence_number) is Follow.REPEATED:
            return
        reading = self._reader.read_packet(payload)
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
        told = self._read(self._reader, row)
        if told is not None and isinstance(told.update, Definition):
            self._learn(told.update.instrument)
            index = self._machine.definitions.on_item(told.update.instrument.security_id, told.total or 0)
            if index is not None:
                self._put(told.update, index)
            self._remove_dropped()

    def _remove_dropped(self) -> None:
        """Instruments whose deletion was lost are only known by their absence (6.5.8)."""
        for index in self._machine.definitions.take_dropped():
            instrument = self._instruments.get(self._machine.table.security_ids[index])
            if instrument is not None:
                self._put(Definition(instrument, DefinitionAction.DELETE), index)

    def take_incremental(self, reader: RowReader, row: Any) -> None:
        """A definition told on the incremental stream."""
        told = self._read(reader, row)
        if told is None or not isinstance(told.update, Definition):
            return
        definition = told.update
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

    def _read(self, reader: RowReader, row: Any) -> Told | None:
        try:
            told = self._plain.read(reader.decode(row), int(row["index"]))
        except PregaoError:
            self.damaged += 1
            return None
        return told[0] if told and "security_id" not in told[0].lacks else None

    def _put(self, definition: Definition, index: int) -> None:
        instrument = definition.instrument
        self._align()
        if definition.action is DefinitionAction.DELETE:
            self._instruments.remove(instrument.security_id)
            if index >= 0:
                self._groups.remove(index)
        else:
            self._instruments.put(instrument)
            if index >= 0:
                self._groups.put(index, instrument.group)
        self._observer.on_definition(instrument, definition.action)
