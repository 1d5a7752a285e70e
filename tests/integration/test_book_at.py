"""`pregao book --at`: what is not known is said, and the last change is the book's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from pregao.cli.main import main
from pregao.lake.lake import Lake
from pregao.lake.verbs.book import local_time
from tests.kits.captures import Captured, copy_capture, read_capture
from tests.kits.lakes import build, make_days

CHANNEL = 84
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one channel, from the middle of the session on."""
    folder = tmp_path_factory.mktemp("day")
    (day,) = make_days(folder / "whole", seed=9, messages=1_500)
    times = [each.ts_ns for each in read_capture(day / f"{CHANNEL:03}_Incremental_FeedA.pcap")]
    middle_ns = times[len(times) // 2]

    def later(packets: list[Captured]) -> list[Captured]:
        return [each for each in packets if each.ts_ns > middle_ns]

    for path in day.glob(f"{CHANNEL:03}_*.pcap"):
        copy_capture(path, folder / "half", later)
    return folder / "half"


@pytest.fixture(scope="module")
def lake(captures: Path) -> Path:
    build([captures], captures.parent / "lake")
    return captures.parent / "lake"


def _book(lake: Path, symbol: str, at: int | str, *more: str) -> int:
    return main(["book", symbol, "--at", str(at), "--lake", str(lake), *more])


def _times(lake: Path) -> tuple[int, int]:
    sent = Lake(lake).arrow("packets")["ts_send"].to_pylist()
    return min(sent), max(sent)


def test_before_the_capture_nothing_is_known(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first_ns, _ = _times(lake)
    assert _book(lake, "PETR4", first_ns - 60 * SECOND) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "nothing is known of PETR4 then" in err
    assert f"begin at {local_time(first_ns)}" in err


def test_a_book_of_which_nothing_came_yet_is_in_doubt(
    captures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without = [path for path in captures.iterdir() if "Snapshot" not in path.name]
    build(without, tmp_path / "lake")
    opened, (first_ns, _) = Lake(tmp_path / "lake"), _times(tmp_path / "lake")
    told = {row["symbol"] for row in opened.arrow("orders", f"ts_event <= {first_ns}").to_pylist()}
    symbols = {row["symbol"] for row in opened.arrow("instruments").to_pylist()}
    assert _book(tmp_path / "lake", min(symbols - told), first_ns) == 0
    out, _ = capsys.readouterr()
    assert "whether it is empty is not known (book unknown)" in out


def _quiet(lake: Path) -> tuple[int, dict[str, Any]]:
    """When a book was stored long after its last change, and that change."""
    opened, changes = Lake(lake), dict[str, list[dict[str, Any]]]()
    for row in opened.arrow("orders").to_pylist():
        if row["symbol"] and row["action"] != "SNAPSHOT":
            changes.setdefault(row["symbol"], []).append(row)
    found = []
    for stored in opened.arrow("book_checkpoints").to_pylist():
        at_ns = stored["ts_checkpoint"]
        before = [row for row in changes.get(stored["symbol"], ()) if row["ts_event"] <= at_ns]
        if before:
            found.append((at_ns, max(before, key=lambda row: (row["seq_num"], row["msg_index"]))))
    return max(found, key=lambda each: each[0] - each[1]["ts_event"])


def test_the_last_change_is_the_book_s_own(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not the time of the checkpoint that the book is read from."""
    at_ns, change = _quiet(lake)
    assert at_ns - change["ts_event"] > 10 * SECOND
    assert _book(lake, change["symbol"], at_ns, "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["last_change"] == change["ts_event"]
    assert told["packet"] == [change["seq_version"], change["seq_num"]]
    assert told["known_at"] > change["ts_event"]
    assert _book(lake, change["symbol"], at_ns) == 0
    out = capsys.readouterr().out
    assert f"last change {local_time(change['ts_event'])} in packet" in out
    assert f"as stored at {local_time(told['known_at'])} with packet" in out


def test_without_definitions_a_book_is_asked_for_by_its_id(
    captures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build([captures / f"{CHANNEL:03}_Incremental_FeedA.pcap"], tmp_path / "lake")
    opened = Lake(tmp_path / "lake")
    assert not opened.arrow("instruments").num_rows
    assert _book(tmp_path / "lake", "PETR4", "09:00") == 2
    err = capsys.readouterr().err
    assert "its captures have no definitions, so nothing has a symbol; give a securityID instead" in err
    change = opened.arrow("orders", "action = 'ADD'").to_pylist()[-1]
    assert _book(tmp_path / "lake", str(change["security_id"]), change["ts_event"], "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["security_id"], told["last_change"]) == (change["security_id"], change["ts_event"])
    assert told["bids"] or told["offers"]
