"""Feed C in a lake: never merged with A and B by number; it goes on where they end; alone it is the day. And
captures of which no unit can be made say so."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pregao.cli import build as command
from pregao.lake.build import BuildReport
from pregao.lake.lake import Lake
from tests.kits.lakes import all_tables, build, make_days

MESSAGE = ("security_id", "trade_id", "action", "price", "size")
ORDER = ("security_id", "order_id", "action", "side", "price", "size", "rpt_seq")
_OF_C = 500  # from where the simulated contingency site counts its sequenceVersions


def told(lake: Path, table: str, names: tuple[str, ...]) -> Counter[tuple[object, ...]]:
    rows = Lake(lake).arrow(table).select(list(names)).to_pylist()
    return Counter(tuple(row.values()) for row in rows)


def captures(day: Path, *, of_c: bool) -> list[Path]:
    return [path for path in sorted(day.glob("*.pcap")) if path.stem.endswith("FeedC") == of_c]


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day on which the primary site falls silent at one o'clock."""
    out = tmp_path_factory.mktemp("failed")
    return make_days(out / "captures", seed=4, messages=2_500, faults="contingency=13:00")[0]


def test_the_unit_goes_on_with_feed_c(failed: Path, tmp_path: Path) -> None:
    """C alone has the whole day, by numbers of its own: both lakes tell the same messages, each once."""
    report = build([failed], tmp_path / "lake")
    assert len(report.units) == 4
    build(captures(failed, of_c=True), tmp_path / "of_c")
    versions = Counter(Lake(tmp_path / "lake").arrow("trades")["seq_version"].to_pylist())
    assert min(versions) < _OF_C < max(versions)
    assert all(count > 20 for version, count in versions.items() if version in (min(versions), max(versions)))
    for table, names in (("trades", MESSAGE), ("orders", ORDER)):
        assert told(tmp_path / "lake", table, names) == told(tmp_path / "of_c", table, names), table
    quality = Lake(tmp_path / "lake").arrow("quality").to_pylist()
    going_on = [row for row in quality if "feed C goes on" in (row["detail"] or "")]
    assert {row["channel"] for row in going_on} == {68, 72, 78, 84}
    assert not [row for row in quality if row["finding"] in ("GAP", "SNAPSHOT_MISMATCH")]


@pytest.fixture(scope="module")
def back(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day on which the primary site is silent for three minutes of a short day."""
    out = tmp_path_factory.mktemp("back")
    return make_days(out / "captures", seed=4, messages=2_500, faults="contingency=13:00+3m")[0]


def test_the_unit_goes_on_with_a_and_b_when_they_come_back(back: Path, tmp_path: Path) -> None:
    """C alone has the whole day: all its trades are there, each once, in the order of the day; and of what
    the primary site has not sent all orders."""
    report = build([back], tmp_path / "lake")
    assert len(report.units) == 4
    build(captures(back, of_c=True), tmp_path / "of_c")
    assert told(tmp_path / "lake", "trades", MESSAGE) == told(tmp_path / "of_c", "trades", MESSAGE)
    for channel in (68, 72, 78, 84):
        lake = Lake(tmp_path / "lake")
        rows = lake.arrow("packets", {"channel": channel, "stream": "INCREMENTAL"}).sort_by("ts_send")
        versions = list(dict.fromkeys(rows["seq_version"].to_pylist()))
        is_c = [version > _OF_C for version in versions]
        assert is_c[0] is False
        assert is_c[-1] is False
        assert True in is_c, "A and B, then C, then A and B with a sequence of their own"
        assert is_c == sorted(is_c[: is_c.index(True)]) + [True] * sum(is_c) + [False]
    of_c = [row for row in rows_of(tmp_path / "lake", "orders") if row["seq_version"] > _OF_C]
    assert len(of_c) > 20
    first, last = (limit(row["ts_send"] for row in of_c) for limit in (min, max))
    names = (*ORDER, "ts_send")
    alone = Counter(
        tuple(row[name] for name in names)
        for row in rows_of(tmp_path / "of_c", "orders")
        if first <= row["ts_send"] <= last
    )
    assert Counter(tuple(row[name] for name in names) for row in of_c) == alone
    quality = Lake(tmp_path / "lake").arrow("quality").to_pylist()
    details = [row["detail"] or "" for row in quality]
    assert sum("feed C goes on" in each for each in details) >= 4
    assert sum("A and B are back" in each for each in details) == 4
    assert not [row for row in quality if row["finding"] in ("GAP", "SNAPSHOT_MISMATCH")]


def test_slices_do_not_matter_where_a_and_b_come_back(back: Path, tmp_path: Path) -> None:
    build([back], tmp_path / "whole", slices=1)
    build([back], tmp_path / "cut", slices=5)
    assert all_tables(tmp_path / "whole") == all_tables(tmp_path / "cut")


def rows_of(lake: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Lake(lake).arrow(table).to_pylist()
    return rows


def test_without_c_the_day_ends_with_a_and_b(failed: Path, tmp_path: Path) -> None:
    build(captures(failed, of_c=False), tmp_path / "lake")
    assert max(Lake(tmp_path / "lake").arrow("trades")["seq_version"].to_pylist()) < _OF_C


def test_c_beside_a_and_b_changes_nothing(tmp_path: Path) -> None:
    (day,) = make_days(tmp_path / "captures", seed=6, messages=1_200, contingency=True)
    build([day], tmp_path / "all")
    build(captures(day, of_c=False), tmp_path / "primary")
    assert all_tables(tmp_path / "all") == all_tables(tmp_path / "primary")


def test_feed_c_alone_is_the_day_and_says_so(failed: Path, tmp_path: Path) -> None:
    report = build(captures(failed, of_c=True), tmp_path / "lake", channels=frozenset({72}))
    assert [key.source for key in report.units] == ["72"]
    assert any("channel 72" in line and "only feed C is there" in line for line in report.warnings)


def test_snapshots_alone_are_no_unit_and_that_is_said(
    failed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = failed / "072_SnapshotRecovery.pcap"
    report = build([path], tmp_path / "lake")
    assert not report.units
    assert "channel 72 has no incremental stream that can be built, only snapshot" in report.warnings[0]

    def build_lake(*_: object, **__: object) -> BuildReport:
        return report

    monkeypatch.setattr("pregao.jobs.build.build_lake", build_lake)
    monkeypatch.setattr("pregao.jobs.build.unreadable_captures", lambda captures: [])
    arguments = command_arguments(path, tmp_path / "lake")
    assert command.run(arguments) == 1
    said = capsys.readouterr().err
    assert "nothing was built" in said
    assert "channel 72 has no incremental stream" in said


def command_arguments(path: Path, lake: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_command(parser.add_subparsers())
    return parser.parse_args(["build", str(path), "--lake", str(lake), "--no-progress"])
