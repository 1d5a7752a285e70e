"""`stream-kills`: a `pregao stream` with its Java that is killed twice, and goes on to the right tables.

Each trial gives a day's rotated captures to the folder in three parts. While the stream works through the
first and the second, all its processes are killed at a random moment, in a batch or between two; after one
of the kills the checkpoint folder is deleted too. In some trials a capture of the first part comes last. What
the lake shows after a kill must be a part of what it shows in the end, and in the end every table must be
that of one undisturbed `pregao build` of all captures.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic, sleep

from pregao.lake.errors import NoLakeError
from pregao.lake.lake import Lake
from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from tests.kits.lakes import all_tables, build, make_days, rows_of
from tests.kits.streams import rotate
from tests.proofs.kills_build import BuildProcess
from tests.proofs.kills_processes import kill_group
from tests.proofs.pregao_process import PATIENCE_S, PregaoProcess
from tests.proofs.result import Result

NAME = "stream-kills"
TRIALS = 8
_STAGES = 3
_PERIOD_S = 120
_BATCH_FILES = 8
_PATIENT = ("--wait", f"{2 * _PERIOD_S + 60}s")  # a batch may have the feeds of different periods
_BATCH = "lake version "  # in the line of each
_SHOWN = ("packets", "orders", "trades", "quotes", "depth")
_CHECKPOINT = "_streams"


class WrongError(Exception):
    """What must not be."""


@dataclass(frozen=True)
class Setting:
    folder: Path
    periods: list[list[Path]]
    expected: dict[str, list[str]]
    computed: bool


@contextmanager
def prepared(folder: Path, *, computed: bool = True) -> Iterator[Setting]:
    (day,) = make_days(folder / "days", seed=29, messages=900, faults="loss=1%,both=4,gap=2x5@A")
    captures, lake = folder / "captures", folder / "built"
    periods = rotate(day, captures, _PERIOD_S, "0[67]8")
    if computed:
        _build(captures, lake, folder)
    else:
        build([captures], lake)
    yield Setting(folder, periods, all_tables(lake), computed)


def _build(captures: Path, lake: Path, folder: Path) -> None:
    run = BuildProcess([captures], lake, "local[2]", folder)
    try:
        if run.wait():
            raise RuntimeError(f"an undisturbed build failed: {run.lines[-5:]}")
    finally:
        run.end()


class StreamProcess(PregaoProcess):
    def __init__(self, captures: Path, lake: Path, scratch: Path, *options: str) -> None:
        self.batches: list[float] = []  # when each was told
        common = ["--lake", str(lake), "--master", "local[2]", "--batch-files", str(_BATCH_FILES), *_PATIENT]
        super().__init__(["stream", str(captures), *common, *options], scratch)

    def _note(self, line: str) -> None:
        if _BATCH in line:
            self.batches.append(monotonic())

    def reaches(self, batches: int) -> bool:
        """Wait until so many are done; False when it ended before."""
        with self._news:
            self._news.wait_for(lambda: len(self.batches) >= batches or self._ended, PATIENCE_S)
            return len(self.batches) >= batches


@dataclass(frozen=True)
class Plan:
    """`kills`: after how many batches, and how many seconds later. `loses` is the kill after which the
    checkpoint folder goes."""

    kills: list[tuple[int, float]]
    loses: int
    late: bool

    @classmethod
    def of(cls, seed: int) -> "Plan":
        random = Random(f"{NAME}/{seed}")
        kills = [(random.choice((1, 2, 3)), 1.5 * random.random()) for _ in range(_STAGES - 1)]
        return cls(kills, random.randrange(len(kills)), late=bool(seed % 2))


def cases(trials: int = TRIALS, first: int = 1) -> list[int]:
    return list(range(first, first + trials))


def summary(tallies: Iterable[Counter[str]]) -> dict[str, int]:
    return dict(sorted(sum(tallies, Counter[str]()).items()))


def run_case(setting: Setting, seed: int) -> tuple[Result, Counter[str]]:
    plan, result = Plan.of(seed), Result(NAME, trials=1)
    with tempfile.TemporaryDirectory(
        prefix="trial-", dir=setting.folder, ignore_cleanup_errors=True
    ) as folder:
        trial = _Trial(setting, plan, Path(folder))
        try:
            trial.run()
        except WrongError as error:
            result.failures = 1
            result.failed.append(f"{NAME} seed {seed} ({plan}): {error}")
        result.comparisons = trial.comparisons
        result.impairments = trial.tally["killed_in_a_batch"] + trial.tally["killed_between_batches"]
    return result, trial.tally


class _Trial:
    def __init__(self, setting: Setting, plan: Plan, folder: Path) -> None:
        self._setting, self._plan = setting, plan
        self._captures, self._lake, self._scratch = (folder / name for name in ("in", "lake", "scratch"))
        for path in (self._captures, self._scratch):
            path.mkdir()
        self.tally: Counter[str] = Counter()
        self.comparisons = 0

    def run(self) -> None:
        periods = self._setting.periods
        late = periods[1][0] if self._plan.late else None
        share = len(periods) // _STAGES
        for number, (batches, seconds) in enumerate(self._plan.kills):
            self._give(periods[number * share : (number + 1) * share], late)
            self._killed(batches, seconds)
            self._look(partly=late is None)
            if number == self._plan.loses:
                shutil.rmtree(self._lake / _CHECKPOINT, ignore_errors=True)
                self.tally["checkpoints_lost"] += 1
        self._give(periods[(_STAGES - 1) * share :], None)
        if late is not None:
            self._give([[late]], None)
            self.tally["late_captures"] += 1
        self._to_the_end()

    def _give(self, periods: list[list[Path]], but: Path | None) -> None:
        for file in (file for files in periods for file in files if file != but):
            part = self._captures / f"{file.name}.part"
            shutil.copy(file, part)
            part.rename(self._captures / file.name)

    def _start(self, *options: str) -> StreamProcess:
        chosen = [*options, *([] if self._setting.computed else ["--no-computed"])]
        return StreamProcess(self._captures, self._lake, self._scratch, *chosen)

    def _killed(self, batches: int, seconds: float) -> None:
        run = self._start("--every", "300ms")
        try:
            if not run.reaches(batches):
                raise WrongError(f"the stream ended by itself: {run.lines[-3:]}")
            sleep(seconds)
            kill_group(run.pid)
        finally:
            run.end()
        self.tally["killed_in_a_batch" if self._in_a_batch() else "killed_between_batches"] += 1
        ledger = Ledger(Location(self._lake))
        self.tally["left_pending"] += ledger.exists and bool(ledger.pending)

    def _in_a_batch(self) -> bool:
        """By Spark's own logs: a batch that was begun and not ended."""
        begun, ended = (
            [
                int(path.name)
                for path in self._lake.glob(f"{_CHECKPOINT}/*/query/{name}/*")
                if path.name.isdigit()
            ]
            for name in ("offsets", "commits")
        )
        return max(begun, default=-1) > max(ended, default=-1)

    def _look(self, *, partly: bool) -> None:
        """A lake of a stream that was killed can be read, and shows nothing that is not so in the end."""
        try:
            lake = Lake(self._lake)
        except NoLakeError:
            return
        for table in _SHOWN:
            found = set(rows_of(lake, table))
            self.comparisons += 1
            if partly and not found <= set(self._setting.expected[table]):
                raise WrongError(f"after a kill {table} shows what is not so in the end")

    def _to_the_end(self) -> None:
        run = self._start("--once")
        try:
            if run.wait():
                raise WrongError(f"the stream that nobody disturbed failed: {run.lines[-3:]}")
        finally:
            run.end()
        if Ledger(Location(self._lake)).pending:
            raise WrongError("an intent is still pending")
        self._compare("at the end")
        self.tally["orphans_vacuumed"] += len(vacuum(Location(self._lake), keep_ns=0, grace_ns=0).files)
        self._compare("after vacuum")

    def _compare(self, when: str) -> None:
        found = all_tables(self._lake)
        for table, rows in self._setting.expected.items():
            self.comparisons += 1
            if found[table] != rows:
                raise WrongError(f"{when} table {table} has {len(found[table])} rows, not those {len(rows)}")
