"""The plan of a schema says the same as its layouts, version by version."""

from collections.abc import Iterator

import numpy as np
import pytest

from pregao.codecs.sbe import Schema, load_builtin_schema
from pregao.codecs.sbe.kernel_tables import (
    ENTRY_COLUMN,
    ENTRY_OFFSET,
    ENTRY_WIDTH,
    LAYOUT_ENTRY,
    LAYOUT_ENTRY_END,
    LAYOUT_FULL_LENGTH,
    LAYOUT_STEP,
    LAYOUT_STEP_END,
    LAYOUT_TABLE,
)
from pregao.codecs.sbe.layout import BlockLayout
from pregao.codecs.sbe.plan import SbePlan, SchemaTable, make_plan
from pregao.codecs.sbe.values import leaves
from pregao.model.errors import SchemaError
from tests.kits.sbe_schemas import load, message
from tests.twins.foreign import foreign

SCHEMAS = {
    "b3": load_builtin_schema,
    "little": lambda: foreign("littleEndian", False),
    "big": lambda: foreign("bigEndian", True),
}


def placed(plan: SbePlan) -> Iterator[tuple[SchemaTable, BlockLayout, int]]:
    """Every block of every version with its table and epoch."""
    for epoch, version in enumerate(plan.schema.breakpoints):
        for template, layout in plan.schema.at(version).messages.items():
            table = plan.tables[int(plan.root_of_template[template])]
            yield from blocks(table, layout, epoch)


def blocks(
    table: SchemaTable, layout: BlockLayout, epoch: int
) -> Iterator[tuple[SchemaTable, BlockLayout, int]]:
    yield table, layout, epoch
    for group in layout.groups:
        if group.present:
            child = next(t for t in table.groups if t.name == f"{table.name}.{group.name}")
            yield from blocks(child, group, epoch)


@pytest.mark.parametrize("name", SCHEMAS)
def test_layouts_have_every_leaf_at_its_place(name: str) -> None:
    plan = make_plan(SCHEMAS[name]())
    for table, layout, epoch in placed(plan):
        row = plan.layouts[plan.layout_of[table.index, epoch]]
        entries = plan.entries[row[LAYOUT_ENTRY // 8] : row[LAYOUT_ENTRY_END // 8]]
        columns = {column.index: column.name.split(".")[-1] for column in table.columns}
        places = entries[:, [ENTRY_COLUMN // 8, ENTRY_OFFSET // 8, ENTRY_WIDTH // 8]].tolist()
        given = {(columns[column], offset, width) for column, offset, width in places}
        wire = [leaf for field in layout.fields for leaf in leaves(field) if leaf.present]
        assert given == {(leaf.name, leaf.offset, leaf.size) for leaf in wire}
        assert row[LAYOUT_TABLE // 8] == table.index
        ends = [field.offset + field.size for field in layout.fields if field.present]
        assert row[LAYOUT_FULL_LENGTH // 8] == max(ends, default=0)
        steps = len([g for g in layout.groups if g.present]) + len(layout.data)
        assert row[LAYOUT_STEP_END // 8] - row[LAYOUT_STEP // 8] == steps


@pytest.mark.parametrize("name", SCHEMAS)
def test_versions_and_templates(name: str) -> None:
    schema: Schema = SCHEMAS[name]()
    plan = make_plan(schema)
    for version in (*range(300), 65_535):
        assert plan.epoch_of_version[version] == schema.epoch(version)
        assert plan.version_known[version] == schema.knows(version)
    known = {message.id for message in schema.messages}
    assert set(np.flatnonzero(plan.root_of_template).tolist()) == known
    for epoch, version in enumerate(schema.breakpoints):
        for template in known:
            there = plan.layout_of[plan.root_of_template[template], epoch] >= 0
            assert there == (template in schema.at(version).messages)


def test_a_column_knows_its_leaf_in_each_version_that_has_it() -> None:
    schema = load(
        messages='<sbe:message name="M" id="1"><field name="a" id="1" type="uint8"/>'
        '<field name="b" id="2" type="uint8" sinceVersion="3"/></sbe:message>'
    )
    plan = make_plan(schema)
    first, second = plan.tables[1].columns
    assert sorted(first.by_epoch) == [0, 1, 2]  # breakpoints: 0, 3 and the schema's own version
    assert sorted(second.by_epoch) == [1, 2]
    assert second.ends == {1: 2, 2: 2}


def test_a_column_is_described_as_the_newest_version_has_it() -> None:
    columns = [column for table in make_plan(load_builtin_schema()).tables for column in table.columns]
    for column in columns:
        newest = column.by_epoch[max(column.by_epoch)] if column.by_epoch else column.leaf
        assert column.leaf is newest


def test_groups_and_data_have_tables_and_columns_of_their_own() -> None:
    plan = make_plan(foreign("littleEndian", False))
    names = {table.name: table for table in plan.tables}
    inner = names["Odd.outer.middle.inner"]
    assert inner.parent == names["Odd.outer.middle"].index
    assert [data.name for data in inner.data] == ["d"]
    assert [data.index for data in plan.data_columns] == list(range(len(plan.data_columns)))
    assert names["Everything.legs"].template_id == names["Everything"].template_id == 1


def test_versions_that_are_alike_share_their_layouts() -> None:
    plan = make_plan(load_builtin_schema())
    used = {int(number) for number in plan.layout_of.flat if number >= 0}
    blocks_of_all_versions = sum(1 for _ in placed(plan))
    assert len(plan.layouts) < blocks_of_all_versions / 2
    assert max(used) < len(plan.layouts)


TYPES = """
<composite name="Four">
  <type name="mantissa" primitiveType="int64"/>
  <type name="exponent" primitiveType="int8" presence="constant">-4</type>
</composite>
<composite name="Eight">
  <type name="mantissa" primitiveType="int64"/>
  <type name="exponent" primitiveType="int8" presence="constant">-8</type>
</composite>
"""


@pytest.mark.parametrize(("old", "new"), [("uint8", "uint16"), ("int64", "uint64"), ("Four", "Eight")])
def test_a_field_that_changes_its_type_is_refused(old: str, new: str) -> None:
    body = (
        f'<field name="a" id="1" type="{old}" h:untilVersion="3"/>'
        f'<field name="a" id="1" type="{new}" sinceVersion="3" offset="0"/>'
    )
    with pytest.raises(SchemaError, match="changes its type"):
        make_plan(message(body, types=TYPES))


def test_the_first_table_is_that_of_the_unknown() -> None:
    plan = make_plan(load_builtin_schema())
    assert plan.tables[0].name == "unknown"
    assert [column.name for column in plan.tables[0].columns] == ["template_id"]
    assert not plan.is_group(0)
