"""A day in many batches: few files at every moment, whatever comes late or dies on the way."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pregao.lake.lake import Lake
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.streaming.state import Segment, StreamState
from tests.kits.lakes import all_tables, build
from tests.kits.streams import BuiltDay, KilledError, feed, streamer

FAN = 3
DIGITS = 4  # of the number of batches, to the base of the fan
CHANNEL = "068"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> BuiltDay:
    return BuiltDay(tmp_path_factory.mktemp("long"), 30, CHANNEL)


def segments(lake: Path) -> list[Segment]:
    (row,) = Lake(lake).arrow("units").to_pylist()
    state = StreamState.of_plan(row["plan"])
    assert state is not None
    return state.segments


def test_there_are_few_files_at_every_moment(day: BuiltDay, tmp_path: Path) -> None:
    """And a file that comes when all around it is joined is put in its place."""
    lake, checkpoint = tmp_path / "lake", tmp_path / "checkpoint"
    stream = streamer(lake, checkpoint, join=FAN, wait_ns=0)
    middle = len(day.periods) // 3
    late = [file for file in day.periods[middle] if "Incremental_FeedA" in file.name]
    assert late
    most, fewer, parts = 0, 0, 0
    for files in day.periods:
        report = feed(stream, [file for file in files if file not in late])
        if not report.version:
            continue
        fewer += report.compacted
        found = segments(lake)
        parts = max(parts, *(segment.parts for segment in found))
        most = max(most, len(Lake(lake).files("packets")))
        assert len(found) <= FAN * DIGITS
    assert fewer > 15
    assert parts >= FAN * FAN
    assert most <= FAN * DIGITS
    (row,) = Lake(lake).arrow("units").to_pylist()
    loops = json.loads(row["plan"])["stream"]["loops"]
    assert all(len(found) <= 2 for found in loops.values())
    before = Lake(lake)
    kept = before.arrow("packets")
    joined = {segment.number for segment in segments(lake) if segment.parts > 1}
    report = feed(stream, late)
    assert joined - {segment.number for segment in segments(lake)}, "it lies within one that was joined"
    assert report.rebuilt <= FAN * DIGITS
    feed(stream, [], finish=True)
    assert day.equals(lake)
    assert before.arrow("packets").equals(kept)  # who has opened an older version still reads it
    (indexes,) = checkpoint.iterdir()
    assert indexes.stat().st_size < sum(file.stat().st_size for file in day.captures.iterdir())


def dying_in_a_join(count: int) -> Callable[[str], None]:
    """So many steps after the commit of the batch itself."""
    left = [count]
    entered: list[str] = []

    def after(step: str) -> None:
        if entered:
            left[0] -= 1
            if not left[0]:
                raise KilledError
        elif step == "version entered":
            entered.append(step)

    return after


def test_killed_between_any_two_steps_of_joining(day: BuiltDay, tmp_path: Path) -> None:
    """Each death is a step later than the one before; the next batch meets what it left."""
    lake, checkpoint = tmp_path / "lake", tmp_path / "checkpoint"
    deaths, cut_off = 0, []
    for files in day.periods:
        try:
            feed(streamer(lake, checkpoint, join=2, after=dying_in_a_join(deaths + 1)), files)
        except KilledError:
            deaths += 1
            ledger = Ledger(Location(lake))
            cut_off += [ledger.intent(number) for number in ledger.pending]
    assert deaths >= 8
    assert "compact" in {intent.label.operation for intent in cut_off if intent is not None}
    feed(streamer(lake, checkpoint), [], finish=True)
    assert day.equals(lake)
    assert not Ledger(Location(lake)).pending


def test_definitions_that_every_file_repeats_are_one_version_each(day: BuiltDay, tmp_path: Path) -> None:
    """The loop goes round in each rotated file; what it tells again as it was is nothing new."""
    told: Counter[int] = Counter()
    for path in day.captures.iterdir():
        streams = scan_capture(str(path), ScanSettings()).streams
        told.update({each.instrument.security_id for stream in streams for each in stream.definitions})
    assert min(told.values()) > 5
    build(sorted(day.whole.glob(f"{CHANNEL}_*.pcap")), tmp_path / "whole")
    assert day.tables["instruments"] == all_tables(tmp_path / "whole")["instruments"]
    known = Lake(tmp_path / "whole").arrow("instruments", columns=["security_id"])["security_id"].to_pylist()
    assert set(known) == set(told)
    assert len(known) < 2 * len(told)
