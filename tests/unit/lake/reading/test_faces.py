"""Every face of a lake (pandas, Polars, DuckDB, Spark) gives the values that Arrow gives, in every column of
every table, the extreme ones and nulls among them; and times are UTC, whatever the machine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pregao.lake.lake import Lake
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import write_file
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from tests.kits.lake_rows import PARTITION
from tests.unit.lake.values import columns

NAMES = sorted(DATA_TABLES)
AWAY = "America/Sao_Paulo"
# Which rows are of Monday, 10:00 UTC on: by a text without a zone, which an engine reads in the session's.
_SINCE = '''
import json, sys
from pregao.lake.lake import Lake
row = Lake(sys.argv[1]).to_duckdb().execute("""
    select count(*), min(cast(time as varchar)), min(cast(time as date)), min(hour(time))
    from trades where time >= '2026-11-16 10:00:00'
""").fetchone()
print(json.dumps([str(each) for each in row]))
'''


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    location = Location(tmp_path_factory.mktemp("faces") / "lake")
    adds = []
    for table in DATA_TABLES.values():
        rows = pa.table(columns(table), schema=table.stored_schema)
        partition = {name: PARTITION[name] for name in table.partitions}
        adds.append(write_file(location, table, partition, rows))
    Committer(location).commit(Change(tuple(adds)), Label("build", "b"))
    return Lake(location)


def _plain(value: Any) -> Any:
    """A value of any face as Python has it: what is no value is None."""
    import pandas

    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if hasattr(value, "asDict"):
        return _plain(value.asDict())
    if hasattr(value, "tolist") and not isinstance(value, bytes) and hasattr(value, "dtype"):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if value is pandas.NA or value is pandas.NaT:
        return None
    if isinstance(value, pandas.Timestamp):
        return value.to_pydatetime()
    return value


def _compare(lake: Lake, name: str, found: dict[str, list[Any]]) -> None:
    expected = lake.arrow(name).to_pydict()
    assert list(found) == list(expected), name
    for column, values in expected.items():
        plain = [_plain(value) for value in found[column]]
        assert plain == values, (name, column)
        assert [type(value) for value in plain] == [type(value) for value in values], (name, column)


@pytest.mark.parametrize("name", NAMES)
def test_pandas(lake: Lake, name: str) -> None:
    frame = lake.to_pandas(name)
    _compare(lake, name, {column: list(frame[column]) for column in frame.columns})


def test_types_of_pandas_do_not_depend_on_the_rows(lake: Lake) -> None:
    for name in NAMES:
        some, none = lake.to_pandas(name), lake.to_pandas(name, where={"trade_date": "2001-01-01"})
        assert dict(some.dtypes) == dict(none.dtypes), name
        floats = lake.to_pandas(name, floats=True)
        assert dict(floats.dtypes) == dict(lake.to_pandas(name, where="channel = 0", floats=True).dtypes)
    assert str(lake.to_pandas("orders")["order_id"].dtype) == "Int64"
    assert str(lake.to_pandas("orders", floats=True)["price"].dtype) == "float64"


@pytest.mark.parametrize("name", NAMES)
def test_polars(lake: Lake, name: str) -> None:
    _compare(lake, name, lake.to_polars(name).to_dict(as_series=False))


@pytest.mark.parametrize("name", NAMES)
def test_lazy_polars(lake: Lake, name: str) -> None:
    _compare(lake, name, lake.scan_polars(name).collect().to_dict(as_series=False))


def test_lazy_polars_filters_as_arrow_does(lake: Lake) -> None:
    import polars

    where = {"symbol": "PETR4"}
    found = lake.scan_polars("trades", where).filter(polars.col("size") == 1).select("trade_id", "price")
    expected = lake.arrow("trades", {"symbol": "PETR4", "size": 1}, columns=["trade_id", "price"])
    assert found.collect().to_dict(as_series=False) == expected.to_pydict()
    assert expected.num_rows == 1


@pytest.mark.parametrize("name", NAMES)
def test_duckdb(lake: Lake, name: str) -> None:
    """As Arrow, and as Python objects."""
    database = lake.to_duckdb()
    _compare(lake, name, database.sql(f"from {name}").to_arrow_table().to_pydict())
    rows = database.sql(f"from {name}").fetchall()
    names = lake.arrow(name).column_names
    _compare(lake, name, {each: [row[index] for row in rows] for index, each in enumerate(names)})


@pytest.mark.parametrize("name", NAMES)
def test_spark(lake: Lake, name: str, spark: Any) -> None:
    """By its own files' order, which Spark keeps for one file."""
    frame = Lake(lake.location, spark).table(name)
    _compare(lake, name, frame.toArrow().to_pydict())


def test_times_of_duckdb_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    table, location = DATA_TABLES["trades"], Location(tmp_path / "lake")
    rows = columns(table)
    rows["time"] = [datetime(2026, 11, 16, hour, 30, tzinfo=UTC) for hour in (8, 9, 10, 13)]
    added = write_file(location, table, PARTITION, pa.table(rows, schema=table.stored_schema))
    Committer(location).commit(Change((added,)), Label("build", "b"))
    answers = []
    for zone in ("UTC", AWAY, "Asia/Tokyo"):
        done = subprocess.run(
            [sys.executable, "-c", _SINCE, location.uri], env=os.environ | {"TZ": zone}, capture_output=True,
            text=True, check=True, timeout=120,
        )  # fmt: skip
        answers.append(json.loads(done.stdout))
    assert answers == [["2", "2026-11-16 10:30:00+00", "2026-11-16", "10"]] * 3


def test_a_session_of_spark_that_has_no_zone_of_its_own_is_told_utc(lake: Lake, spark: Any) -> None:
    """A session takes the machine's zone unless somebody says one: then that is meant."""
    key = "spark.sql.session.timeZone"
    before = spark.conf.get(key)
    other = spark.newSession()
    try:
        other.conf.unset(key)
        Lake(lake.location, other)
        assert other.conf.get(key) == "UTC"
        other.conf.set(key, AWAY)
        Lake(lake.location, other)
        assert other.conf.get(key) == AWAY
    finally:
        spark.conf.set(key, before)
