"""A template file as tables: which columns there are, and the program that the kernels run.

One table for each template and for each sequence in it. Groups are dotted names in the table around them.
Where a template is brought by a dynamic reference its rows go to tables of their own (`is_referred`), with
the row and the reference (`site`) that brought them. Mandatory constants have no column: they are always the
same.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pregao.codecs.fast import kernel_tables as t
from pregao.codecs.fast.templates import (
    DynamicReference,
    FastType,
    Field,
    Group,
    Instruction,
    Operator,
    Raw,
    Scaled,
    Sequence,
    SplitDecimal,
    Template,
    Templates,
    least_bytes,
)

Numbers = np.ndarray[Any, np.dtype[Any]]
_NO_COLUMN: Final = -1
_TOP: Final = (1 << 63) - 1
_MAX_RUNS: Final = {t.NULL_RUN: 8, t.ABSENT_RUN: 32}  # fields: bytes of a word, bits of a map


@dataclass(slots=True)
class PlannedColumn:
    """Values of one field, a decimal's mantissa or exponent, the length of a sequence, or (without values)
    whether a group is there."""

    index: int
    name: str  # dotted for fields of groups
    type: FastType
    has_values: bool = True


@dataclass(slots=True)
class PlannedTable:
    index: int
    name: str
    template: Template
    parent: int | None = None
    is_referred: bool = False
    columns: list[PlannedColumn] = field(default_factory=list)

    @property
    def is_root(self) -> bool:
        return self.parent is None


@dataclass(frozen=True)
class FastPlan:
    templates: Templates
    tables: tuple[PlannedTable, ...]
    columns: tuple[PlannedColumn, ...]
    program: Numbers  # int64[instruction, INSTRUCTION]
    places: tuple[tuple[str, str], ...]  # template and field of each instruction, for people
    rows: Numbers  # int64[template, TEMPLATE_ROW]
    low: Numbers
    pool: bytes  # strings of initial values: the beginning of every heap
    column_of: dict[tuple[int, str], int]  # table and name → column
    child_of: dict[tuple[int, str], int]  # table and dotted name of a sequence → table
    root_of: dict[str, tuple[int, int]]  # name of a template → its tables, as a message and referred to


def make_plan(templates: Templates) -> FastPlan:
    return _Planner(templates).plan()


class _Planner:
    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self.tables: list[PlannedTable] = []
        self.columns: list[PlannedColumn] = []
        self.program: list[list[int]] = []
        self.places: list[tuple[str, str]] = []
        self.pool = bytearray()
        self.column_of: dict[tuple[int, str], int] = {}
        self.child_of: dict[tuple[int, str], int] = {}

    def plan(self) -> FastPlan:
        rows, roots = [], {}
        for template in self.templates:
            begin, table = len(self.program), self._template(template, referred=False)
            again, other = begin, table
            if self.templates.references:
                again, other = len(self.program), self._template(template, referred=True)
            rows.append([template.id, begin, table, again, other])
            roots[template.name] = (table, other)
        low = np.zeros(t.LOW_TEMPLATES, np.int32)
        for index, row in enumerate(rows):
            if row[0] < t.LOW_TEMPLATES:
                low[row[0]] = index + 1
        for number, table_ in enumerate(self.tables):
            assert number == table_.index
        self._sort_columns()
        return FastPlan(
            templates=self.templates,
            tables=tuple(self.tables),
            columns=tuple(self.columns),
            program=np.array(self.program, np.int64).reshape(-1, t.INSTRUCTION),
            places=tuple(self.places),
            rows=np.array(rows, np.int64).reshape(-1, t.TEMPLATE_ROW),
            low=low,
            pool=bytes(self.pool),
            column_of=self.column_of,
            child_of=self.child_of,
            root_of=roots,
        )

    def _sort_columns(self) -> None:
        """Columns of a table follow each other."""
        numbers = {}
        self.columns = [column for table in self.tables for column in table.columns]
        for number, column in enumerate(self.columns):
            numbers[column.index] = number
            column.index = number
        self.column_of = {key: numbers[index] for key, index in self.column_of.items()}
        for row in self.program:
            if row[t.COLUMN // 8] != _NO_COLUMN:
                row[t.COLUMN // 8] = numbers[row[t.COLUMN // 8]]

    def _table(self, name: str, template: Template, parent: int | None, referred: bool) -> PlannedTable:
        table = PlannedTable(len(self.tables), name, template, parent, referred)
        self.tables.append(table)
        return table

    def _template(self, template: Template, *, referred: bool) -> int:
        table = self._table(template.name, template, None, referred)
        self._block(template.instructions, table, "")
        self._emit(table, "", op=t.END, has_map=1)
        return table.index

    def _emit(self, table: PlannedTable, name: str, *, column: int = _NO_COLUMN, **values: int) -> list[int]:
        row = [0] * t.INSTRUCTION
        for key, value in values.items():
            place = getattr(t, key.upper()) // 8
            row[place] = value if value <= _TOP else value - (1 << 64)
        row[t.COLUMN // 8] = column
        self.program.append(row)
        self.places.append((table.template.name, name.replace("\0", ".")))
        return row

    def _column(self, table: PlannedTable, name: str, kind: FastType, has_values: bool = True) -> int:
        column = PlannedColumn(len(self.columns), name, kind, has_values)
        self.columns.append(column)
        table.columns.append(column)
        self.column_of[table.index, name] = column.index
        return column.index

    def _block(self, instructions: tuple[Instruction, ...], table: PlannedTable, prefix: str) -> None:
        sent = [each for each in instructions if not _is_always_constant(each)]
        while sent:
            kind, count = _run(sent)
            if count > 1:
                self._fields_of_run(kind, sent[:count], table, prefix)
            else:
                self._instructions(sent[:1], table, prefix)
            del sent[: max(count, 1)]

    def _fields_of_run(self, kind: int, run: list[Instruction], table: PlannedTable, prefix: str) -> None:
        row = self._emit(table, prefix, op=kind, count=len(run))
        first = len(self.program)
        if kind == t.NULL_RUN:
            mask = (1 << 8 * len(run)) - 1
            for place, number in ((t.PATTERN, 0x8080808080808080 & mask), (t.PATTERN_MASK, mask)):
                row[place // 8] = number if number <= _TOP else number - (1 << 64)
        self._instructions(run, table, prefix)
        row[t.SKIP // 8] = (len(self.program) - first) * t.STEP

    def _instructions(self, instructions: list[Instruction], table: PlannedTable, prefix: str) -> None:
        for each in instructions:
            if isinstance(each, Field):
                self._field(each, table, prefix + each.name)
            elif isinstance(each, SplitDecimal):
                self._field(each.exponent, table, prefix + each.exponent.name, t.EXPONENTS)
                self._field(each.mantissa, table, prefix + each.mantissa.name, always=True)
            elif isinstance(each, Sequence):
                self._sequence(each, table, prefix)
            elif isinstance(each, Group):
                self._group(each, table, prefix + each.name)
            else:
                self._reference(each, table, prefix)

    def _reference(self, each: DynamicReference, table: PlannedTable, prefix: str) -> None:
        self._emit(table, prefix + each.name, op=t.REFERENCE, behind=site_of(each, table))

    def _group(self, group: Group, table: PlannedTable, name: str) -> None:
        column = (
            self._column(table, name, FastType.UINT32, has_values=False) if group.optional else _NO_COLUMN
        )
        begin = self._emit(
            table, name, column=column, op=t.GROUP, has_bit=int(group.optional), has_map=int(group.has_map)
        )
        self._block(group.instructions, table, name + ".")
        if group.has_map:
            self._emit(table, name, op=t.GROUP_END, has_map=1)
        begin[t.BEHIND // 8] = len(self.program)

    def _sequence(self, sequence: Sequence, table: PlannedTable, prefix: str) -> None:
        name = prefix + sequence.name
        self._field(sequence.length, table, prefix + sequence.length.name, always=True)
        self.column_of[table.index, name] = self.column_of[table.index, prefix + sequence.length.name]
        child = self._table(f"{table.name}.{name}", table.template, table.index, table.is_referred)
        self.child_of[table.index, name] = child.index
        has_map, first = int(sequence.has_map), len(self.program)
        begin = self._emit(table, name, op=t.SEQUENCE, least=least_bytes(sequence), has_map=has_map)
        begin[t.TABLE // 8] = child.index
        self._block(sequence.instructions, child, "")
        self._emit(child, "", op=t.ELEMENT_END, behind=first, has_map=has_map)
        begin[t.BEHIND // 8] = len(self.program)
        if sequence.optional and sequence.length.operator in (Operator.NONE, Operator.DELTA):
            self.program[first - 1][t.NULL_SKIP // 8] = (len(self.program) - first + 1) * t.STEP

    def _field(
        self, each: Field, table: PlannedTable, name: str, kind: int | None = None, *, always: bool = False
    ) -> None:
        """`always`: nothing is passed over: mantissas, lengths."""
        column = self._column(table, name, each.type)
        numbers = _number_type(each.type)
        initial, exponent = self._initial(each.initial)
        if kind is None:
            kind = (
                t.INTEGERS
                if each.type.is_integer
                else t.DECIMALS
                if each.type is FastType.DECIMAL
                else t.STRINGS
            )
        if each.type is FastType.DECIMAL:
            self._column(table, name + "\0exponent", FastType.INT32)
        unsigned_64 = numbers is FastType.UINT64
        # What an absent exponent takes with it: the mantissa behind it.
        skip = (2 if kind == t.EXPONENTS else 1) * t.STEP
        absent = each.operator is Operator.DEFAULT and each.initial is None and not always
        simple = each.operator in (Operator.NONE, Operator.DEFAULT, Operator.DELTA) and not always
        self._emit(
            table, name, column=column, op=kind + int(each.operator),
            has_bit=skip if absent else int(each.has_bit),
            null_skip=skip if each.optional and simple else 0,
            nullable=int(each.optional), signed=int(numbers.is_signed),
            minimum=-(1 << 63) if unsigned_64 else numbers.minimum,
            maximum=_TOP if unsigned_64 else numbers.maximum,
            slot=each.slot, type=int(each.type), has_initial=int(each.initial is not None),
            initial=initial, initial_exponent=exponent,
        )  # fmt: skip

    def _initial(self, value: Raw | None) -> tuple[int, int]:
        if isinstance(value, Scaled):
            return value.mantissa, value.exponent
        if isinstance(value, bytes):
            at = len(self.pool)
            self.pool += value
            return t.IN_HEAP | at << t.LENGTH_BITS | len(value), 0
        return value or 0, 0


def _is_always_constant(each: Instruction) -> bool:
    return isinstance(each, Field) and each.operator is Operator.CONSTANT and not each.optional


def _run(instructions: list[Instruction]) -> tuple[int, int]:
    """What kind of run instructions begin with, and of how many fields."""
    kind = _run_kind(instructions[0])
    most = _MAX_RUNS.get(kind, 0)
    count = 0
    while count < min(most, len(instructions)) and _run_kind(instructions[count]) == kind:
        count += 1
    return kind, count


def _run_kind(each: Instruction) -> int:
    """Fields that are one byte where they are NULL, or one bit where they are absent."""
    head = (
        each.exponent
        if isinstance(each, SplitDecimal)
        else each.length
        if isinstance(each, Sequence)
        else each
    )
    if not isinstance(head, Field) or not head.optional:
        return 0
    if head.operator in (Operator.NONE, Operator.DELTA):
        return t.NULL_RUN
    if head.operator is Operator.DEFAULT and head.initial is None and not isinstance(each, Sequence):
        return t.ABSENT_RUN
    return 0


def site_of(reference: DynamicReference, table: PlannedTable) -> int:
    """The number of a reference, which a template has twice: as a message and where it is referred to."""
    return 2 * reference.number + table.is_referred


def _number_type(kind: FastType) -> FastType:
    """Of integers as they stand in the stream: a decimal begins with its exponent."""
    return kind if kind.is_integer else FastType.INT32
