"""`pregao tables`, `query`, `compact`, `vacuum`, `pack`, `doctor`: arguments, output, exit status."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pregao.cli.main import main
from pregao.jobs import packing
from pregao.lake.verbs.query import SparkQuery
from tests.unit.lake.kit import Kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    kit = Kit(tmp_path)
    kit.commit(kit.file("orders"))
    kit.commit(kit.file("orders"))
    return kit


@pytest.fixture
def shared_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands stop their session when they are done; that of the tests goes on."""
    monkeypatch.setattr(SparkQuery, "_session", lambda self: spark)


def test_tables(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", "--lake", kit.location.uri, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    rows = {row["table"]: row for row in map(json.loads, out.splitlines())}
    assert rows["orders"]["rows"] == 6
    assert err == "pregao: lake version 2\n"
    assert main(["tables", "--lake", kit.location.uri, "--as-of", "1", "--versions"]) == 0
    assert "build" in capsys.readouterr().out
    assert main(["tables", "orders", "--lake", kit.location.uri]) == 0
    assert "decimal(18,4)" in capsys.readouterr().out


def test_no_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["tables"], ["query", "select 1"], ["compact"], ["vacuum"]):
        assert main([*command, "--lake", str(tmp_path / "x")]) == 2
        assert "there is no lake here" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.usefixtures("shared_spark")
@pytest.mark.parametrize("engine", [[], ["--engine", "spark"]])
def test_query(kit: Kit, tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: list[str]) -> None:
    sql = "select count(*) as n from orders"
    common = ["--lake", kit.location.uri, *engine]
    assert main(["query", sql, *common, "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("n\n6\n", "pregao: 1 row of lake version 2\n")
    target = tmp_path / "out.parquet"
    args = ["--as-of", "1", "--format", "parquet", "--out", str(target)]
    assert main(["query", sql, *common, *args]) == 0
    assert pq.read_table(target).to_pylist() == [{"n": 3}]
    text = tmp_path / "out.json"
    assert main(["query", sql, *common, "--format", "json", "--out", str(text)]) == 0
    assert text.read_text() == '{"n": 6}\n'
    capsys.readouterr()
    assert main(["query", "select x from orders", *common]) == 2
    assert capsys.readouterr().err.startswith(
        "pregao: [UNRESOLVED_COLUMN" if engine else "pregao: Binder Error"
    )


def test_the_name_of_a_file_says_its_format(kit: Kit, tmp_path: Path) -> None:
    for suffix in (".parquet", ".arrow", ".feather", ".csv", ".json", ".txt"):
        out = tmp_path / f"out{suffix}"
        assert main(["query", "select 7 as n", "--lake", kit.location.uri, "--out", str(out)]) == 0
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [{"n": 7}]
    for name in ("out.arrow", "out.feather"):
        assert pa.ipc.open_file(tmp_path / name).read_all().to_pylist() == [{"n": 7}]
    texts = [(tmp_path / f"out.{suffix}").read_text() for suffix in ("csv", "json", "txt")]
    assert texts == ["n\n7\n", '{"n": 7}\n', "n\n─\n7\n"]


def test_a_master_is_not_of_duckdb(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--engine", "duckdb", "--master", "local[1]"]
    assert main(["query", "select 1", "--lake", kit.location.uri, *args]) == 2
    assert "are of Spark" in capsys.readouterr().err


def test_compact_and_vacuum(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    lake = ["--lake", kit.location.uri]
    assert main(["compact", *lake]) == 0
    assert "2 files are now 1" in capsys.readouterr().err
    assert main(["compact", *lake, "--no-progress"]) == 0
    assert capsys.readouterr().err == "pregao: nothing to do\n"
    assert main(["compact", *lake, "--table", "order"]) == 2
    assert "there is no table 'order'" in capsys.readouterr().err
    every = ["--keep-days", "0", "--orphan-days", "0"]
    assert main(["vacuum", *lake, *every, "--dry-run"]) == 0
    planned, talk = capsys.readouterr()
    assert "would delete" in talk
    assert main(["vacuum", *lake, *every]) == 0
    assert capsys.readouterr().out == planned
    assert len([line for line in planned.splitlines() if line.startswith("orders/")]) == 2
    assert kit.count("orders") == 6


@pytest.mark.parametrize("days", ["-1", "x", "nan"])
def test_days_that_are_none(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["vacuum", "--lake", "x", "--keep-days", days])
    assert "is not a number of days" in capsys.readouterr().err


def test_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(packing, "_members", lambda: iter([("x", Path(__file__))]))
    assert main(["pack", "--out", str(tmp_path / "e.tar.gz")]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'e.tar.gz'}\n"
    assert "2 files" in err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "✓ python" in capsys.readouterr().out
    assert main(["doctor", "--format", "json"]) == 0
    assert all(json.loads(line)["what"] for line in capsys.readouterr().out.splitlines())
