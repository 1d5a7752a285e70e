"""Computed tables of units whose rows have changed: tasks like any, run by whoever runs slices."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from pregao.lake.computed.latency import PacketFiles, count_packets, latencies, packet_groups, skew_findings
from pregao.lake.computed.totals import market_totals
from pregao.lake.computed.unit import INPUTS, LABEL, UnitPart, compute, parts_of, write_rows
from pregao.lake.reading.arrow import read
from pregao.lake.reading.conditions import conditions
from pregao.lake.running.memory import give_back
from pregao.lake.running.runners import Runner
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.livefile import LiveFile, key_of, live, may_speak_of
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tables.messages import TRADES
from pregao.lake.tables.table import UnitKey

# A task holds the trades of its part in memory, about 400 bytes each.
PART_TRADES: Final = 250_000
Files = dict[str, list[LiveFile]]
Counted = dict[UnitKey, list[Any]]  # record batches that `Minutes` merges


def derive(
    runner: Runner, location: Location, files: Files, units: Sequence[UnitKey], late: Sequence[UnitKey],
    intervals: Sequence[int], build_id: str, progress: Callable[[int, int], None],
    counted: Counted | None = None, part_trades: int = PART_TRADES,
) -> list[DataFile]:  # fmt: skip
    """`late` are units of which only what comes from trades is made again; `counted` are latencies that need
    not be counted again."""
    counted = counted or {}
    items: list[UnitPart | PacketFiles] = []
    for key in (*units, *late):
        mine = _files_of(key, files)
        items += parts_of(key, mine, intervals, _bounds(location, mine["trades"], part_trades))
    for key in units:
        if key in counted:
            continue
        items += packet_groups(key, [file for file in files.get("packets", []) if key_of(file) == key])
    done = runner.run(partial(_run, location=location, build_id=build_id), items, progress)
    found: list[DataFile] = []
    for key in (*units, *late):
        of_unit = [made for item, made in zip(items, done, strict=True) if item.key == key]
        found += _put_together(key, of_unit, counted.get(key, ()), location, build_id)
    return found


def _run(item: UnitPart | PacketFiles, location: Location, build_id: str) -> Any:
    give_back()
    if isinstance(item, PacketFiles):
        return count_packets(item, location)
    return compute(item, location, build_id)


def _put_together(
    key: UnitKey, made: Sequence[Any], counted: Sequence[Any], location: Location, build_id: str
) -> list[DataFile]:
    """What parts wrote, and what is only known when all are done."""
    parts = [each for each in made if not isinstance(each, list)]
    counted = [*counted, *(batch for each in made if isinstance(each, list) for batch in each)]
    found = [file for part in parts for file in part.files]
    totals = market_totals(row for part in parts for row in part.alike).sort_by("security_group")
    found += write_rows(location, "market_totals", key, totals, build_id)
    minutes = latencies(counted)
    found += write_rows(location, "quality", key, skew_findings(minutes), build_id)
    return found + write_rows(location, "latency", key, minutes, build_id)


def keep_findings(location: Location, replaced: Sequence[DataFile]) -> list[DataFile]:
    """Of files that are made again from trades, what does not come from trades: a bust changes no clock."""
    found: list[DataFile] = []
    for file in replaced:
        if file.table == QUALITY.name:
            rows = read(location, QUALITY, [live(file)], conditions(QUALITY, {"finding": "CLOCK_SKEW"}))
            if rows.num_rows:
                found.append(write_file(location, QUALITY, file.partition, rows, label=LABEL))
    return found


def _files_of(key: UnitKey, files: Files) -> Files:
    """Trades of other dates of its source too, where they may speak of this one."""
    found: Files = {name: [] for name in INPUTS}
    for name in INPUTS:
        for file in files.get(name, []):
            of = key_of(file)
            later = name == "trades" and of.feed == key.feed and may_speak_of(file, key.trade_date)
            if of == key or later:
                found[name].append(file)
    return found


def _bounds(location: Location, trades: Sequence[LiveFile], most: int) -> list[int]:
    """Instruments at which to cut so that parts have about as many trades. One instrument is never cut."""
    total = sum(file.rows for file in trades)
    if total <= most:
        return []
    ids = read(location, TRADES, trades, (), ["security_id"]).column(0).to_numpy()
    instruments, counts = np.unique(ids, return_counts=True)
    shares = (np.cumsum(counts) - counts) // most
    return [int(each) for each in instruments[1:][shares[1:] != shares[:-1]]]
