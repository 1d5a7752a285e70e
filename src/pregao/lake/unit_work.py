"""A unit that is built: its plan, its slices, and what became of them. And what of it must not get lost: a
unit is not replaced by one of fewer captures unless that is asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pregao.lake.plan.fingerprints import CarriedBooks, UnitInput, together
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.slicing import FROM_FIRST, Slice, cut_unit, share_out
from pregao.lake.plan.unit_plan import UnitPlan
from pregao.lake.plan.units import LakeUnit
from pregao.lake.running.runners import may_pass
from pregao.lake.shared_parts import unpack
from pregao.lake.store.location import Location
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.run import SliceDone, build_slice
from pregao.model.errors import CaptureError


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A capture that cannot be read, and why: it costs its unit, not the build."""

    reason: str
    file: str
    offset: int | None = None

    @classmethod
    def of(cls, error: CaptureError) -> "Unreadable":
        return cls(error.reason, error.file, error.offset)

    def error(self) -> CaptureError:
        return CaptureError(self.reason, file=self.file, offset=self.offset)

    def __str__(self) -> str:
        return str(self.error())


@dataclass(frozen=True, slots=True)
class Refused:
    """A unit that stays as it is, and why."""

    key: UnitKey
    reason: str
    unreadable: Unreadable | None = None

    def __str__(self) -> str:
        return f"{self.key} is left as it is: {self.reason}"


@dataclass(slots=True)
class UnitWork:
    planned: UnitPlan
    slices: list[Slice]
    done: list[SliceDone] = field(default_factory=list)

    @property
    def key(self) -> UnitKey:
        return self.planned.key

    @property
    def ends(self) -> CarriedBooks | None:
        lasts = (each for each, slice_ in zip(self.done, self.slices, strict=True) if slice_.is_last)
        return together([each.ends for each in lasts])


def plan_work(
    unit: LakeUnit, indexes: list[FileIndex], begins: CarriedBooks | None, slices: int | None = None
) -> UnitWork:
    """`begins`: the books of the day before, with their files. `slices`: how many; None: by its size."""
    planned = UnitPlan.of(unit, indexes)
    planned.begins = begins
    made = cut_unit(unit, planned.loops, indexes, slices)
    if not planned.loops:
        made = share_out(made[0], unit, slices)
    for slice_ in made:
        slice_.symbols = planned.symbols
        if slice_.start == FROM_FIRST:
            slice_.begin_with(begins)
    return UnitWork(planned, made)


def try_slice(packed: bytes, location: Location, build_id: str) -> SliceDone | Unreadable:
    """A failure of the store is raised: whoever runs tasks may try it again."""
    try:
        return build_slice(unpack(packed, location), location, build_id)
    except CaptureError as error:
        if may_pass(error):
            raise
        return Unreadable.of(error)


def try_to_scan(path: str, settings: ScanSettings) -> FileIndex | Unreadable:
    try:
        return scan_capture(path, settings)
    except CaptureError as error:
        if may_pass(error):
            raise
        return Unreadable.of(error)


def missing_inputs(before: Iterable[UnitInput], now: Sequence[UnitInput]) -> list[UnitInput]:
    """Captures of which nothing is left: neither their content under any name, nor a longer file of their
    name, as a recorder that went on leaves one."""
    contents = {each.content for each in now}
    sizes = {each.path: each.size for each in now}
    return [each for each in before if each.content not in contents and sizes.get(each.path, -1) < each.size]
