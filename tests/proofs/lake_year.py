"""`lake-year`: a lake of a year. What a commit and a streamed batch cost must not grow with its age.

Planner, manifests, logs, commits and maintenance are the real ones. Tasks return prepared manifests
(`prepared_tasks`), but for some days that have real captures too (those before the streamed days among
them). Dates are built one after the other; then
a channel is added to one of them, one is built again, the lake is compacted and vacuumed, and a real day is
streamed. A day of the same seed was streamed into a copy of the lake as it was after its first dates: so both
streams do the same, and only the lake's age differs.

What is judged: the median of the last dates beside that of the first, in requests and bytes of a store that
counts them (`counting_store`) and in processor seconds of the driver, which say the same on a busy machine;
its memory; that no capture is scanned twice; and that the lake has in the end all files that tasks said they
had written.
"""

import argparse
import json
import resource
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from pregao.lake.build import Builder, BuildReport, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.maintenance.compact import compact
from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.stored import look
from pregao.lake.streaming.source import StreamSettings
from pregao.lake.streaming.streamer import Streamer
from tests.kits.lakes import SMALL_PIECES, make_days
from tests.kits.streams import rotate
from tests.proofs.counting_store import CountingLocation, Counts
from tests.proofs.prepared_tasks import PreparedRunner, moved, prepared_captures
from tests.proofs.result import Result

NAME = "lake-year"
TRIALS = 1
MOST_GROWTH = 1.2
MOST_BYTES = 2 << 30
_FIRST_CHANNEL = 100
_TEMPLATE = "078"
_PERIOD_S = 120


class WrongError(Exception):
    """What must not be."""


@dataclass(frozen=True)
class Scale:
    channels: int = 20
    days: int = 250
    slices: int = 64
    real_days: int = 10
    compared: int = 10  # dates at the beginning and at the end
    skipped: int = 0  # dates before those
    batches: int | None = None  # of the day that is streamed; None: all
    judge_seconds: bool = True


# In a lake this small what is read of a first checkpoint is seen: dates are compared from there on.
SLICE_OF_IT = Scale(
    channels=2, days=9, slices=8, real_days=1, compared=3, skipped=3, batches=4, judge_seconds=False
)


@dataclass(slots=True)
class Costs:
    """Of each date or batch: requests, bytes, processor seconds of the driver."""

    requests: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def medians(self, part: slice) -> dict[str, float]:
        return {
            "requests": median(self.requests[part]), "bytes": median(self.bytes[part]),
            "seconds": round(median(self.seconds[part]), 3),
        }  # fmt: skip


class Year:
    def __init__(self, folder: Path, scale: Scale) -> None:
        self._folder, self._scale, self.counts = folder, scale, Counts()
        self._location = CountingLocation(folder / "lake", self.counts)
        (template,) = make_days(folder / "template", seed=11, messages=1_200)
        self._captures = sorted(template.glob(f"{_TEMPLATE}_*.pcap"))
        settings = ScanSettings(piece_packets=SMALL_PIECES)
        self._indexes = {path.name[3:]: scan_capture(str(path), settings) for path in self._captures}
        self._first = date.fromisoformat(template.name[:10])
        self._channels = [_FIRST_CHANNEL + number for number in range(scale.channels + 1)]
        self.runner = PreparedRunner(self._location, self._prepared, self._channels, scale.slices)
        self.dates = _weekdays(self._first + timedelta(days=30), scale.days + 1)
        self._young = scale.skipped + scale.compared  # dates of the lake that is copied
        self._after = {number: self.dates[number] for number in (self._young, scale.days)}
        del self.dates[-1]
        self._real = {self.dates[number] for number in self._real_numbers()}
        self.commits, self.details = Costs(), dict[str, Any]()
        self.checks = 0

    def _real_numbers(self) -> set[int]:
        """Dates with real captures: the last before each of the days that are streamed, so that both begin
        with books of a day before, and the others in the middle."""
        scale = self._scale
        middle = (scale.days - scale.real_days) // 2
        return {self._young - 1, scale.days - 1, *range(middle, middle + max(scale.real_days - 2, 0))}

    def _prepared(self, path: str) -> FileIndex | None:
        """Its folder says the date, its name the channel."""
        place = Path(path)
        if place.parent.parent.name != "prepared":
            return None
        day = date.fromisoformat(place.parent.name)
        return moved(self._indexes[place.name[3:]], path, int(place.name[:3]), (day - self._first).days)

    # What is done

    def build_all(self) -> None:
        for number, day in enumerate(self.dates):
            folder = self._folder / "prepared" / day.isoformat()
            for channel in self._channels[:-1]:
                prepared_captures(self._captures, folder, channel, (day - self._first).days)
            paths = [str(folder)]
            if day in self._real:
                paths += map(
                    str,
                    make_days(self._folder / "real" / day.isoformat(), seed=number, date=day, messages=600),
                )
            with self._counted(self.commits):
                report = self._build(paths)
            self._expect(f"units of {day}", self._prepared_units(report), self._scale.channels)
            if number + 1 == self._young:
                self.first_batches = self._stream_into_copy(number + 1)

    def _stream_into_copy(self, dates: int) -> Costs:
        copy = self._folder / "copy"
        shutil.copytree(self._folder / "lake", copy)
        try:
            return self.stream(CountingLocation(copy, self.counts), dates)
        finally:
            shutil.rmtree(copy)

    def add_channel(self) -> None:
        day = self.dates[len(self.dates) // 2]
        folder, before = self._folder / "prepared" / day.isoformat(), len(self.runner.scanned)
        added = prepared_captures(self._captures, folder, self._channels[-1], (day - self._first).days)
        report = self._build([str(folder)])
        self._expect("units of one channel more", len(report.units), 1)
        self._expect("captures that it scans", len(self.runner.scanned) - before, len(added))

    def rebuild_day(self) -> None:
        day, before = self.dates[len(self.dates) // 3], len(self.runner.scanned)
        folder = self._folder / "prepared" / day.isoformat()
        report = self._build([str(folder)], rebuild=True)
        self._expect("units of a day that is built again", len(report.units), self._scale.channels)
        self._expect("captures that it scans", len(self.runner.scanned) - before, 0)

    def compact_all(self) -> None:
        before = Lake(self._location).version.tables["orders"].files
        compact(Lake(self._location), runner=self.runner)
        self._expect("files of orders", Lake(self._location).version.tables["orders"].files < before, True)
        one_each = len(self.dates) * self._scale.channels + 1
        files = Lake(self._location).files("orders", {"source": [str(each) for each in self._channels]})
        self._expect("files of orders, one of each unit", len(files), one_each)

    def vacuum_all(self) -> None:
        done = vacuum(self._location, keep_ns=0, grace_ns=0)
        self.details["vacuumed_files"] = len(done.files)
        self._expect(
            "versions", [each.number for each in Lake(self._location).versions()], [max(done.versions) + 1]
        )

    def stream(self, location: CountingLocation, dates: int) -> Costs:
        """The day after so many dates. Without the first batch, which looks at all units once, and without
        the last, which ends the day."""
        costs, folder = Costs(), self._folder / f"streamed-{dates}"
        (day,) = make_days(folder / "day", seed=11, date=self._after[dates], messages=1_200)
        periods = rotate(day, folder / "captures", _PERIOD_S, "068")
        settings = StreamSettings(derive=False, piece_packets=SMALL_PIECES)
        streamer = Streamer(location, self.runner, folder / "checkpoint", settings)
        for files in periods[: self._scale.batches]:
            with self._counted(costs):
                streamer.advance([look(str(path)) for path in files])
        streamer.advance([], finish=True)
        for each in (costs.requests, costs.bytes, costs.seconds):
            del each[0]
        return costs

    # How it is judged

    def judge(self, last_batches: Costs) -> None:
        first = self._scale.skipped
        ends = slice(first, first + self._scale.compared), slice(-self._scale.compared, None)
        self._compare("commit", *(self.commits.medians(end) for end in ends))
        self._compare("batch", *(each.medians(slice(None)) for each in (self.first_batches, last_batches)))
        twice = [path for path, count in Counter(self.runner.scanned).items() if count > 1]
        self._expect("captures scanned twice", twice, [])
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.details["driver_bytes"] = most
        self._expect("memory of the driver is bounded", most <= MOST_BYTES, True)

    def expect_all_files(self) -> None:
        """Before anything is compacted: what tasks said is what the lake has."""
        scale = self._scale
        told = Lake(self._location).files("orders", {"source": [str(each) for each in self._channels]})
        self._expect("files of orders", len(told), (scale.channels * scale.days + 1) * scale.slices)

    def _compare(self, what: str, first: dict[str, float], last: dict[str, float]) -> None:
        for name, before in first.items():
            self.details |= {f"{what}_{name}_first": before, f"{what}_{name}_last": last[name]}
            if name != "seconds" or self._scale.judge_seconds:
                grown = last[name] / before
                self._expect(f"{name} of a {what} grow {grown:.2f} times", grown <= MOST_GROWTH, True)

    def _expect(self, what: str, found: Any, wanted: Any) -> None:
        self.checks += 1
        if found != wanted:
            raise WrongError(f"{what}: {found}, not {wanted}; {self.details}")

    def _build(self, paths: list[str], **changes: Any) -> BuildReport:
        settings = BuildSettings(piece_packets=SMALL_PIECES, slices=self._scale.slices, **changes)
        return Builder(self._location, self.runner, settings).build(paths)

    def _prepared_units(self, report: BuildReport) -> int:
        return sum(unit.channel in self._channels for unit in report.units)

    @contextmanager
    def _counted(self, costs: Costs) -> Iterator[None]:
        (requests, size), began, tasks = self.counts.now(), process_time(), self.runner.seconds
        yield
        now = self.counts.now()
        costs.requests.append(now[0] - requests)
        costs.bytes.append(now[1] - size)
        costs.seconds.append(process_time() - began - (self.runner.seconds - tasks))


def run_year(folder: Path, scale: Scale) -> Year:
    year = Year(folder, scale)
    for step in ("build_all", "add_channel", "rebuild_day", "expect_all_files", "compact_all", "vacuum_all"):
        since = perf_counter()
        getattr(year, step)()
        year.details[f"{step}_s"] = round(perf_counter() - since, 1)
    year.judge(year.stream(CountingLocation(folder / "lake", year.counts), scale.days))
    return year


def _weekdays(first: date, count: int) -> list[date]:
    days = (first + timedelta(days=number) for number in range(2 * count + 7))
    return [day for day in days if day.weekday() < 5][:count]


def cases(trials: int = TRIALS, first: int = 1) -> list[int]:
    return [first] * min(trials, TRIALS)


@contextmanager
def prepared(folder: Path) -> Iterator[Path]:
    yield folder


def run_case(folder: Path, seed: int, scale: Scale | None = None) -> tuple[Result, dict[str, Any] | None]:
    result = Result(NAME, trials=1)
    try:
        year = run_year(folder, scale or Scale())
    except WrongError as error:
        result.failures, result.failed = 1, [f"{NAME}: {error}"]
        return result, None
    result.comparisons = year.checks
    return result, year.details


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    return found[0] if found else {}


def main() -> None:
    """A year of any size: `python -m tests.proofs.lake_year --channels 20 --days 60`."""
    parser = argparse.ArgumentParser()
    for name in ("channels", "days", "slices", "real_days", "compared"):
        default = getattr(Scale, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    scale = Scale(**vars(parser.parse_args()))
    with TemporaryDirectory(prefix="pregao-lake-year-") as folder:
        result, details = run_case(Path(folder), 1, scale)
    print(json.dumps(details or {"failed": result.failed}, indent=2))


if __name__ == "__main__":
    main()
