"""`spark.read.format("umdf")`: what `pregao decode` tells, as frames."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pregao.captures.columns import read_columns
from pregao.cli.main import main
from pregao.lake.source import register
from pregao.simulator.sample import write_sample

NAME = "084_Incremental_FeedA.pcap"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One capture plain and compressed, and the definitions, each in a folder of its own."""
    made = tmp_path_factory.mktemp("umdf")
    write_sample(made / "sample", messages=8_000)
    whole = (made / "sample" / NAME).read_bytes()
    (made / "packed").mkdir()
    (made / "packed" / f"{NAME}.gz").write_bytes(gzip.compress(whole))
    (made / "packed" / f"085{NAME[3:]}.zst").write_bytes(zstandard.ZstdCompressor().compress(whole))
    return made


@pytest.fixture(scope="module")
def umdf(spark: Any) -> Any:
    register(spark)
    return lambda **options: spark.read.format("umdf").options(**options)


def decoded(capsys: pytest.CaptureFixture[str], *paths: Path) -> list[dict[str, Any]]:
    assert main(["decode", "--format", "json", *map(str, paths)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def as_decoded(row: Any) -> dict[str, Any]:
    """A row of the frame in the words of `pregao decode`."""
    same = ("file", "packet", "channel", "seq_version", "seq_num", "template_id", "version", "name")
    fields = None if row["fields"] is None else json.loads(row["fields"])
    times = {"ts_ns": row["ts_recv"], "sending_time": row["ts_send"]}
    return {name: row[name] for name in same} | times | {"fields": fields}


def by_place(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def test_rows_are_what_decode_tells(umdf: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captures = sorted((folder / "sample").glob("*.pcap"))
    rows = umdf().load(str(folder / "sample")).collect()
    assert by_place([as_decoded(row) for row in rows]) == by_place(decoded(capsys, *captures))
    assert {row["fault"] for row in rows} == {None}
    assert {(row["stream"], row["feed"]) for row in rows if row["file"].endswith(NAME)} == {
        ("INCREMENTAL", "A")
    }
    named = [row for row in rows if row["security_id"] is not None]
    assert named
    assert all(json.loads(row["fields"])["securityID"] == row["security_id"] for row in named)


def test_what_is_wanted_is_said_by_options(
    umdf: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "sample" / NAME
    told = decoded(capsys, path)
    rows = umdf(template="Trade_53, 50").load(str(path)).collect()
    wanted = [each for each in told if each["template_id"] in (50, 53)]
    assert by_place([as_decoded(row) for row in rows]) == by_place(wanted)
    assert umdf(channel="84").load(str(path)).count() == len(told)
    assert umdf(channel="85,86").load(str(path)).count() == 0
    # A filter of Spark's own is Spark's own work: it must change nothing of another frame.
    frame = umdf().load(str(path))
    assert frame.where("template_id = 53").count() == sum(each["template_id"] == 53 for each in told)
    assert frame.count() == len(told)


def test_files_folders_patterns_and_compression(umdf: Any, folder: Path) -> None:
    path = folder / "sample" / NAME
    count = umdf().load(str(path)).count()
    assert umdf().load(str(folder / "packed")).count() == 2 * count
    assert umdf().load(str(folder / "packed" / "*.gz")).count() == count
    assert umdf().load([str(path), str(folder / "packed" / "085*")]).count() == 2 * count
    columns = umdf(message="Trade_53")
    trades = columns.load(str(path)).count()
    assert trades
    assert columns.load(str(folder / "packed" / "*.zst")).count() == trades


def test_a_message_with_its_own_columns(umdf: Any, folder: Path) -> None:
    path = folder / "sample" / NAME
    for given in ("Order_MBO_50", "50"):
        frame = umdf(message=given, rows="64").load(str(path))
        rows = [row.asDict() for row in frame.collect()]
        expected = [
            row for batch in read_columns(path) for row in batch.to_arrow()["Order_MBO_50"].to_pylist()
        ]
        assert [row.pop("file") for row in rows] == [str(path)] * len(expected)
        assert rows == expected
    assert dict(frame.dtypes)["mDEntryPx"] == "decimal(18,4)"
    assert dict(frame.dtypes)["securityID"] == "bigint"
    assert umdf(message="Order_MBO_50", channel="7").load(str(path)).count() == 0


def test_a_group_knows_where_its_message_came_from(umdf: Any, folder: Path) -> None:
    path = next((folder / "sample").glob("*InstrumentDefinition.pcap"))
    rows = umdf(message="SecurityDefinition_12.noUnderlyings").load(str(path)).collect()
    batch = next(iter(read_columns(path))).to_arrow()
    entries, messages = (
        batch[name].to_pylist() for name in ("SecurityDefinition_12.noUnderlyings", "SecurityDefinition_12")
    )
    expected = [
        (messages[entry["parent_row"]]["sequence_number"], entry["underlyingSecurityID"]) for entry in entries
    ]
    assert expected
    assert [(row["sequence_number"], row["underlyingSecurityID"]) for row in rows] == expected


def test_damage_is_a_row(umdf: Any, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    shutil.copy(folder / "sample" / NAME, path)
    whole = umdf().load(str(path)).count()
    path.write_bytes(path.read_bytes()[:-7])
    rows = umdf().load(str(path)).collect()
    faults = [row for row in rows if row["fault"] is not None]
    assert len(faults) == 1
    assert "byte" in faults[0]["fault"]
    assert whole - 20 < len(rows) - 1 < whole


@pytest.mark.parametrize(
    ("options", "path", "told"),
    [
        ({"massage": "Trade_53"}, "sample", "umdf has no such option"),
        ({"message": "Trade_99"}, "sample", "there is no table 'Trade_99'"),
        ({"message": "99"}, "sample", "no message has the number 99"),
        ({"template": "Trade"}, "sample", "no message is called 'Trade'"),
        ({"channel": "x"}, "sample", "'x' is not a whole number"),
        ({}, "nowhere", "no such file or directory"),
        ({}, "nowhere/*.pcap", "there is no capture here"),
    ],
)
def test_mistakes_are_told(umdf: Any, folder: Path, options: dict[str, str], path: str, told: str) -> None:
    with pytest.raises(Exception, match=told):
        umdf(**options).load(str(folder / path)).count()
