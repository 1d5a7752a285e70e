"""docs/tables.md is what the schemas say, every column has a unit and an example of its type, and the
Delta tables carry the same words."""

import json
import os
import re
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.page import comment_of, example_of, section_of, tables_page, unit_of
from tests.unit.lake.kit import Kit

PAGE = Path(__file__).parents[4] / "docs" / "tables.md"
COLUMNS = [(table, column) for table in TABLES.values() for column in table.columns]


def test_the_page_is_what_the_schemas_say() -> None:
    if os.environ.get("WRITE_PAGES"):
        PAGE.write_text(tables_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == tables_page()


def test_every_table_and_column_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for table in TABLES.values():
        part = text.split(f"\n## {table.name}\n")[1].split("\n## ")[0]
        found = re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
        assert found == [column.name for column in table.columns], table.name
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(lines) == len(COLUMNS)
    assert all(len(re.split(r"(?<!\\) \| ", line)) == 6 for line in lines)


def test_an_example_is_of_the_type_of_its_column() -> None:
    for table, column in COLUMNS:
        example, type_ = example_of(column), column.type.arrow
        if column.words:
            assert example in column.words
        value: Any = example
        if pa.types.is_decimal(type_):
            value = Decimal(example)
        elif pa.types.is_date(type_):
            value = date.fromisoformat(example)
        elif pa.types.is_timestamp(type_):
            value = datetime.fromisoformat(example)
        elif pa.types.is_list(type_):
            value = json.loads(example)
        assert pa.scalar(value, type_).as_py() is not None, (table.name, column.name)


@pytest.mark.parametrize(
    ("name", "column", "unit", "section"),
    [
        ("orders", "price", "price", "12.1"), ("orders", "ts_inserted", "ns since 1970, UTC", "12.1"),
        ("trades", "sub_type", "word", "13.3.2"), ("trades", "condition", "bits", "13.3.1"),
        ("trades", "ts_recv_a", "ns since 1970, UTC", ""), ("bands", "low_percent", "percent", "13.11"),
        ("depth", "offer_orders_10", "count", "12.1.1"), ("latency", "send_to_receive_p99", "ns", ""),
        ("bars", "interval", "ns", "13.8"), ("daily", "b3_close", "price", "13.9.3"),
        ("packets", "size", "bytes", "6.5.5"), ("instruments", "maturity_date", "date", "6.4"),
    ],
)  # fmt: skip
def test_units_and_sections(name: str, column: str, unit: str, section: str) -> None:
    table = TABLES[name]
    found = table.by_name[column]
    assert (unit_of(found), section_of(table, found)) == (unit, section)


def test_delta_tables_have_comments(tmp_path: Path) -> None:
    from deltalake import DeltaTable

    kit = Kit(tmp_path)
    kit.commit(kit.file("orders"))
    kit.commit(kit.file("orders"))
    delta = DeltaTable(kit.location.full("orders"))
    comments = {field.name: field.metadata.get("comment") for field in delta.schema().fields}
    assert comments == {column.name: comment_of(column) for column in TABLES["orders"].columns}
    assert comments["side"] == "one of BUY, SELL [word]"
    assert kit.count("orders") == 6
