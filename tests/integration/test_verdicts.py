"""What the report says of captures as people have them: it judges what is known, not what was not given."""

from pathlib import Path
from typing import Any

import pytest

from pregao.lake.lake import Lake
from pregao.report import make_report
from tests.kits.captures import Captured, copy_capture, read_capture
from tests.kits.lakes import build, make_days

CHANNEL = 72


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    (day,) = make_days(tmp_path_factory.mktemp("days"), seed=9, messages=1_200)
    names = {"a": "Incremental_FeedA", "b": "Incremental_FeedB", "definitions": "InstrumentDefinition"}
    names["snapshots"] = "SnapshotRecovery"
    return {word: day / f"{CHANNEL:03}_{name}.pcap" for word, name in names.items()}


@pytest.fixture(scope="module")
def from_midday(captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same, begun in the middle of the session."""
    folder = tmp_path_factory.mktemp("midday")
    packets = read_capture(captures["a"])
    middle = (packets[0].ts_ns + packets[-1].ts_ns) // 2

    def rest(packets: list[Captured]) -> list[Captured]:
        return [each for each in packets if each.ts_ns >= middle]

    return {word: copy_capture(path, folder, rest) for word, path in captures.items()}


def report_of(folder: Path, captures: dict[str, Path], *words: str) -> Any:
    build([captures[word] for word in words], folder / "lake", derive=True)
    return make_report(str(folder / "lake"))


def test_a_whole_day(captures: dict[str, Path], tmp_path: Path) -> None:
    report = report_of(tmp_path, captures, "a", "b", "definitions", "snapshots")
    assert report.summary.verdict[:2] == ("good", "Complete:")


def test_a_feed_that_was_not_given_is_absent_not_lossy(captures: dict[str, Path], tmp_path: Path) -> None:
    report = report_of(tmp_path, captures, "a", "definitions", "snapshots")
    assert dict(report.summary.lines)["lost on A / B / both"] == "0 / not captured / 0"
    assert report.summary.verdict[:2] == ("good", "Complete:")
    assert "came on A, the only feed that was captured" in report.summary.verdict.rest
    assert "this feed was not captured" in report.html
    assert "100 %" not in report.html.partition("Lost on B")[2].partition("Books gone stale")[0]


def test_books_of_which_nothing_is_known_are_not_complete(
    from_midday: dict[str, Path], tmp_path: Path
) -> None:
    report = report_of(tmp_path, from_midday, "a", "definitions")
    assert report.summary.verdict[:2] == ("warn", "Not all is known:")
    assert "nothing tells what 2 books of 2 held before the captures began" in report.summary.verdict.rest
    assert dict(report.summary.lines)["books never told whole"] == "100 % (2 of 2)"


def test_a_loop_that_told_the_books_is_a_loop(from_midday: dict[str, Path], tmp_path: Path) -> None:
    """Of the snapshots only the first loop: the books begin with it, and nothing is left to compare."""
    lake = tmp_path / "whole" / "lake"
    build([from_midday[word] for word in ("a", "definitions", "snapshots")], lake)
    loops = sorted(
        row["ts_send"] for row in Lake(lake).arrow("quality", "finding = 'SNAPSHOT_MATCH'").to_pylist()
    )

    def first_loop(packets: list[Captured]) -> list[Captured]:
        return [each for each in packets if each.ts_ns < loops[1] - 1_000_000]

    once = copy_capture(from_midday["snapshots"], tmp_path / "once", first_loop)
    report = report_of(tmp_path, from_midday | {"snapshots": once}, "a", "definitions", "snapshots")
    told = dict(report.summary.lines)["books equal to B3's snapshots"]
    assert told == "1 snapshot loop told the books, none was left to compare with"
    assert told in report.html
    assert "no complete loop" not in report.html
    assert dict(report.summary.lines)["books never told whole"] == "0"
