"""What goes to a task: its slice, with references in place of what all slices of the unit share."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.plan.anchors import Loop
from pregao.lake.plan.captures import CaptureLayout
from pregao.lake.plan.contents import CaptureForm
from pregao.lake.plan.marks import Symbols
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.slicing import FROM_FIRST, TO_LAST, FilePart, LoopPart, Slice
from pregao.lake.plan.stored import Stored
from pregao.lake.plan.units import find_units
from pregao.lake.shared_parts import FOLDER, SharedParts, unpack
from pregao.lake.store.location import Location
from pregao.lake.unit_work import plan_work
from tests.kits.lakes import SMALL_PIECES, make_days
from tests.unit.lake.kit import Kit


def _loop(number: int, instruments: int) -> Loop:
    ids = np.arange(instruments, dtype=np.int64) + 100
    flags = ids % 2 == 0
    return Loop(
        number, [], number, 5, True, False, ids, ids + number, (ids % 7).astype(np.uint32), flags, ~flags,
        3, True, flags if number else None, number == 1,
    )  # fmt: skip


def _symbols(instruments: int) -> Symbols:
    return {each: [(0, f"S{each}"), (9, f"T{each}")][: 1 + each % 2] for each in range(instruments)}


def _slice(loops: list[Loop], symbols: Symbols) -> Slice:
    layout = CaptureLayout(Stored("a.pcap", 1, "1"), next(iter(CaptureForm)))
    part = FilePart(layout, 1, 84, 0, 9, [1], np.zeros(1, np.int64))
    parts = [LoopPart(loop, [part]) for loop in loops]
    return Slice(
        84, "2026-11-16", 0, FROM_FIRST, TO_LAST, FROM_FIRST, [1], {}, parts[1:], parts[0], True,
        symbols=symbols,
    )  # fmt: skip


def _as_values(loop: Loop) -> dict[str, Any]:
    return {name: getattr(loop, name) for name in Loop.__slots__}  # type: ignore[attr-defined]


@pytest.mark.parametrize("instruments", [0, 1, 500])
def test_a_task_has_what_was_packed(tmp_path: Path, instruments: int) -> None:
    location = Location(tmp_path)
    loops, symbols = [_loop(number, instruments) for number in range(3)], _symbols(instruments)
    with SharedParts(location, "b1") as shared:
        shared.store(symbols, loops)
        found = unpack(shared.pack(_slice(loops, symbols)), location)
    assert found.symbols == symbols
    assert found.anchor is not None
    for made, loop in zip((found.anchor, *found.loops), loops, strict=True):
        for name, value in _as_values(loop).items():
            mine = getattr(made.loop, name)
            assert np.array_equal(mine, value) if isinstance(value, np.ndarray) else mine == value, name
            if isinstance(value, np.ndarray):
                assert (mine.dtype, mine.flags.writeable) == (value.dtype, True)


def test_what_a_task_is_sent_does_not_grow_with_instruments(tmp_path: Path) -> None:
    sizes, alone = [], []
    for instruments in (10, 20_000):
        loops, symbols = [_loop(number, instruments) for number in range(3)], _symbols(instruments)
        with SharedParts(Location(tmp_path), f"b{instruments}") as shared:
            shared.store(symbols, loops)
            sizes.append(len(shared.pack(_slice(loops, symbols))))
        alone.append(len(pickle.dumps(_slice(loops, symbols))))
    assert sizes[1] < sizes[0] + 200  # larger numbers
    assert alone[1] > 100 * sizes[1]


def test_what_a_task_is_sent_has_no_index_of_a_capture(tmp_path: Path) -> None:
    """Slices of a day that is planned as any: loops know where they are by whole indexes."""
    (day,) = make_days(tmp_path / "captures", messages=3_000)
    indexes = [
        scan_capture(str(path), ScanSettings(piece_packets=SMALL_PIECES))
        for path in sorted(day.glob("078_*.pcap"))
    ]
    (unit,) = find_units(indexes)
    work = plan_work(unit, indexes, None, slices=2)
    planned = work.planned
    assert all(loop.parts for loop in planned.loops)
    assert all(slice_.loops for slice_ in work.slices)
    with SharedParts(Location(tmp_path / "lake"), "b1") as shared:
        shared.store(planned.symbols, planned.loops, planned.groups)
        packed = [shared.pack(slice_) for slice_ in work.slices]
    assert all(b"StreamIndex" not in each for each in packed)


def test_nothing_is_left_and_what_a_killed_build_left_is_collected(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    kit.commit(kit.file("orders"))
    with SharedParts(kit.location, "b1") as shared:
        shared.store(_symbols(5), [])
        assert len(list(kit.location.files(FOLDER))) == 1
    assert list(kit.location.files(FOLDER)) == []
    SharedParts(kit.location, "b2").store(_symbols(5), [])  # and then it was killed
    assert vacuum(kit.location, grace_ns=0).files == (f"{FOLDER}/b2/0",)
    assert list(kit.location.files(FOLDER)) == []
