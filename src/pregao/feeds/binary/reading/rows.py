"""Packets to rows, many at a time: the driver of the kernel. `plain` is its slow twin.

    reader = RowReader(schema)
    reading = reader.read(address, offsets, lengths, at, sequence_versions, count)
    while True:
        ...reading.rows, reading.faults...
        if reading.whole:
            break
        reading = reader.go_on()

The rows are a view of the reader's own memory: the next reading overwrites them.
"""

from collections.abc import Iterator
from ctypes import string_at
from operator import is_not
from typing import Any, Final

import numpy as np

from pregao.codecs.sbe import SbeMessage, SbeMessageDecoder, Schema
from pregao.codecs.sbe.kernel_tables import CONTEXT_FIELDS as SBE_FIELDS
from pregao.codecs.sbe.kernel_tables import LEVEL_SIZE
from pregao.codecs.sbe.reader import MAX_GROUP_DEPTH
from pregao.feeds.binary.kernels.rows import read_rows
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.feeds.binary.reading.plan import RowPlan, row_plan_of
from pregao.feeds.binary.reading.tables import CONTEXT_FIELDS, FAULT_BYTES, FAULTS_AT_ONCE
from pregao.feeds.port import ListedDefinition, Reading, RowFault
from pregao.kernels import Context
from pregao.model.errors import Fault
from pregao.model.events import Definition
from pregao.model.rows import ROW, ROW_SIZE, Rows, place

Array = np.ndarray[Any, np.dtype[Any]]

# Rows that still are in a near cache when whoever reads them comes to them: four megabytes.
DEFAULT_ROWS: Final = 1 << 15
DEFAULT_FAULTS: Final = 1 << 12
_NOT_BEGUN: Final = -1

_MOST_KNOWN: Final = 1 << 14  # definitions, of some two kilobytes each
# By the identity of a plan, which is held beside so that no other one has it.
_KNOWN: dict[tuple[int, int, bytes], tuple[RowPlan, ListedDefinition | None]] = {}

POSITION: Final = ("<i8", "<u4", "<i8", "<u2")  # dtypes of what `read` takes


class RowReader:
    """Reads packets of one schema; `rows` and `faults` are how many one reading may have. `channel` is that
    of the definitions that are read."""

    def __init__(
        self, schema: Schema, rows: int = DEFAULT_ROWS, faults: int = DEFAULT_FAULTS, *, channel: int = 0
    ) -> None:
        self._plan = row_plan_of(schema)
        if rows < self._plan.most_entries or faults < FAULTS_AT_ONCE:
            raise ValueError(f"at least {self._plan.most_entries} rows and {FAULTS_AT_ONCE} faults")
        self._decoder, self._plain = SbeMessageDecoder(schema), PlainReader(channel)
        self._header_size = schema.header.size
        self._rows = np.zeros(rows, ROW)
        self._faults = np.zeros((faults, FAULT_BYTES // 8), np.int64)
        self._sbe = _sbe_context(self._plan)
        self._context = _row_context(self._plan, self._sbe, self._rows, self._faults)
        # Asking an array for its address takes longer than reading a packet.
        self._context_address, self._rows_address = self._context.address, self._rows.ctypes.data
        self._base, self._packets = 0, 0
        self._given: tuple[Array, ...] = ()
        self._most = 0  # packets that the given arrays have room for
        self._one: Array = np.zeros(0, np.uint8)  # the payload of `read_unit`

    def read(
        self,
        address: int,
        offsets: Array,
        lengths: Array,
        at: Array,
        sequence_versions: Array,
        count: int | None = None,
    ) -> Reading:
        """The first `count` packets of a buffer, as far as there is room.

        `offsets` are those of the payloads (int64), with `lengths` (uint32), their places in the
        stream (int64: `model.rows.place`) and sequence versions (uint16), all contiguous. The
        buffer must stay as it is until the readings are done with. To give the same arrays every
        time is quicker.
        """
        count = len(offsets) if count is None else count
        given = (offsets, lengths, at, sequence_versions)
        if not self._given or any(map(is_not, given, self._given)):
            self._give(given)
        if count > self._most:
            raise ValueError(f"{count} packets of {self._most}")
        self._base, self._packets = address, count
        self._context.set(packets=count, packet=0, byte=_NOT_BEGUN, place=0)
        return self.go_on()

    def go_on(self) -> Reading:
        """What did not fit the reading before."""
        context = self._context
        context.set(row=self._rows_address, faults=0)
        read_rows(self._base, self._context_address)
        count = (context["row"] - self._rows_address) // ROW_SIZE
        faults = context["faults"]
        noted = list(self._noted(faults)) if faults else []
        return Reading(self._rows[:count], noted, context["packet"] == self._packets)

    def read_unit(self, payload: bytes, appearance: int = 0) -> Reading:
        """One packet by itself."""
        self._one = np.frombuffer(payload, np.uint8) if payload else np.zeros(1, np.uint8)
        version, number = 0, 0
        if len(payload) >= PacketHeader.SIZE:
            header = PacketHeader.decode(payload)
            version, number = header.sequence_version, header.sequence_number
        return self.read(
            self._one.ctypes.data,
            np.zeros(1, np.int64),
            np.array([len(payload)], np.uint32),
            np.array([place(appearance, number)], np.int64),
            np.array([version], np.uint16),
        )

    def messages_at(self, rows: Rows) -> tuple[Array, Array]:
        """Without their headers, which say nothing of what they define."""
        return self._base + rows["price"], np.ascontiguousarray(rows["size"])

    def message(self, row: np.void) -> bytes:
        """What a DEFINITION, NEWS or OTHER row of the last reading points at."""
        start = self._base + int(row["price"]) - self._header_size
        return string_at(start, int(row["size"]) + self._header_size)

    def decode(self, row: np.void) -> SbeMessage:
        return self._decoder.decode(self.message(row))

    def definition(self, row: np.void) -> ListedDefinition | None:
        """None: it says of no instrument what it is. A feed and its twin, a loop and the next one say the
        same in the same bytes: those are read once."""
        message = self.message(row)
        key = id(self._plan), self._plain.channel, message
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = self._plan, self._defined(message)
        return _KNOWN[key][1]

    def _defined(self, message: bytes) -> ListedDefinition | None:
        readings = self._plain.read(self._decoder.decode(message))
        if (
            not readings
            or "security_id" in readings[0].lacks
            or not isinstance(readings[0].update, Definition)
        ):
            return None
        return ListedDefinition(readings[0].update, readings[0].total or 0)

    def _give(self, given: tuple[Array, ...]) -> None:
        """Other arrays than before."""
        for array, kind in zip(given, POSITION, strict=True):
            if array.dtype != kind or not array.flags.c_contiguous:
                raise ValueError(f"contiguous numbers of type {kind} are needed")
        offsets, lengths, at, sequence_versions = given
        self._context.set(offset=offsets, length=lengths, at=at, sequence_version=sequence_versions)
        self._given, self._most = given, min(map(len, given))

    def _noted(self, count: int) -> Iterator[RowFault]:
        for fault, byte, packet, index in self._faults[:count].tolist():
            yield RowFault(Fault(fault), packet, byte - int(self._given[0][packet]), index)


def _sbe_context(plan: RowPlan) -> Context:
    """What it takes to walk groups and data without keeping them."""
    context = Context(SBE_FIELDS)
    stack = np.zeros((MAX_GROUP_DEPTH + 2, LEVEL_SIZE), np.int64)
    context.set(layouts=plan.sbe.layouts, steps=plan.sbe.steps, stack=stack)
    return context


def _row_context(plan: RowPlan, sbe: Context, rows: Rows, faults: Array) -> Context:
    context = Context(CONTEXT_FIELDS)
    context.set(
        epoch_of_version=plan.epoch_of_version,
        layout_of=plan.layout_of,
        unknown=len(plan.layout_of) - 1,
        epochs=plan.layout_of.shape[1],
        schema_id=plan.schema.id,
        most_entries=plan.most_entries,
        sbe=sbe.address,
        rows=rows,
        rows_end=rows.ctypes.data + rows.nbytes,
        fault=faults,
        fault_room=len(faults),
    )
    return context
