"""Several systems in one lake: readers see one of them unless asked for more, so that nothing is counted
twice; and what is built of one leaves the others alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pregao.cli.main import main
from pregao.lake.book_at import book_at
from pregao.lake.errors import LakeError
from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.report import make_report
from tests.integration.test_toy_lake import NAME as TOY
from tests.integration.test_toy_lake import record
from tests.kits.lakes import all_tables, build, make_days, rows_of
from tests.kits.streams import feed, streamer
from tests.toy.two_channels import NAME as ECHO  # Binary UMDF by another name: the same volumes again

MESSAGES = 1_500


@dataclass
class Built:
    alone: Path  # only Binary
    lake: Path  # Binary, its echo and the toy
    days: list[Path]
    toy: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("systems")
    days = make_days(folder / "days", messages=MESSAGES, seed=4)
    record(3, folder / "toy", loss=0.0)
    build(days, folder / "alone", derive=True)
    for captures, system in ((days, "binary"), ([folder / "toy"], TOY), (days, ECHO)):
        build(captures, folder / "lake", derive=True, system=system)
    return Built(folder / "alone", folder / "lake", days, folder / "toy")


def _volume(rows: Any) -> int:
    return sum(volume or 0 for volume in rows["volume"].to_pylist())


def test_volumes_are_not_counted_twice(built: Built) -> None:
    lake, alone = Lake(built.lake), _volume(Lake(built.alone).arrow("daily"))
    assert alone > 0
    assert (lake.systems, lake.shown) == (["binary", "toy", "two-channels"], ["binary"])
    assert _volume(lake.arrow("daily")) == alone
    assert int(lake.to_polars("daily")["volume"].sum()) == alone
    assert int(lake.to_pandas("daily")["volume"].sum()) == alone
    assert lake.to_duckdb().sql("select sum(volume) from daily").fetchall() == [(alone,)]
    assert _volume(lake.of("two-channels").arrow("daily")) == alone
    assert _volume(lake.of(ALL_SYSTEMS).arrow("daily")) == 2 * alone
    assert _volume(lake.of(["binary", "toy"]).arrow("daily")) == alone
    assert _volume(lake.arrow("daily", {"system": ["binary", "two-channels"]})) == 2 * alone


def test_one_system_is_as_if_it_were_alone(built: Built) -> None:
    assert all_tables(built.lake) == all_tables(built.alone)
    toy = Lake(built.lake).of("toy")
    assert set(toy.arrow("orders")["symbol"].to_pylist()) == {f"TOY{n}" for n in range(1, 6)}
    assert {file.partition["system"] for file in toy.files("orders")} == {"toy"}
    assert toy.refresh().shown == toy.at(toy.version.number).shown == ["toy"]


def test_spark_sees_one_too(built: Built, spark: Any) -> None:
    lake = Lake(built.lake, spark)
    assert lake.table("daily").count() == Lake(built.alone).arrow("daily").num_rows
    found = lake.of(ALL_SYSTEMS).table("orders").select("system", "source").distinct().toArrow()
    assert set(found["system"].to_pylist()) == {"binary", "toy", "two-channels"}
    assert all(isinstance(source, str) for source in found["source"].to_pylist())


def test_a_system_that_is_not_there_is_told(built: Built) -> None:
    with pytest.raises(LakeError, match=r"nothing of system 'fast'.*there are binary, toy, two-channels"):
        Lake(built.lake, system="fast")


def test_several_without_the_usual_one_must_be_chosen(built: Built, tmp_path: Path) -> None:
    build(built.days, tmp_path / "lake", system=ECHO)
    assert Lake(tmp_path / "lake").shown == ["two-channels"]  # the only one
    build([built.toy], tmp_path / "lake", system=TOY)
    with pytest.raises(LakeError, match="several systems, toy, two-channels: say which"):
        Lake(tmp_path / "lake").arrow("orders")
    assert Lake(tmp_path / "lake", system="toy").arrow("orders").num_rows > 0


def test_rebuilding_one_leaves_the_others(built: Built, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    build(built.days, lake)
    build([built.toy], lake, system=TOY)
    before = rows_of(Lake(lake), "orders")
    again = build([built.toy], lake, system=TOY)
    assert (again.units, [unit.system for unit in again.unchanged]) == ([], ["toy"])
    assert build([built.toy], lake, system=TOY, rebuild=True).units == again.unchanged
    assert rows_of(Lake(lake), "orders") == before
    assert {unit.system for unit in build(built.days, lake).unchanged} == {"binary"}


def test_a_stream_beside_a_build(built: Built, tmp_path: Path) -> None:
    """The captures of one system's units are not asked for by a stream of another."""
    lake = tmp_path / "lake"
    build(built.days, lake)
    stream = streamer(lake, tmp_path / "checkpoint", system=TOY)
    report = feed(stream, sorted(built.toy.iterdir()), finish=True)
    assert [unit.system for unit in report.finished] == ["toy"]
    toy = Lake(built.lake).of("toy")
    assert rows_of(Lake(lake).of("toy"), "orders") == rows_of(toy, "orders")
    assert rows_of(Lake(lake), "orders") == rows_of(Lake(built.alone), "orders")


def test_books_and_reports_are_of_one(built: Built) -> None:
    lake = Lake(built.lake)
    at_ns = max(lake.of("toy").arrow("orders")["ts_event"].to_pylist())
    assert book_at(lake.of("toy"), "TOY1", at_ns).symbol == "TOY1"
    with pytest.raises(LakeError, match="no instrument 'TOY1'"):
        book_at(lake, "TOY1", at_ns)
    with pytest.raises(LakeError, match="a book is of one system"):
        book_at(lake.of(ALL_SYSTEMS), "TOY1", at_ns)
    with pytest.raises(LakeError, match="a report is of one system"):
        make_report(str(built.lake), system=ALL_SYSTEMS)
    mine, alone = make_report(str(built.lake)), make_report(str(built.alone))
    packets = [dict(report.summary.lines)["packets"] for report in (mine, alone)]
    assert packets[0] == packets[1]


def test_commands_take_a_system(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    counts = {}
    for system in ((), ("--system", "toy"), ("--system", "all")):
        assert main(["tables", "--lake", str(built.lake), "--format", "csv", *system]) == 0
        out, err = capsys.readouterr()
        counts[system] = next(int(line.split(",")[1]) for line in out.splitlines() if line[:7] == "orders,")
        assert ("there is also" in err) == (system != ("--system", "all"))
    usual, toy, every = counts.values()
    assert usual == Lake(built.alone).arrow("orders").num_rows
    assert every == 2 * usual + toy
    at = str(max(Lake(built.lake, system="toy").arrow("orders")["ts_event"].to_pylist()))
    asked = ["book", "TOY1", "--at", at, "--lake", str(built.lake)]
    assert main([*asked, "--system", "toy"]) == 0
    assert main(asked) == 2
