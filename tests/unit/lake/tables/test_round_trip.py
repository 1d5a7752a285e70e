"""What is written is what Arrow, Spark, DuckDB and Polars read: every table, with extremes and nulls."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pregao.lake.lake import Lake
from pregao.lake.store.files import FileWriter
from pregao.lake.tables.catalogue import DATA_TABLES, TABLES
from tests.unit.lake.kit import MONDAY, Kit
from tests.unit.lake.values import columns

DATE = date(2026, 11, 16)


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """Every table with four rows, written as builders do: decimals over int64, words as dictionaries."""
    kit = Kit(tmp_path_factory.mktemp("round"))
    files = []
    for table in DATA_TABLES.values():
        batch = pa.RecordBatch.from_pydict(columns(table), schema=table.written_schema)
        with FileWriter(kit.location, table, MONDAY) as writer:
            writer.write(batch)
        files.append(writer.file)
    kit.commit(*files)
    return kit


def expected(name: str) -> list[dict[str, Any]]:
    table = TABLES[name]
    values = columns(table)
    partition = {"system": "binary", "trade_date": DATE, "source": "84"}
    return [{**partition, **{key: each[row] for key, each in values.items()}} for row in range(4)]


@pytest.mark.parametrize("name", sorted(DATA_TABLES))
def test_arrow(kit: Kit, name: str) -> None:
    found = kit.lake().arrow(name)
    assert found.schema.equals(TABLES[name].schema)
    assert found.to_pylist() == expected(name)


def test_spark_has_the_same_types_and_the_same_rows(kit: Kit, spark: Any) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    from pregao.lake.reading.sparkframes import spark_schema

    lake = Lake(kit.location, spark)
    for name, table in TABLES.items():
        arrow = from_arrow_schema(table.schema, prefer_timestamp_ntz=False)
        declared = [(field.name, field.dataType.simpleString()) for field in spark_schema(table)]
        assert declared == [(field.name, field.dataType.simpleString()) for field in arrow]
        read = [(field.name, field.dataType.simpleString()) for field in lake.table(name).schema]
        assert read == declared
    for name in ("orders", "statistics", "instruments", "depth", "bars"):
        assert lake.table(name).toArrow().to_pylist() == expected(name)


def test_duckdb_and_polars(kit: Kit) -> None:
    lake = kit.lake()
    database = lake.to_duckdb()
    query = (
        "select system, trade_date, source, action, price, size, ts_event from trades"
        " order by ts_event nulls last"
    )
    rows = database.sql(query).fetchall()
    names = ("system", "trade_date", "source", "action", "price", "size", "ts_event")
    wanted = [tuple(row[key] for key in names) for row in expected("trades")]
    assert sorted(rows, key=str) == sorted(wanted, key=str)
    assert database.sql("select count(*) from commits").fetchall() == [(len(DATA_TABLES),)]
    database.close()
    frame = lake.to_polars("orders")
    assert frame.rows(named=True)[2]["price"] == expected("orders")[2]["price"]
    assert frame["price"].null_count() == 1


def test_pandas(kit: Kit) -> None:
    exact = kit.lake().to_pandas("orders", columns=["price", "side"])
    assert list(exact["price"])[:3] == [row["price"] for row in expected("orders")][:3]
    rounded = kit.lake().to_pandas("orders", floats=True)
    assert rounded["price"].dtype == "float64"
    assert rounded["price"][2] == 38.255


def test_files_are_as_the_design_wants_them(kit: Kit) -> None:
    file = kit.lake().files("orders")[0]
    metadata = pq.read_metadata(kit.location.path("orders", file.path))
    group = metadata.row_group(0)
    found = {group.column(index).path_in_schema: group.column(index) for index in range(group.num_columns)}
    assert found["price"].physical_type == "INT64"
    assert found["price"].compression == "ZSTD"
    assert "DELTA_BINARY_PACKED" in found["ts_event"].encodings
    assert "RLE_DICTIONARY" in found["side"].encodings
    assert not {"system", "trade_date", "source"} & set(found)
    assert found["channel"].statistics.has_min_max
    assert file.path.startswith("system=binary/trade_date=2026-11-16/source=84/")


def test_null_where_none_may_be_is_refused(tmp_path: Path) -> None:
    from pregao.lake.errors import LakeError

    table = TABLES["orders"]
    values = {**columns(table), "quality": [0, 0, 0, None]}
    batch = pa.RecordBatch.from_pydict(values, schema=table.written_schema)
    kit = Kit(tmp_path)
    with pytest.raises(LakeError, match="null"), FileWriter(kit.location, table, MONDAY) as writer:
        writer.write(batch)
    assert list(kit.location.files("orders")) == []
