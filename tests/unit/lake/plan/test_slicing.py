"""Units cut in any way: every packet in exactly one slice, each slice with all that it needs to begin."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pregao.lake.plan.anchors import Loop, find_loops
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.slicing import COOL_PACKETS, FROM_FIRST, TO_LAST, Slice, cut_unit
from pregao.lake.plan.units import LakeUnit, find_units
from pregao.lake.slices.feeds import merge
from pregao.model.streams import Feed
from tests.kits.lakes import make_days

FAULTS = "loss=1%,both=4,gap=2x5@A,dup=0.5%,reorder=10:4"
CUTS = (1, 2, 5, 1000)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    days = make_days(tmp_path_factory.mktemp("days"), seed=21, messages=900, faults=FAULTS)
    return sorted(path for day in days for path in day.glob("*.pcap"))


@pytest.fixture(scope="module", params=[1, 7, 4096])
def indexes(request: pytest.FixtureRequest, captures: list[Path]) -> list[FileIndex]:
    """Scanned in pieces of so many packets."""
    scan = partial(scan_capture, settings=ScanSettings(piece_packets=request.param))
    return [scan(str(path)) for path in captures]


def _units(indexes: list[FileIndex]) -> Iterator[tuple[LakeUnit, list[Loop], list[Slice]]]:
    for unit in find_units(indexes):
        loops = find_loops(unit)
        for wanted in CUTS:
            yield unit, loops, cut_unit(unit, loops, indexes, wanted)


def test_each_place_is_in_one_slice(indexes: list[FileIndex]) -> None:
    """They follow each other from the first to the last, whatever was asked for."""
    most = 0
    for _, _, slices in _units(indexes):
        starts, stops = [each.start for each in slices], [each.stop for each in slices]
        assert starts == sorted(set(starts))
        assert (starts[0], stops[-1]) == (FROM_FIRST, TO_LAST)
        assert stops[:-1] == starts[1:]
        assert [each.number for each in slices] == list(range(len(slices)))
        assert [each.is_last for each in slices] == [False] * (len(slices) - 1) + [True]
        most = max(most, len(slices))
    assert most > 1 or len(indexes[0].layout.pieces) == 1


def test_a_slice_begins_with_an_anchor_that_needs_nothing_before(indexes: list[FileIndex]) -> None:
    for _, loops, slices in _units(indexes):
        assert slices[0].anchor is None
        for each in slices[1:]:
            assert each.anchor is not None
            anchor = each.anchor.loop
            assert anchor.is_anchor
            assert anchor.last < each.start  # what it emits stands behind all of its snapshots
            assert each.warm == anchor.first
            # Loops that it goes on to compare with: all between its anchor and its end.
            later = [loop.number for loop in loops[anchor.number + 1 :] if loop.first < each.stop]
            assert [part.loop.number for part in each.loops] == [
                number for number in later if loops[number].last >= each.warm
            ]


def test_a_first_slice_that_has_to_wait_is_short(indexes: list[FileIndex]) -> None:
    """If there are several at all: it ends at the first place at which another can begin."""
    for unit in find_units(indexes):
        loops = find_loops(unit)
        every = cut_unit(unit, loops, indexes, 1000)
        for wanted in (2, 5):
            cut = cut_unit(unit, loops, indexes, wanted, waits=True)
            assert cut[0].stop == every[0].stop
            assert len(cut) <= wanted + 1
        assert len(cut_unit(unit, loops, indexes, 1, waits=True)) == 1


def test_slices_read_what_both_feeds_have(indexes: list[FileIndex]) -> None:
    """All that stands from `start` to `stop`, and from `warm` on before it, however files are cut."""
    for unit, _, slices in _units(indexes):
        there = _places(unit.all_runs)
        on_a = _places(unit.runs[Feed.A])
        emitted: list[int] = []
        sent: dict[int, int] = {}
        for each in slices:
            merged = merge(each)
            reach = each.stop if each.stop == TO_LAST else each.stop + COOL_PACKETS
            assert merged.place.tolist() == sorted(p for p in there if each.warm < p < reach)
            emitted += [place for place in merged.place.tolist() if each.start <= place < each.stop]
            heard = set(merged.place[merged.copies_a > 0].tolist())
            assert heard == {p for p in on_a if each.warm < p < reach}
            sent |= dict(zip(merged.place.tolist(), merged.sent.tolist(), strict=True))
        assert emitted == sorted(there)
        _check_seconds(slices, sent)


def _check_seconds(slices: list[Slice], sent: dict[int, int]) -> None:
    """The second in which a slice begins to emit is read whole: all that changed in it must be known."""
    for each in slices[1:]:
        begun = sent[min(place for place in sent if place >= each.start)] // 10**9
        assert all(sent[place] // 10**9 < begun for place in sent if place <= each.warm)


def _places(runs: np.ndarray) -> set[int]:  # type: ignore[type-arg]
    return {place for run in runs for place in range(int(run["first"]), int(run["last"]) + 1)}
