"""What the report says of captures as people have them: it judges what is known, not what was not given."""

from pathlib import Path
from typing import Any

from pregao.lake.lake import Lake
from pregao.report import make_report
from tests.kits.captures import Captured, copy_capture
from tests.kits.lakes import build


def report_of(folder: Path, captures: dict[str, Path], *words: str) -> Any:
    build([captures[word] for word in words], folder / "lake", derive=True)
    return make_report(str(folder / "lake"))


def test_a_whole_day(channel_captures: dict[str, Path], tmp_path: Path) -> None:
    report = report_of(tmp_path, channel_captures, "a", "b", "definitions", "snapshots")
    assert report.summary.verdict[:2] == ("good", "Complete:")


def test_a_feed_that_was_not_given_is_absent(channel_captures: dict[str, Path], tmp_path: Path) -> None:
    report = report_of(tmp_path, channel_captures, "a", "definitions", "snapshots")
    assert dict(report.summary.lines)["lost on A / B / both"] == "0 / not captured / 0"
    assert report.summary.verdict[:2] == ("good", "Complete:")
    assert "came on A, the only feed that was captured" in report.summary.verdict.rest
    assert "this feed was not captured" in report.html
    assert "100 %" not in report.html.partition("Lost on B")[2].partition("Books gone stale")[0]


def test_books_of_which_nothing_is_known_are_not_complete(
    midday_captures: dict[str, Path], tmp_path: Path
) -> None:
    report = report_of(tmp_path, midday_captures, "a", "definitions")
    assert report.summary.verdict[:2] == ("warn", "Not all is known:")
    assert "nothing tells what 2 books of 2 held before the captures began" in report.summary.verdict.rest
    assert dict(report.summary.lines)["books never told whole"] == "100 % (2 of 2)"


def test_captures_that_begin_at_midday_are_complete_with_snapshots(
    midday_captures: dict[str, Path], tmp_path: Path
) -> None:
    """A snapshot makes a day better known, not worse."""
    report = report_of(tmp_path, midday_captures, "a", "b", "definitions", "snapshots")
    assert report.summary.verdict[:2] == ("good", "Complete:")
    assert dict(report.summary.lines)["books never told whole"] == "0"


def test_a_loop_that_told_the_books_is_a_loop(midday_captures: dict[str, Path], tmp_path: Path) -> None:
    """Of the snapshots only the first loop: the books begin with it, and nothing is left to compare."""
    lake = tmp_path / "whole" / "lake"
    build([midday_captures[word] for word in ("a", "definitions", "snapshots")], lake)
    loops = sorted(
        row["ts_send"] for row in Lake(lake).arrow("quality", "finding = 'SNAPSHOT_MATCH'").to_pylist()
    )

    def first_loop(packets: list[Captured]) -> list[Captured]:
        return [each for each in packets if each.ts_ns < loops[1] - 1_000_000]

    once = copy_capture(midday_captures["snapshots"], tmp_path / "once", first_loop)
    report = report_of(tmp_path, midday_captures | {"snapshots": once}, "a", "definitions", "snapshots")
    told = dict(report.summary.lines)["books equal to B3's snapshots"]
    assert told == "1 snapshot loop told the books, none was left to compare with"
    assert told in report.html
    assert "no complete loop" not in report.html
    assert dict(report.summary.lines)["books never told whole"] == "0"
