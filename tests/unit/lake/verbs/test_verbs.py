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
from pregao.lake.verbs.formats import as_arrow, as_csv, as_json, as_parquet, as_table, describe, overview
from pregao.lake.verbs.query import ENGINES, SPARK, SparkQuery, open_query, tables_in
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
    """Asks either engine; Spark with the session of the tests, which must survive it."""

    def __init__(
        self, kit: Kit, request: pytest.FixtureRequest, engine: str, as_of: int | None = None
    ) -> None:
        self.query = open_query(kit.location.uri, engine=engine, as_of=as_of or None)
        if isinstance(self.query, SparkQuery):
            spark = request.getfixturevalue("spark")
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


def test_arrow() -> None:
    assert pa.ipc.open_file(as_arrow(RESULT)).read_all().equals(RESULT)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_sees_one_version(kit: Kit, request: pytest.FixtureRequest, engine: str) -> None:
    now, before = Session(kit, request, engine), Session(kit, request, engine, as_of=1)
    sql = "select security_id, count(*) as n, sum(security_id) as s from orders group by 1 order by 1"
    assert now(sql).to_pylist() == [{"security_id": 1, "n": 3, "s": 3}, {"security_id": 2, "n": 3, "s": 6}]
    assert now(sql).schema.types == [pa.int64()] * 3
    assert before(sql).to_pylist() == [{"security_id": 1, "n": 3, "s": 3}]
    assert now("select count(*) n from ORDERS o join trades t using (security_id)").to_pylist() == [{"n": 9}]
    assert now("select count(*) n from quotes").to_pylist() == [{"n": 0}]


@pytest.mark.parametrize(
    ("engine", "sql", "complaint"),
    [
        ("spark", "selec 1", "PARSE_SYNTAX_ERROR"),
        ("spark", "select nothing from orders", "UNRESOLVED_COLUMN"),
        ("spark", "select * from no_such", "TABLE_OR_VIEW_NOT_FOUND"),
        ("spark", "select raise_error('oh') from orders", "oh"),
        ("duckdb", "selec 1", "syntax error"),
        ("duckdb", "select nothing from orders", 'column "nothing" not found'),
        ("duckdb", "select * from no_such", "no_such does not exist"),
        ("duckdb", "select error('oh') from orders", "oh"),
    ],
)
def test_a_query_that_is_refused_is_told_in_a_sentence(
    kit: Kit, request: pytest.FixtureRequest, engine: str, sql: str, complaint: str
) -> None:
    with pytest.raises(QueryError, match=complaint) as error:
        Session(kit, request, engine)(sql)
    assert "\n" not in str(error.value)
    assert "at org." not in str(error.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_over_a_damaged_file_names_it(kit: Kit, request: pytest.FixtureRequest, engine: str) -> None:
    session = Session(kit, request, engine)
    path = Path(kit.location.path("orders", kit.lake().files("orders")[0].path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(LakeDamagedError) as error:
        session("select sum(quality) from orders")
    assert error.value.file == str(path)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["la:ke{a,b}*[x]", "la ke #?4", "5% de 'Araruama'"])
def test_a_lake_of_any_name(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, engine: str, name: str
) -> None:
    """Spark reads patterns and schemes out of paths, and makes a folder where it is started."""
    kit = Kit(tmp_path / name)
    kit.commit(kit.file("orders"), kit.file("trades"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    found = Session(kit, request, engine)("select count(*) n, min(channel) c from orders").to_pylist()
    assert found == [{"n": 3, "c": 84}]
    assert list(elsewhere.iterdir()) == []


def test_names_of_tables_in_a_query() -> None:
    assert set(tables_in("SELECT * FROM Orders o, `trades` JOIN trades_clean")) == {
        "orders", "trades", "trades_clean",
    }  # fmt: skip


def test_a_wrong_path_is_said_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(NoLakeError):
        open_query(str(tmp_path), engine=SPARK)


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
