"""What all trials of `kills` share: a small day, and the lakes that undisturbed builds make of it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pregao.lake.lake import Lake
from tests.kits.lakes import all_tables, build, make_days
from tests.proofs.kills_build import BuildProcess, Cluster, Pace
from tests.proofs.kills_reader import NOTHING, Counts, counts_of

OLD, NEW = "old", "new"
MESSAGES = 2_500
_LEFT_OUT = "072"  # three channels, three units
_CHANGED = ("068", "084")  # of these the old lake lacks feed B; the third unit stays as it is


@dataclass(frozen=True)
class Setting:
    """`paces` are those of the steps of an undisturbed build."""

    folder: Path
    captures: list[Path]
    old_lake: Path
    expected: dict[str, list[str]]
    states: dict[str, Counts]
    paces: dict[str, Pace]
    cluster: str  # its address; empty: there is none
    cluster_pids: tuple[int, ...]
    computed: bool = True  # whether tables that are computed from others are built too


@contextmanager
def prepared(folder: Path, *, with_cluster: bool = True, computed: bool = True) -> Iterator[Setting]:
    captures, fewer = _captures(folder / "days")
    old_lake, new_lake = folder / "old", folder / "new"
    if computed:
        _undisturbed(fewer, old_lake, folder, computed=True)
    else:
        build(fewer, old_lake)  # needs no Java
    paces = _undisturbed(captures, new_lake, folder, computed=computed)
    states = {
        NOTHING: dict.fromkeys(counts_of(Lake(new_lake)), 0), OLD: counts_of(Lake(old_lake)),
        NEW: counts_of(Lake(new_lake)),
    }  # fmt: skip
    assert states[OLD] != states[NEW]
    common = folder, captures, old_lake, all_tables(new_lake), states, paces
    if not with_cluster:
        yield Setting(*common, "", (), computed)
        return
    with Cluster(folder / "cluster") as cluster:
        yield Setting(*common, cluster.url, cluster.pids, computed)


def _captures(out: Path) -> tuple[list[Path], list[Path]]:
    """All captures, and those of the old lake."""
    (day,) = make_days(out, seed=3, messages=MESSAGES, faults="both=3,loss=0.5%")
    every = [file for file in sorted(day.glob("*.pcap")) if not file.name.startswith(_LEFT_OUT)]
    fewer = [file for file in every if not (file.name.startswith(_CHANGED) and "FeedB" in file.name)]
    return every, fewer


def _undisturbed(captures: list[Path], lake: Path, folder: Path, *, computed: bool) -> dict[str, Pace]:
    scratch = folder / f"scratch-{lake.name}"
    scratch.mkdir()
    run = BuildProcess(captures, lake, "local[2]", scratch, computed=computed)
    try:
        status = run.wait()
        paces = run.paces()
    finally:
        run.end()
        shutil.rmtree(scratch, ignore_errors=True)
    if status:
        raise RuntimeError(f"an undisturbed build failed: {run.lines[-5:]}")
    return paces
