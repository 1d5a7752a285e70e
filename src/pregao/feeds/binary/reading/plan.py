"""A schema and the rules as tables: how the kernel reads each template at each epoch."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from pregao.codecs.sbe.declarations import Dimension
from pregao.codecs.sbe.kernel_tables import LAYOUT_STEP, LAYOUT_STEP_END
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.codecs.sbe.plan import SbePlan, make_plan
from pregao.codecs.sbe.schema import Schema
from pregao.feeds.binary.reading.rules import NOT_TOLD, OTHER_RULE, RULES, Rule, Take
from pregao.feeds.binary.reading.tables import (
    CHANGE_BYTES,
    CHANGE_FIELDS,
    COPIES,
    LAYOUT_BYTES,
    LAYOUT_FIELDS,
    SHAPE_ENTRIES,
)
from pregao.feeds.binary.reading.words import (
    FIRST_BY_PRICE,
    FIRST_WITH_DELETED_PRICE,
    WITH_POLICY,
    policy_flags,
)
from pregao.model.errors import SchemaError
from pregao.model.rows import NULL, ROW, ROW_SIZE, Flag

Array = np.ndarray[Any, np.dtype[Any]]

_MOST: Final = (1 << 63) - 1
_WIDE: Final = 8
_MOST_BYTES: Final = 1 << 16  # of a message: it cannot have more entries than that
_INDICATOR, _ENTRY_TYPE = "matchEventIndicator", "mDEntryType"
_IMPLIED_NAME: Final = "Implied"  # of bit 4 from version 10 on (10); before, it meant something else


@dataclass(frozen=True)
class RowPlan:
    """The arrays that the kernel reads; `layouts` has addresses of the others in it."""

    schema: Schema
    sbe: SbePlan
    epoch_of_version: Array
    layout_of: Array  # addresses by template and epoch
    layouts: Array
    copies: Array
    changes: Array
    initial: Array
    most_entries: int


_MOST_PLANS: Final = 8
_plans: dict[int, RowPlan] = {}


def row_plan_of(schema: Schema) -> RowPlan:
    """Made once for a schema: it takes some forty milliseconds, and each channel of a market has readers.
    A plan holds its schema, so no other one can have the same identity."""
    found = _plans.get(id(schema))
    if found is None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        found = _plans[id(schema)] = make_row_plan(schema)
        for shared in (found.epoch_of_version, found.layout_of, found.layouts, found.copies, found.changes):
            shared.setflags(write=False)
    return found


def make_row_plan(schema: Schema) -> RowPlan:
    if not schema.header.is_plain or schema.byte_order != "<":
        raise SchemaError("rows are read from little-endian messages with B3's header only")
    return _Planner(schema).plan()


@dataclass(slots=True)
class _Layout:
    """A layout before its addresses are known."""

    values: dict[str, int]
    copies: list[int]
    changes: list[tuple[int, ...]]
    initial: Array
    entry: int | None = None  # number of the entries' layout


@dataclass(slots=True)
class _Steps:
    """The copies by kind, and the changes, of one block."""

    copies: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in COPIES})
    changes: list[tuple[int, ...]] = field(default_factory=list)
    end: int = 0  # bytes of block that they need

    def add(self, target: str, source: FieldLayout, take: Take) -> None:
        self.end = max(self.end, source.offset + source.size)
        kind = _copy_kind(target, source, take)
        if kind is None:
            self.changes.append(_change(target, source, take))
        else:
            self.copies[kind].append(source.offset << 8 | _place(target)[0])


class _Planner:
    def __init__(self, schema: Schema) -> None:
        self.schema, self.sbe = schema, make_plan(schema)
        self.layouts: list[_Layout] = []
        self.most_entries = 1

    def plan(self) -> RowPlan:
        self._add(OTHER_RULE, None, 0, 0)
        breakpoints = sorted({*self.schema.breakpoints, FIRST_BY_PRICE, FIRST_WITH_DELETED_PRICE})
        unknown = max((message.id for message in self.schema.messages), default=0) + 1
        numbers = np.zeros((unknown + 1, len(breakpoints)), np.int64)
        for epoch, version in enumerate(breakpoints):
            for block in self.schema.at(version).messages.values():
                nested = self._nested(block.id, int(self.sbe.epoch_of_version[version]))
                rule = RULES.get(block.name, OTHER_RULE)
                numbers[block.id, epoch] = self._add(rule, block, nested, version)
        versions = np.arange(len(self.sbe.epoch_of_version))
        epochs = (np.searchsorted(breakpoints, versions, "right") - 1).astype(np.uint8)
        copies = np.array([word for one in self.layouts for word in one.copies], np.uint32)
        changes = np.array([row for one in self.layouts for row in one.changes], np.int64)
        initial = np.concatenate([one.initial for one in self.layouts])
        layouts = self._placed(copies, changes, initial)
        return RowPlan(
            self.schema, self.sbe, epochs, layouts.ctypes.data + numbers * LAYOUT_BYTES,
            layouts, copies, changes, initial, self.most_entries,
        )  # fmt: skip

    def _nested(self, template: int, epoch: int) -> int:
        """Address of the SBE layout of a message that has groups or data, else 0."""
        number = self.sbe.layout_of[self.sbe.root_of_template[template], epoch]
        row = self.sbe.layouts[number]
        return int(row.ctypes.data) if row[LAYOUT_STEP // 8] != row[LAYOUT_STEP_END // 8] else 0

    def _add(self, rule: Rule, block: BlockLayout | None, nested: int, version: int) -> int:
        """The number of the layout of a block from a version on, after that of its entries."""
        fields = {f.name: f for f in block.fields if f.present} if block is not None else {}
        entry = None
        group: dict[str, int] = {}
        if rule.shape == SHAPE_ENTRIES and block is not None and rule.entry is not None:
            entries = block.groups[0]
            if not entries.present or entries.dimension is None:
                raise SchemaError(f"group {entries.name!r} is not in every version", element=block.name)
            entry, group = self._add(rule.entry, entries, 0, version), _dimension(entries.dimension)
            self.most_entries = max(self.most_entries, _most_entries(entries.dimension))
        if rule.kind in WITH_POLICY:
            rule = replace(rule, flags=rule.flags | policy_flags(version))
        values = {"shape": rule.shape, "nested": nested} | group
        self.layouts.append(_layout(rule, fields, values, entry))
        return len(self.layouts) - 1

    def _placed(self, copies: Array, changes: Array, initial: Array) -> Array:
        """The layouts as rows, with the addresses of what they need."""
        layouts = np.zeros((len(self.layouts), len(LAYOUT_FIELDS)), np.int64)
        copy, change = copies.ctypes.data, changes.ctypes.data
        for number, layout in enumerate(self.layouts):
            change_end = change + len(layout.changes) * CHANGE_BYTES
            values = layout.values | {
                "initial": initial.ctypes.data + number * ROW_SIZE,
                "copies": copy,
                "changes": change,
                "changes_end": change_end,
                "entry": 0 if layout.entry is None else layouts[layout.entry].ctypes.data,
            }
            layouts[number] = [values.get(name, 0) for name in LAYOUT_FIELDS]
            copy, change = copy + 4 * len(layout.copies), change_end
        return layouts


def _layout(rule: Rule, fields: dict[str, FieldLayout], values: dict[str, int], entry: int | None) -> _Layout:
    steps = _Steps()
    for target, take in rule.takes.items():
        source = next((fields[name] for name in take.names if name in fields), None)
        if source is not None:
            steps.add(target, source, take)
    indicator, entry_type = fields.get(_INDICATOR), fields.get(_ENTRY_TYPE) if rule.sided else None
    for one in (indicator, entry_type):
        if one is not None:
            if one.size != 1:
                raise SchemaError(f"field {one.name!r} is not one byte")
            steps.end = max(steps.end, one.offset + 1)
    values |= {
        "full_length": steps.end,
        "flags_at": -1 if indicator is None else indicator.offset,
        "flags_mask": int(rule.indicated) & (-1 if _says_implied(indicator) else ~int(Flag.IMPLIED)),
        "flags_base": int(rule.flags),
        "side_at": -1 if entry_type is None else entry_type.offset,
    }
    words: list[int] = []
    for kind in COPIES:
        words += steps.copies[kind]
        values[f"end_{kind}"] = 4 * len(words)
    return _Layout(values, words, steps.changes, _initial(rule), entry)


def _says_implied(indicator: FieldLayout | None) -> bool:
    return indicator is not None and _IMPLIED_NAME in indicator.names.values()


def _initial(rule: Rule) -> Array:
    """The row of a message that says nothing: nulls and constants."""
    row = np.zeros(1, ROW)
    for name in ROW.names or ():
        if name in rule.takes or _place(name)[1] == _WIDE:
            row[name] = _null(name)
    row["kind"], row["flags"] = rule.kind, rule.flags | Flag.NO_EVENT
    for name, value in rule.constants.items():
        row[name] = value
    return row


def _place(target: str) -> tuple[int, int]:
    """Offset and width of a field of a row."""
    assert ROW.fields is not None
    kind, offset = ROW.fields[target][:2]
    return int(offset), kind.itemsize


def _null(target: str) -> int:
    """The null of a field of a row."""
    return NULL if _place(target)[1] == _WIDE else NOT_TOLD.get(target, 0)


def _copy_kind(target: str, source: FieldLayout, take: Take) -> str | None:
    """The kind of copy that does it; None: it takes a change."""
    width = _place(target)[1]
    unchanged = (take.add, take.shift, take.mask, take.fill, _factor(source, take)) == (0, 0, -1, None, 1)
    if not unchanged or source.kind is ValueKind.STRING:
        return None
    if source.size < width < _WIDE and _null(target) == 0 and not source.primitive.is_signed:
        return str(8 * source.size) if not source.null else None  # into the low bytes: those above are 0
    if source.size != width:
        return None
    if width == _WIDE and source.null == 0:
        return "64_zero"
    return str(8 * width) if source.null in (None, _null(target)) else None


def _change(target: str, source: FieldLayout, take: Take) -> tuple[int, ...]:
    place, width = _place(target)
    factor = _factor(source, take)
    null = NULL if source.null is None else int(source.null)
    if source.kind is ValueKind.STRING:
        null = 0  # without a character
    values = {
        "source": source.offset,
        "width": source.size,
        "spread": 64 - 8 * source.size if source.primitive.is_signed else 0,
        "null": null - (1 << 64) if null > _MOST else null,
        "fill": _null(target) if take.fill is None else take.fill,
        "most": _MOST // factor,
        "shift": take.shift,
        "mask": take.mask,
        "factor": factor,
        "add": take.add,
        "target": place,
        "target_width": width,
    }
    return tuple(values[name] for name in CHANGE_FIELDS)


def _factor(source: FieldLayout, take: Take) -> int:
    places = 0 if take.exponent is None else source.exponent - take.exponent
    if places < 0:
        raise SchemaError(f"field {source.name!r} has more places than a row keeps")
    return int(10**places)


def _dimension(dimension: Dimension) -> dict[str, int]:
    return {
        "dimension_size": dimension.size,
        "length_at": dimension.block_length_offset,
        "length_width": dimension.block_length.size,
        "count_at": dimension.num_in_group_offset,
        "count_width": dimension.num_in_group.size,
    }


def _most_entries(dimension: Dimension) -> int:
    return int(min(dimension.num_in_group.maximum, _MOST_BYTES))
