"""A micro-batch of journals of sessions: units that have got new captures are built again, whole.

    streamer = SessionStreamer(Location("lake"), SparkRunner(spark), "journals", settings)
    streamer.advance([look(path)])

What a message of a session means hangs on all before it in its connection, so there is no place to go on
from: a batch costs as much as the days of the sessions that it concerns. All state is in the lake, as that of
any build: a batch that is run again does nothing, and after a restart the folder is looked at again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

from pregao.lake.build import Builder, BuildReport, BuildSettings
from pregao.lake.errors import FewerCapturesError, LakeConflictError
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings
from pregao.lake.plan.scanning import Scanning
from pregao.lake.plan.sessions import days_concerned, find_session_units
from pregao.lake.plan.stored import Stored
from pregao.lake.plan.units import LakeUnit
from pregao.lake.runners import Runner, described
from pregao.lake.state import LakeState
from pregao.lake.store.location import Location
from pregao.lake.streaming.indexes import LeftOut
from pregao.lake.streaming.source import BatchReport, StreamSettings
from pregao.lake.unit_work import Unreadable, try_to_scan
from pregao.model.errors import CaptureError

_ATTEMPTS: Final = 3


def _silent(done: int, total: int) -> None:
    return


class SessionStreamer:
    """As `streamer.Streamer` is. `folder` is where the captures are: a unit is built from all of its
    own there, not only from the new ones."""

    def __init__(
        self, location: Location, runner: Runner, folder: str, settings: StreamSettings
    ) -> None:  # fmt: skip
        self._location, self._runner, self._folder = location, runner, folder
        self._settings = BuildSettings(
            bars=settings.bars, map=settings.map, scratch=settings.scratch, derive=settings.derive,
            system=settings.system,
        )  # fmt: skip
        self._indexes: dict[str, FileIndex] = {}  # of all captures of the folder that can be read

    def is_due(self) -> bool:
        """Computed tables are made with the rows that they follow from."""
        return False

    def advance(
        self, files: Sequence[Stored], *, finish: bool = False, note: Mapping[str, Any] | None = None
    ) -> BatchReport:
        """All that is there is built at once: there is nothing to wait for, and nothing left to finish."""
        began = perf_counter()
        report = BatchReport(LakeState.recovered(self._location, self._settings.system).version.number)
        report.files = len(files)
        if files:
            with described("stream"):
                self._build({file.path for file in files}, report)
        report.seconds = perf_counter() - began
        return report

    def _build(self, new: set[str], report: BatchReport) -> None:
        self._look(new, report)
        known = [self._indexes[path] for path in sorted(self._indexes)]
        # What a batch plans does not grow with the days that the folder has.
        units = find_session_units(known, days_concerned(known, new))
        dates = frozenset(unit.trade_date for unit in units if new & _paths(unit, known))
        # A capture may have other sessions and the next day too: their units must not seem to lose captures.
        needed = {path for unit in units if unit.trade_date in dates for path in _paths(unit, known)}
        if needed:
            chosen = replace(self._settings, dates=dates)
            builder = Builder(self._location, self._runner, chosen)
            self._take(_tried(lambda: builder.build(sorted(needed)), report), report)

    def _look(self, new: set[str], report: BatchReport) -> None:
        """Indexes of captures that are new, and of those that were there before this process."""
        settings, there = self._settings, find_captures([self._folder])
        unknown = sorted({path for path in there if path not in self._indexes} | (new & set(there)))
        chosen = ScanSettings(settings.map, settings.scratch, settings.piece_packets, settings.system)
        scanning = Scanning(self._location, self._runner, chosen, scan=try_to_scan)
        found = {index.path: index for index in scanning.indexes(unknown, _silent)}
        for path in self._indexes.keys() - set(there) | new:
            self._indexes.pop(path, None)
        self._indexes |= found
        for each in scanning.others:
            if isinstance(each, Unreadable) and each.file in new:
                report.left_out.append(LeftOut(each.file, str(each)))

    def _take(self, built: BuildReport | None, report: BatchReport) -> None:
        if built is None:
            return
        report.version, report.counts = built.version, built.counts
        report.units = built.units
        report.derived = self._settings.derive and bool(built.units)
        report.left_out += [LeftOut(str(each.key), str(each)) for each in (*built.refused, *built.failed)]


def _paths(unit: LakeUnit, indexes: list[FileIndex]) -> set[str]:
    return {indexes[number].path for number in unit.files}


def _tried(build: Callable[[], BuildReport], report: BatchReport) -> BuildReport | None:
    """None: nothing could be built, which ends no stream."""
    for attempt in range(_ATTEMPTS):
        try:
            return build()
        except (FewerCapturesError, CaptureError) as error:
            report.left_out.append(LeftOut(getattr(error, "file", ""), str(error)))
            return None
        except LakeConflictError:  # somebody else has changed the lake: look again
            if attempt + 1 == _ATTEMPTS:
                raise
    raise AssertionError
