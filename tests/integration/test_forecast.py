"""`pregao build --dry-run`: what it says is what the build then does, and the lake is as it was."""

from pathlib import Path

import pytest

from pregao.cli import build as command
from pregao.cli.main import main
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.build_report import Forecast, UnitVerdict
from pregao.lake.lake import Lake
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from tests.kits.lakes import SMALL_PIECES, build, make_days


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_days(tmp_path_factory.mktemp("days"), seed=9, days=2, messages=1_200)


def forecast(captures: list[Path], lake: Path, **settings: object) -> Forecast:
    chosen = BuildSettings(**{"piece_packets": SMALL_PIECES, "derive": False} | settings)  # type: ignore[arg-type]
    return Builder(Location(lake), InlineRunner(), chosen).forecast([str(path) for path in captures])


def deeds(found: Forecast) -> dict[UnitVerdict, int]:
    return {deed: count for deed in UnitVerdict if (count := sum(unit.deed is deed for unit in found.units))}


def test_what_is_said_is_what_is_done(days: list[Path], tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    found = forecast(days[:1], lake)
    assert deeds(found) == {UnitVerdict.BUILD: 4}
    assert found.scanned == found.captures == 16
    assert found.seconds > 0
    assert found.bytes > 0
    report = build(days[:1], lake)
    assert report.scanned == 0  # the indexes of the forecast
    assert [(unit.trade_date, unit.source) for unit in found.units] == sorted(key[1:] for key in report.units)
    assert sum(unit.slices for unit in found.units) == report.slices
    both = forecast(days, lake)
    assert deeds(both) == {UnitVerdict.BUILD: 4, UnitVerdict.LEAVE: 4}
    assert both.scanned == 16
    assert {unit.trade_date.day for unit in both.to_build} == {17}
    assert deeds(forecast(days[:1], lake)) == {UnitVerdict.LEAVE: 4}
    assert deeds(forecast(days[:1], lake, rebuild=True)) == {UnitVerdict.REPLACE: 4}
    assert Lake(lake).version.number == 1


def test_a_channel_and_a_date_are_chosen(days: list[Path], tmp_path: Path) -> None:
    found = forecast(days, tmp_path / "lake", channels=frozenset({72}))
    assert {unit.source for unit in found.units} == {"72"}
    assert found.scanned == 8  # of 32
    report = build(days, tmp_path / "lake", channels=frozenset({72, 84}))
    assert report.scanned == 8  # one channel more


def test_the_command_shows_units_and_ends(
    days: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = forecast(days[:1], tmp_path / "lake")
    monkeypatch.setattr("pregao.jobs.build.forecast_lake", lambda *_, **__: found)
    arguments = ["build", str(days[0]), "--lake", str(tmp_path / "lake"), "--dry-run", "--no-progress"]
    assert main(arguments) == command.OK
    out, said = capsys.readouterr()
    head, *rows = out.splitlines()
    assert head.split() == ["date", "source", "deed", "captures", "bytes", "messages", "slices"]
    assert [row.split()[:4] for row in rows] == [
        ["2026-11-16", str(channel), "build", "4"] for channel in (68, 72, 78, 84)
    ]
    assert "would build 4 of 4 units" in said
