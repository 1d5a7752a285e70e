"""How far a unit is built, and which segments a change concerns, on streams that are only numbers."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from pregao.lake.plan.anchors import Loop
from pregao.lake.plan.captures import open_layout
from pregao.lake.plan.followed_loops import LoopPlace
from pregao.lake.plan.index import PIECE, RUN, FileIndex, StreamIndex
from pregao.lake.plan.marks import groups
from pregao.lake.plan.slicing import FROM_FIRST
from pregao.lake.plan.unit_plan import UnitPlan
from pregao.lake.plan.units import LakeUnit, UnitStream
from pregao.lake.streaming.state import digests, horizon, is_renamed
from pregao.model.streams import Feed, Stream

SECOND = 1_000_000_000
PIECE_PACKETS = 10  # a piece every second


def stream(feed: Feed, first: int, last: int) -> StreamIndex:
    """Packets `first` to `last`, ten a second."""
    starts = range(first, last + 1, PIECE_PACKETS)
    pieces = [
        (number, PIECE_PACKETS, 10, start, min(start + PIECE_PACKETS - 1, last), start * SECOND // 10,
         min(start + PIECE_PACKETS - 1, last) * SECOND // 10)
        for number, start in enumerate(starts)
    ]  # fmt: skip
    runs = np.array([(first, last, first * SECOND // 10, last * SECOND // 10)], RUN)
    return StreamIndex(84, Stream.INCREMENTAL, feed, 1, [1], [0], np.array(pieces, PIECE), runs)


def planned(*told: int, **feeds: tuple[int, int]) -> UnitPlan:
    """A unit with packets on each feed, and loops that tell one book each at these places."""
    unit = LakeUnit(84, date(2026, 11, 16), versions=[1], version_ns=[0])
    for number, (name, (first, last)) in enumerate(feeds.items()):
        index = stream(Feed[name], first, last)
        each = UnitStream(number, index, -1, 1 << 62, np.zeros(1, np.int64))
        unit.feeds[Feed[name]], unit.runs[Feed[name]] = [each], index.runs
    stream_of_loops = StreamIndex(84, Stream.SNAPSHOT, Feed.A, 2)
    loops = [
        Loop(number, [LoopPlace(0, stream_of_loops, number)], 0, 0, True, False,
             *(np.array([value]) for value in (7, place, 1)),
             *(np.array([flag]) for flag in (False, True)), begun=place, quiet=True)
        for number, place in enumerate(told)
    ]  # fmt: skip
    return UnitPlan(unit, loops, [], {}, groups([]), [], [])


def test_it_is_what_both_feeds_and_the_snapshots_have_passed() -> None:
    assert horizon(planned(1000, A=(1, 1000), B=(1, 1000)), 60 * SECOND) == 981  # and a second less
    assert horizon(planned(1000, A=(1, 1000), B=(1, 500)), 60 * SECOND) == 481
    assert horizon(planned(300, A=(1, 1000), B=(1, 1000)), 70 * SECOND) == 281


@pytest.mark.parametrize(("wait_s", "expected"), [(60, 381), (10, 881), (200, FROM_FIRST)])
def test_a_feed_that_is_missing_is_waited_for_a_while(wait_s: int, expected: int) -> None:
    assert horizon(planned(1000, A=(1, 1000)), wait_s * SECOND) == expected


def test_so_long_and_no_longer() -> None:
    """A piece that was sent exactly so long ago has been waited for: B, which is not there, is silent."""
    plan = planned(1000, A=(1, 1000))
    exactly_ns = plan.unit.last_ns - 401 * SECOND // 10  # since the piece that begins with packet 401
    assert horizon(plan, exactly_ns + 1) == 381
    assert horizon(plan, exactly_ns) == 391


def test_a_loop_of_places_that_are_not_there_yet_is_waited_for() -> None:
    """It cannot be known whether packets are lost while it is sent."""
    plan = planned(500, A=(1, 1000), B=(1, 1000))
    assert horizon(plan, 30 * SECOND) == 681  # by then the snapshots are taken for silent
    straddling = planned(500, 900, A=(1, 1000), B=(1, 1000))
    straddling.loops[1].places = np.array([600, 1200])
    assert horizon(straddling, 0) == 591


def test_a_loop_whose_end_may_come_with_the_next_file_is_waited_for_a_while() -> None:
    plan = planned(300, 500, A=(1, 1000), B=(1, 1000))
    assert horizon(plan, 30 * SECOND) == 681
    plan.loops[1].is_open, plan.loops[1].ended_ns = True, plan.unit.last_ns - 10 * SECOND
    assert horizon(plan, 30 * SECOND) == 491
    assert horizon(plan, 9 * SECOND) == 891  # nobody sends it any more


def files(tmp_path: Path, *contents: str) -> list[FileIndex]:
    (tmp_path / "x.pcap").write_bytes(b"")
    layout = open_layout(str(tmp_path / "x.pcap"), "")
    return [FileIndex(f"{n}.pcap", 1, "", content, layout) for n, content in enumerate(contents)]


def test_digests_change_from_the_place_on_that_is_concerned(tmp_path: Path) -> None:
    stops = [100, 300, 500]
    known = files(tmp_path, "a", "b")
    before = digests(planned(50, A=(1, 600), B=(1, 600)), known, stops)
    assert digests(planned(50, A=(1, 600), B=(1, 600)), known, stops) == before
    with_loop = digests(planned(50, 200, A=(1, 600), B=(1, 600)), known, stops)
    assert [old == new for old, new in zip(before, with_loop, strict=True)] == [True, False, False]
    later = digests(planned(50, A=(1, 600), B=(301, 600)), known, stops)
    assert [old == new for old, new in zip(before, later, strict=True)] == [False, False, False]
    longer = digests(planned(50, A=(1, 600), B=(1, 450)), known, stops)
    assert [old == new for old, new in zip(before, longer, strict=True)] == [True, True, False]
    assert digests(planned(50, A=(1, 600), B=(1, 600)), files(tmp_path, "a", "c"), stops)[0] != before[0]


def test_a_new_name_only_concerns_rows_after_it() -> None:
    before = {7: [(0, "PETR4")], 8: [(5, "VALE3")]}
    assert not is_renamed(before, {**before, 9: [(3, "NEW1")]}, 100)
    assert not is_renamed(before, {**before, 7: [(0, "PETR4"), (200, "PETR9")]}, 100)
    assert is_renamed(before, {**before, 7: [(0, "PETR4"), (50, "PETR9")]}, 100)
    assert is_renamed(before, {7: [(0, "PETR4")]}, 100)
