"""What the commands on a lake do, without the commands."""

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pregao.lake.errors import LakeDamagedError, LakeError, NoLakeError, QueryError
from pregao.lake.verbs.formats import as_csv, as_json, as_parquet, as_table
from pregao.lake.verbs.overview import describe, overview
from pregao.lake.verbs.query import Query, tables_in
from tests.unit.lake.kit import Kit

RESULT = pa.table(
    {
        "symbol": ["PETR4", None],
        "price": pa.array([Decimal("38.2550"), None], pa.decimal128(18, 4)),
        "size": [100, 2],
        "day": [date(2026, 11, 16), None],
        "time": pa.array([datetime(2026, 11, 16, 13, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "path": [[Decimal("1.5")], []],
        "text": ["a\nb, c", "x" * 100],
    }
)


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    kit = Kit(tmp_path)
    kit.commit(kit.file("orders", security=1), kit.file("trades", security=2))
    kit.commit(kit.file("orders", security=2))
    return kit


class Session:
    """Query with the session of the tests, which must survive it."""

    def __init__(self, kit: Kit, spark: Any, as_of: int | None = None) -> None:
        self.query = Query(kit.location.uri, as_of=as_of)
        self.query._session = lambda: spark  # type: ignore[method-assign]

    def __call__(self, sql: str) -> Any:
        return self.query.run(sql)


def test_csv() -> None:
    assert "".join(as_csv(RESULT)).split("\n", 1) == [
        "symbol,price,size,day,time,path,text",
        'PETR4,38.2550,100,2026-11-16,2026-11-16T13:00:00+00:00,"[""1.5""]","a\nb, c"\n'
        f",,2,,,[],{'x' * 100}\n",
    ]
    assert "".join(as_csv(RESULT.slice(0, 0))) == "symbol,price,size,day,time,path,text\n"


def test_json() -> None:
    first = "".join(as_json(RESULT)).splitlines()[0]
    assert first == (
        '{"symbol": "PETR4", "price": "38.2550", "size": 100, "day": "2026-11-16",'
        ' "time": "2026-11-16T13:00:00+00:00", "path": ["1.5"], "text": "a\\nb, c"}'
    )


def test_table_for_people() -> None:
    lines = "".join(as_table(RESULT.select(["symbol", "price", "text"]))).splitlines()
    assert lines[0] == "symbol    price  text"
    assert lines[2] == "PETR4   38.2550  a⏎b, c"
    assert lines[3].endswith("x…")
    assert len(lines) == 4


def test_parquet() -> None:
    assert pq.read_table(io.BytesIO(as_parquet(RESULT))).equals(RESULT)


def test_a_query_sees_one_version(kit: Kit, spark: Any) -> None:
    sql = "select security_id, count(*) as n from orders group by security_id order by security_id"
    assert Session(kit, spark)(sql).to_pylist() == [{"security_id": 1, "n": 3}, {"security_id": 2, "n": 3}]
    assert Session(kit, spark, as_of=1)(sql).to_pylist() == [{"security_id": 1, "n": 3}]
    joined = Session(kit, spark)("select count(*) n from ORDERS o join trades t using (security_id)")
    assert joined.to_pylist() == [{"n": 9}]
    assert Session(kit, spark)("select count(*) n from quotes").to_pylist() == [{"n": 0}]


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("selec 1", "PARSE_SYNTAX_ERROR"),
        ("select nothing from orders", "UNRESOLVED_COLUMN"),
        ("select * from no_such", "TABLE_OR_VIEW_NOT_FOUND"),
        ("select raise_error('oh') from orders", "oh"),
    ],
)
def test_a_query_spark_refuses_is_told_in_a_sentence(kit: Kit, spark: Any, sql: str, complaint: str) -> None:
    with pytest.raises(QueryError, match=complaint) as error:
        Session(kit, spark)(sql)
    assert "\n" not in str(error.value)
    assert "at org." not in str(error.value)


def test_a_query_over_a_damaged_file_names_it(kit: Kit, spark: Any) -> None:
    session = Session(kit, spark)
    path = Path(kit.location.path("orders", kit.lake().files("orders")[0].path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(LakeDamagedError) as error:
        session("select sum(quality) from orders")
    assert error.value.file == str(path)


def test_names_of_tables_in_a_query() -> None:
    assert set(tables_in("SELECT * FROM Orders o, `trades` JOIN trades_clean")) == {
        "orders", "trades", "trades_clean",
    }  # fmt: skip


def test_a_wrong_path_is_said_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(NoLakeError):
        Query(str(tmp_path))


def test_overview(kit: Kit) -> None:
    found = overview(kit.location.uri)
    rows = {row["table"]: row for row in found.tables.to_pylist()}
    assert (rows["orders"]["rows"], rows["orders"]["first_date"]) == (6, date(2026, 11, 16))
    assert (rows["quotes"]["rows"], rows["quotes"]["first_date"]) == (0, None)
    assert found.versions["version"].to_pylist() == [1, 2]
    assert overview(kit.location.uri, as_of=1).version == 1
    assert describe("orders").num_rows == kit.lake().arrow("orders").num_columns
    with pytest.raises(LakeError, match="no table"):
        describe("order")
