"""`pregao query`: DuckDB answers at once, and as Spark does."""

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pregao.lake.verbs.query import DuckQuery, SparkQuery
from tests.kits.lakes import build, make_days

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/lake.md", "docs/commands.md", "src/pregao/cli/query.py")
_BLOCK = re.compile(r"```sql\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(r"pregao query \"(.+?)\"")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    (day,) = make_days(tmp_path_factory.mktemp("days"), seed=7, faults="both=3", loops=8, messages=2_000)
    path = tmp_path_factory.mktemp("lakes") / "lake"
    build([day], path, derive=True)
    return str(path)


@pytest.fixture(scope="module")
def spark_query(lake: str, spark: Any) -> SparkQuery:
    query = SparkQuery(lake)
    query._session = lambda: spark  # type: ignore[method-assign]
    return query


def documented() -> list[str]:
    """Of command lines, and those that stand by themselves but for what only DuckDB knows."""
    texts = [(ROOT / page).read_text() for page in PAGES]
    found = [sql for text in texts for sql in _COMMAND.findall(text)]
    found += [sql for text in texts for sql in _BLOCK.findall(text) if " asof " not in sql]
    return sorted({sql for sql in found if "…" not in sql})


# What people ask beside that: groups, windows, joins, times, decimals, nested values.
MORE = [
    "select symbol, trades, volume, vwap, b3_vwap, agrees from daily where trades > 0",
    "select finding, severity, count(*) as n from quality group by finding, severity",
    "select side, action, sum(size) as s, min(price) as p, max(time) as t from orders group by side, action",
    "select o.symbol, count(distinct o.order_id) as orders, count(distinct t.trade_id) as trades"
    " from orders o left join trades t on o.security_id = t.security_id group by o.symbol",
    "select symbol, price, lag(price) over (partition by security_id order by ts_event, trade_id) as before"
    " from trades_clean",
    "select trade_date, time, bid_price, offer_price, offer_price - bid_price as spread from quotes"
    " where time >= timestamp '2026-11-16 11:00:00' and quality = 0",
    "select kind, symbol, path, extensions from auctions",
    "select feed, max(send_to_receive_p99) as p99, avg(packets) as packets from latency group by feed",
    "select symbol, legs, underlyings, lots from instruments",
]


def test_the_documents_have_queries() -> None:
    assert len(documented()) >= 10


@pytest.mark.parametrize("sql", [*documented(), *MORE])
def test_both_engines_give_the_same_rows(lake: str, spark_query: SparkQuery, sql: str) -> None:
    ours, sparks = DuckQuery(lake).run(sql), spark_query.run(sql)
    assert [name.split("(")[0].removesuffix("_star") for name in ours.column_names] == [
        name.split("(")[0] for name in sparks.column_names
    ]
    rounded = {
        index for index, types in enumerate(zip(ours.schema.types, sparks.schema.types, strict=True))
        if any(pa.types.is_floating(each) for each in types)
    }  # fmt: skip
    found, expected = (sorted(map(repr, _rows(table, rounded))) for table in (ours, sparks))
    assert found == expected
    assert found or "as of" in sql


def _rows(table: Any, rounded: set[int]) -> list[tuple[Any, ...]]:
    """Within their types: a quotient is a float to one engine and a decimal to the other, and decimals
    have other numbers of places."""
    named = table.rename_columns([str(index) for index in range(table.num_columns)])
    return [
        tuple(_plain(value, index in rounded) for index, value in enumerate(row.values()))
        for row in named.to_pylist()
    ]


def _plain(value: Any, is_rounded: bool) -> Any:
    if is_rounded:
        return None if value is None else f"{float(value):.4g}"
    return value.normalize() if isinstance(value, Decimal) else value


def test_an_answer_leaves_nothing_behind(lake: str, tmp_path: Path) -> None:
    """By a fresh process, in the folder it was started in."""
    command = [
        sys.executable, "-m", "pregao", "query", "select symbol, sum(size) from trades_clean group by symbol",
        "--lake", lake, "--format", "csv",
    ]  # fmt: skip
    asked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert asked.stdout.splitlines()[0].startswith("symbol,")
    assert list(tmp_path.iterdir()) == []


def test_a_query_by_duckdb_loads_neither_pandas_nor_kernels(lake: str) -> None:
    """They would take longer than the answer."""
    program = (
        "import sys; from pregao.cli.main import main;"
        " status = main(['query', sys.argv[2], '--lake', sys.argv[1], '--format', 'csv']);"
        " print(status, *sorted({'pandas', 'numba', 'pyspark', 'deltalake'} & sys.modules.keys()))"
    )
    sql = "select count(*) as n from trades"
    done = subprocess.run(
        [sys.executable, "-c", program, lake, sql], capture_output=True, text=True, check=True, timeout=60
    )
    rows = DuckQuery(lake).run(sql).column(0)[0].as_py()
    assert done.stdout.split() == ["n", str(rows), "0"]
