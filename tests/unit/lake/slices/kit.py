"""Slices of simulated days, and all that comes of one."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pregao.lake.plan.anchors import find_loops
from pregao.lake.plan.marks import deleted, groups, versions
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.slicing import Slice, cut_unit
from pregao.lake.plan.units import find_units
from pregao.lake.slices.loops import NEVER
from pregao.lake.slices.machine import SliceMachine
from pregao.model.rows import ROW, Rows

TABLES = ("orders", "trades", "executions", "statistics", "bands", "imbalances", "states")


def slices_of(captures: Iterable[Path], wanted: int = 3) -> Iterator[Slice]:
    """Of each unit so many, if its loops allow it."""
    indexes = [scan_capture(str(path), ScanSettings(piece_packets=16)) for path in captures]
    for unit in find_units(indexes):
        told = groups(versions(unit.definitions))
        for slice_ in cut_unit(unit, find_loops(unit), indexes, wanted):
            slice_.groups, slice_.deleted = told, deleted(unit.definitions, unit.marks)
            yield slice_


class Found:
    """All stretches of a slice, one after the other."""

    def __init__(self, machine: SliceMachine, most_orders: int = NEVER) -> None:
        rows: list[list[Rows]] = [[] for _ in TABLES]
        quotes, samples = [], []
        checkpoints: dict[str, list[Rows]] = {"SNAPSHOT": [], "CARRIED": []}
        self.stretches = 0
        for stretch in machine.stretches(most_orders):
            for number, mine in enumerate(rows):
                mine.append(stretch.buffers.rows(number).copy())
            quotes.append(stretch.quotes.copy())
            samples.append(stretch.samples.copy())
            for anchor, parts in stretch.checkpoints.items():
                checkpoints[anchor] += parts
            self.stretches += 1
        self.rows = [np.concatenate(mine) for mine in rows]
        self.quotes, self.samples = np.concatenate(quotes), np.concatenate(samples)
        self.checkpoints = {
            anchor: np.concatenate([np.zeros(0, ROW), *parts]) for anchor, parts in checkpoints.items()
        }
        self.ending = machine.ending
        self.findings, self.store = machine.findings, machine.store
