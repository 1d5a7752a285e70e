"""Systems of a lake beside each other: units of the same date are compared whenever one of them is built.

All are compared with one system, the usual one where the lake has it. What is found is in `quality` of the
unit that is compared, and is made again when the other side is.
"""

from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Final

from pregao.feeds.registry import DEFAULT
from pregao.lake.computed.systems import CROSSED, INPUTS, CrossedPart, compare
from pregao.lake.runners import Runner, described
from pregao.lake.state import LakeState
from pregao.lake.store.files import DataFile
from pregao.lake.store.intent import Read
from pregao.lake.store.livefile import LiveFile, key_of, live
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tables.ledger import UNITS
from pregao.lake.tables.table import UnitKey

Files = dict[str, list[LiveFile]]
_MARK: Final = f"/{CROSSED}-"


def reconcile_units(
    runner: Runner, state: LakeState, files: Sequence[DataFile], keys: Sequence[UnitKey], build_id: str
) -> tuple[list[DataFile], list[DataFile]]:
    """`files` are all that the units `keys` will consist of. What is added, and what goes: of units of other
    systems too, where these are what they are compared with."""
    adds: list[DataFile] = []
    removes: list[DataFile] = []
    parts: list[CrossedPart] = []
    for day in sorted({key.trade_date for key in keys}):
        systems = {state.system, *state.systems_of(day)}
        if len(systems) < 2:
            continue
        reference = DEFAULT if DEFAULT in systems else min(systems)
        mine = _new_files(state, files, keys, day)
        if reference != state.system:
            others = _plain(state.files_of_day(INPUTS, reference, day))
            parts += [
                CrossedPart(key, _of_unit(mine, key), reference, others)
                for key in keys if key.trade_date == day
            ]  # fmt: skip
            _depend(state, [key_of(file) for file in others.get(QUALITY.name, [])])
            continue
        for system in sorted(systems - {reference}):
            theirs = state.files_of_day((*INPUTS,), system, day)
            removes += [file.data_file() for file in theirs[QUALITY.name] if _MARK in f"/{file.path}"]
            plain = _plain(theirs)
            units = sorted({key_of(file) for file in plain["packets"]})
            _depend(state, units)
            parts += [CrossedPart(key, _of_unit(plain, key), reference, mine) for key in units]
    if parts:
        task = partial(compare, location=state.location, build_id=build_id)
        with described(f"compare {len(parts)} units with another system"):
            adds = [file for made in runner.run(task, parts, lambda *_: None) for file in made]
    return adds, removes


def _new_files(state: LakeState, files: Sequence[DataFile], keys: Sequence[UnitKey], day: date) -> Files:
    """All of the system's date: what is built now, and what stays as it is."""
    built = set(keys)
    found = {
        name: [file for file in each if key_of(file) not in built]
        for name, each in _plain(state.files_of_day(INPUTS, state.system, day)).items()
    }
    for file in files:
        if file.table in INPUTS and UnitKey.of_partition(file.partition).trade_date == day:
            found[file.table].append(live(file))
    return found


def _plain(files: Files) -> Files:
    """Without what was compared before."""
    return {name: [file for file in each if _MARK not in f"/{file.path}"] for name, each in files.items()}


def _of_unit(files: Files, key: UnitKey) -> Files:
    return {name: [file for file in each if key_of(file) == key] for name, each in files.items()}


def _depend(state: LakeState, keys: Sequence[UnitKey]) -> None:
    for key in set(keys):
        state.depends_on(Read(UNITS.name, *key.feed, key.trade_date, key.trade_date))
