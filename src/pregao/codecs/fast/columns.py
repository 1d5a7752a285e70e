"""Many messages of a template file as columns: tables of arrays, and each message as plain values again.

Columns are 8 bytes wide (uint64 for uInt64, else int64) with a validity byte; strings are slices of the
buffer or of the heap. Rows of sequences say the row of their parent, in ascending order.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pregao.codecs.fast import kernel_tables as t
from pregao.codecs.fast.decoder import Fields, Referred
from pregao.codecs.fast.kernels.messages import decode_messages, forget_rows
from pregao.codecs.fast.plan import FastPlan, Numbers, PlannedTable, site_of
from pregao.codecs.fast.templates import (
    DynamicReference,
    FastType,
    Field,
    Group,
    Instruction,
    Operator,
    Raw,
    Scaled,
    SplitDecimal,
)
from pregao.codecs.fast.wire import FastError, FastFinding, standard_number
from pregao.kernels import Context
from pregao.model.errors import Fault

FIRST_ROWS: Final = 1024
MAX_ROWS: Final = 1 << 27
MAX_FINDINGS: Final = 10_000


@dataclass(frozen=True, slots=True)
class FastTableColumns:
    """The rows of a table. `origins`: the message (root tables) or the row of the parent; `sites`: the
    dynamic reference that brought it."""

    table: PlannedTable
    rows: int
    origins: Numbers
    sites: Numbers


class FastColumnDecoder:
    """Decodes batches of messages. The columns are its own memory: the next batch overwrites them."""

    def __init__(self, plan: FastPlan, *, strict: bool = False, reset_each_message: bool = True) -> None:
        self.plan = plan
        self._program = plan.program.copy()
        self._tables = np.zeros((len(plan.tables), t.TABLE_SIZE), np.int64)
        self._room = [0] * len(plan.tables)
        self._values: list[Numbers] = [np.zeros(0, np.int64)] * len(plan.columns)
        self._valid: list[Numbers] = [np.zeros(0, np.uint8)] * len(plan.columns)
        self._origins: list[Numbers] = [np.zeros(0, np.int64)] * len(plan.tables)
        self._sites: list[Numbers] = [np.zeros(0, np.int64)] * len(plan.tables)
        self._columns = np.zeros((len(plan.columns), 2), np.int64)
        self._heap = np.zeros(len(plan.pool) + 2 * t.MAX_MADE, np.uint8)
        self._heap[: len(plan.pool)] = np.frombuffer(plan.pool, np.uint8)
        self._buffer: Any = b""
        self._outcomes: Numbers = np.zeros((0, t.OUTCOME), np.int64)
        self._findings = np.zeros((MAX_FINDINGS, t.FINDING), np.int64)
        self._context = Context(t.CONTEXT_FIELDS)
        self._context.set(
            program=self._program, templates=plan.rows, template_count=len(plan.rows), low_templates=plan.low,
            slots=np.zeros((len(plan.templates.slots) + 1, t.ENTRY), np.int64), epoch=t.STATES,
            slots_before=np.zeros((len(plan.templates.slots) + 1, t.ENTRY), np.int64),
            slot_count=len(plan.templates.slots),
            strict=int(strict), resets=int(reset_each_message), tables=self._tables,
            table_count=len(plan.tables), columns=self._columns, heap=self._heap,
            stack=np.zeros((t.MAX_FRAMES, t.FRAME), np.int64), heap_used=len(plan.pool),
            heap_room=len(self._heap), findings=self._findings, finding_room=MAX_FINDINGS,
        )  # fmt: skip
        first = 0
        for table in plan.tables:
            row = self._tables[table.index]
            row[t.TABLE_FIRST_COLUMN // 8] = first
            first += len(table.columns)
            row[t.TABLE_LAST_COLUMN // 8] = first
            self._make_room(table.index, 1)

    @property
    def context(self) -> int:
        """Address for kernels that go on from the columns; it never changes."""
        return self._context.address

    def reset(self) -> None:
        """Forget previous values, as a `MessageDecoder` does."""
        self._context.set(epoch=self._context["epoch"] + t.STATES, template=0)

    def _make_room(self, index: int, rows: int) -> None:
        """For at least so many rows of a table; those that are there are kept."""
        table, row = self.plan.tables[index], self._tables[index]
        room = max(rows, 2 * self._room[index])
        if room > MAX_ROWS:
            raise MemoryError(f"more than {MAX_ROWS:,} rows of {table.name} in one batch")
        used = int(row[t.TABLE_ROWS // 8])
        self._room[index] = room
        row[t.TABLE_ROOM // 8] = room
        self._origins[index] = _grown(self._origins[index], used, room, np.int64)
        row[t.TABLE_ORIGINS // 8] = self._origins[index].ctypes.data
        if table.is_referred and table.is_root:
            self._sites[index] = _grown(self._sites[index], used, room, np.int64)
            row[t.TABLE_SITES // 8] = self._sites[index].ctypes.data
        for column in table.columns:
            kind = np.uint64 if column.type is FastType.UINT64 else np.int64
            place = column.index
            if column.has_values:
                self._values[place] = _grown(self._values[place], used, room, kind)
            self._valid[place] = _grown(self._valid[place], used, room, np.uint8)
            self._columns[place] = self._values[place].ctypes.data, self._valid[place].ctypes.data
        self._point()

    def _point(self) -> None:
        """Tell the instructions where their columns are."""
        with_column = self._program[:, t.COLUMN // 8] >= 0
        numbers = self._program[with_column, t.COLUMN // 8]
        self._program[with_column, t.VALUES // 8] = self._columns[numbers, 0]
        self._program[with_column, t.VALID // 8] = self._columns[numbers, 1]
        decimal = with_column & (self._program[:, t.OP // 8] & ~7 == t.DECIMALS)
        decimal &= self._program[:, t.OP // 8] < t.CONTROL
        self._program[decimal, t.EXPONENT_VALUES // 8] = self._columns[
            self._program[decimal, t.COLUMN // 8] + 1, 0
        ]

    def decode(self, buffer: Any, offsets: Numbers, lengths: Numbers) -> None:
        """Messages at int64 `offsets` of a buffer, each `lengths` bytes long, all in the buffer."""
        data = np.frombuffer(buffer, np.uint8) if len(buffer) else np.zeros(1, np.uint8)
        offsets = np.ascontiguousarray(offsets, np.int64)
        lengths = np.ascontiguousarray(lengths, np.int64)
        if len(offsets) and (
            offsets.min() < 0 or lengths.min() < 0 or (offsets + lengths).max() > len(buffer)
            or lengths.max() > t.MAX_MESSAGE
        ):  # fmt: skip
            raise ValueError("a message that is not in the buffer, or too long")
        self._buffer = data
        self._begin(len(offsets))
        done = 0
        while True:
            done = decode_messages(
                data.ctypes.data, offsets.ctypes.data, lengths.ctypes.data, done, len(offsets),
                self._context.address,
            )  # fmt: skip
            if done == len(offsets):
                return
            self._grow()

    def _begin(self, count: int) -> None:
        forget_rows(self._context.address)
        self._outcomes = np.zeros((count, t.OUTCOME), np.int64)
        self._context.set(
            outcomes=self._outcomes, finding_count=0, heap_used=len(self.plan.pool), full_table=0
        )

    def _grow(self) -> None:
        full = self._context["full_table"]
        if full:
            index = (full - self._tables.ctypes.data) // (t.TABLE_SIZE * 8)
            self._make_room(index, FIRST_ROWS)
            self._context.set(full_table=0)
        if self._context["heap_used"] + t.MAX_MADE > len(self._heap):
            heap = np.zeros(2 * len(self._heap), np.uint8)
            heap[: len(self._heap)] = self._heap
            self._heap = heap
            self._context.set(heap=heap, heap_room=len(heap))

    # What came of it.

    @property
    def faults(self) -> Numbers:
        """Of each message; 0: it is in the tables."""
        return self._outcomes[:, 0]

    def error(self, index: int) -> FastError | None:
        """What is wrong with a message."""
        fault, offset, pc = (int(number) for number in self._outcomes[index])
        if not fault:
            return None
        template, field, number = self._place(Fault(fault), pc)
        return FastError(Fault(fault), offset, number=number, template=template, field=field)

    def findings(self) -> list[tuple[int, FastFinding]]:
        """Reportable errors with the message they are in, as many as were kept."""
        found = []
        for message, fault, offset, pc in self._findings[: self._context["finding_count"]].tolist():
            template, field, number = self._place(Fault(fault), pc)
            found.append((message, FastFinding(Fault(fault), number, template, field, offset)))
        return found

    def _place(self, fault: Fault, pc: int) -> tuple[str, str, str]:
        index = (pc - self._program.ctypes.data) // t.STEP
        if not 0 <= index < len(self._program):
            return "", "", standard_number(fault)
        op = int(self._program[index, 0])
        template, field = self.plan.places[index]
        is_value = op < t.CONTROL
        tail = is_value and op % 8 == Operator.TAIL
        decimal = (is_value and op & ~7 == t.DECIMALS) or field.endswith(".mantissa")
        return template, field, standard_number(fault, tail=tail, decimal=decimal)

    def table(self, index: int) -> FastTableColumns:
        rows = int(self._tables[index, t.TABLE_ROWS // 8])
        sites = self._sites[index][:rows]
        return FastTableColumns(self.plan.tables[index], rows, self._origins[index][:rows], sites)

    def values(self, column: int) -> tuple[Numbers, Numbers]:
        """Values and validity of a column of the plan; where it is not valid the value means nothing."""
        table = next(each for each in self.plan.tables if any(c.index == column for c in each.columns))
        rows = int(self._tables[table.index, t.TABLE_ROWS // 8])
        return self._values[column][:rows], self._valid[column][:rows].view(bool)

    def string(self, piece: int, kind: FastType) -> bytes:
        """The bytes of a slice."""
        source = self._heap if piece & t.IN_HEAP else self._buffer
        at = (piece & ~t.IN_HEAP) >> t.LENGTH_BITS
        data = source[at : at + (piece & t.LENGTH_MASK)]
        return bytes(data & 0x7F) if kind is FastType.ASCII else bytes(data)

    def messages(self) -> list[tuple[str, Fields] | None]:
        """All messages as a `MessageDecoder` gives them; None where one is at fault."""
        found: list[tuple[str, Fields] | None] = [None] * len(self._outcomes)
        for name, (root, _) in self.plan.root_of.items():
            for row, message in enumerate(self.table(root).origins.tolist()):
                found[message] = (name, self._fields(root, row))
        return found

    def _fields(self, table: int, row: int) -> Fields:
        return self._block(self._instructions(table), table, row, "")

    def _instructions(self, table: int) -> tuple[Instruction, ...]:
        """Those that fill a table."""
        each = self.plan.tables[table]
        if each.parent is None:
            return each.template.instructions
        name = each.name[len(self.plan.tables[each.parent].name) + 1 :]
        found: Any = None
        inside = self._instructions(each.parent)
        for part in name.split("."):
            found = next(i for i in inside if i.name == part)
            inside = found.instructions
        return inside

    def _block(self, instructions: tuple[Instruction, ...], table: int, row: int, prefix: str) -> Fields:
        fields: Fields = {}
        for each in instructions:
            name = prefix + each.name
            if isinstance(each, Field):
                fields[each.name] = self._shown(each, table, row, name)
            elif isinstance(each, SplitDecimal):
                fields[each.name] = self._scaled(table, row, name + "\0mantissa", name + "\0exponent")
            elif isinstance(each, Group):
                there = not each.optional or self._at(table, name, row) is not None
                inner = self._block(each.instructions, table, row, name + ".") if there else None
                fields[each.name] = inner
            elif isinstance(each, DynamicReference):
                fields[each.name] = self._referred(site_of(each, self.plan.tables[table]), row)
            else:
                fields[each.name] = self._elements(table, name, row)
        return fields

    def _elements(self, table: int, name: str, row: int) -> list[Fields] | None:
        if self._at(table, name, row) is None:
            return None
        child = self.plan.child_of[table, name]
        origins = self.table(child).origins
        if self.plan.tables[child].is_referred:  # of a template inside itself they come before its own
            return [self._fields(child, index) for index in np.flatnonzero(origins == row).tolist()]
        first, last = np.searchsorted(origins, [row, row + 1])
        return [self._fields(child, int(index)) for index in range(first, last)]

    def _referred(self, site: int, row: int) -> Referred:
        for name, (_, table) in self.plan.root_of.items():
            columns = self.table(table)
            found = np.flatnonzero((columns.origins == row) & (columns.sites == site))
            for index in found.tolist():
                return Referred(name, self._fields(table, index))
        raise AssertionError("a reference without what it refers to")

    def _at(self, table: int, name: str, row: int) -> int | None:
        column = self.plan.column_of[table, name]
        if not self._valid[column][row]:
            return None
        return int(self._values[column][row]) if self.plan.columns[column].has_values else 1

    def _scaled(self, table: int, row: int, mantissa: str, exponent: str) -> Scaled | None:
        value = self._at(table, mantissa, row)
        if value is None:
            return None
        return Scaled(value, int(self._values[self.plan.column_of[table, exponent]][row]))

    def _shown(self, each: Field, table: int, row: int, name: str) -> Any:
        if each.operator is Operator.CONSTANT and not each.optional:
            return _as_people_see(each.initial, each.type)
        if each.type is FastType.DECIMAL:
            return self._scaled(table, row, name, name + "\0exponent")
        value = self._at(table, name, row)
        if value is None or each.type.is_integer:
            return value
        return _as_people_see(self.string(value, each.type), each.type)


def _as_people_see(value: Raw | None, kind: FastType) -> Any:
    if isinstance(value, bytes) and kind is not FastType.BYTES:
        return value.decode("utf-8", "replace")
    return value


def _grown(old: Numbers, used: int, room: int, kind: Any) -> Numbers:
    new = np.zeros(room, kind)
    new[:used] = old[:used]
    return new
