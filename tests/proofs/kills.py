"""`kills`: builds whose Python worker, executor or driver is killed at any moment, and started again.

Each trial builds a small day by a real `pregao build`, into no lake or over one whose captures have changed
since, on threads of one Java (which fail at once or try tasks again) or on a small cluster. Somebody is
killed in one of its steps, sometimes again in the next run. In the end every table must be that of an
undisturbed build, and a reader that keeps opening the lake must only ever have seen whole ones.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from time import monotonic, sleep

from pregao.lake.lake import Lake
from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from tests.kits.lakes import all_tables
from tests.proofs.kills_build import STEPS, BuildProcess
from tests.proofs.kills_processes import Tree, kill, kill_group
from tests.proofs.kills_reader import Reader
from tests.proofs.kills_setting import NEW, NOTHING, OLD, Setting
from tests.proofs.result import Result

NAME = "kills"
TRIALS = 100
WORKER, EXECUTOR, DRIVER, GROUP = "worker", "executor", "driver", "whole_build"
# There is no Python worker before the first task.
_MOMENTS = [
    (target, step, replacing)
    for target in (WORKER, EXECUTOR, DRIVER, GROUP)
    for step in STEPS
    for replacing in (False, True)
    if (target, step) != (WORKER, "start")
]
_STRIDE = 7  # shares no factor with the number of moments: so many trials in a row have them all
_AGAIN_SHARE = 0.3
_MOST_KILLS = 3
_TRIES = 3
_PATIENCE_S = 60.0
_ONE_JAVA = ("local[2]", "local[2,4]")


class WrongError(Exception):
    """What must not be."""


@dataclass(slots=True)
class Tally:
    """What happened in trials."""

    targets: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.targets += other.targets
        self.steps += other.steps
        self.others += other.others


def summary(tallies: Iterable[Tally]) -> dict[str, int]:
    whole = Tally()
    for tally in tallies:
        whole.add(tally)
    return {
        **{f"killed_{target}": whole.targets[target] for target in (WORKER, EXECUTOR, DRIVER, GROUP)},
        **{f"in_{step}": whole.steps[step] for step in STEPS},
        **dict(sorted(whole.others.items())),
    }


@dataclass(frozen=True)
class Plan:
    """What is done in a trial: all of it follows from the seed, but for the pace of the machine."""

    replacing: bool
    master: str
    kills: list[tuple[str, str, float]]  # whom, in which step, after which share of it

    @classmethod
    def of(cls, seed: int, cluster: str) -> "Plan":
        random = Random(f"kills/{seed}")
        target, step, replacing = _MOMENTS[seed * _STRIDE % len(_MOMENTS)]
        masters = [*_ONE_JAVA, *([cluster] * (4 if target == EXECUTOR else 1) if cluster else [])]
        kills = [(target, step, random.random())]
        while len(kills) < _MOST_KILLS and random.random() < _AGAIN_SHARE:
            target, step, _ = random.choice(_MOMENTS)
            kills.append((target, step, random.random()))
        return cls(replacing, random.choice(masters), kills)

    def sooner(self) -> "Plan":
        return replace(self, kills=[(target, step, share / 2) for target, step, share in self.kills])


def cases(trials: int = TRIALS, first: int = 1) -> list[int]:
    return list(range(first, first + trials))


def run_case(setting: Setting, seed: int) -> tuple[Result, Tally]:
    """A run that was over before anybody could be killed is no trial: another one, with the kill sooner."""
    plan = Plan.of(seed, setting.cluster)
    result, tally = Result(NAME, trials=1), Tally()
    for _ in range(_TRIES):
        _try(setting, seed, plan, result, tally)
        if tally.targets or result.failures:
            break
        plan = plan.sooner()
    result.impairments = tally.targets.total()
    return result, tally


def _try(setting: Setting, seed: int, plan: Plan, result: Result, tally: Tally) -> None:
    with tempfile.TemporaryDirectory(
        prefix="trial-", dir=setting.folder, ignore_cleanup_errors=True
    ) as folder:
        trial = _Trial(setting, plan, Path(folder), tally)
        try:
            trial.run()
        except WrongError as error:
            result.failures = 1
            result.failed.append(f"{NAME} seed {seed} ({plan}): {error}")
        result.comparisons += trial.comparisons


class _Trial:
    def __init__(self, setting: Setting, plan: Plan, folder: Path, tally: Tally) -> None:
        self._setting, self._plan, self._tally = setting, plan, tally
        self._lake, self._scratch = folder / "lake", folder / "scratch"
        self._scratch.mkdir()
        self._runs: list[BuildProcess] = []
        self.comparisons = 0

    def run(self) -> None:
        before = NOTHING
        if self._plan.replacing:
            shutil.copytree(self._setting.old_lake, self._lake)
            before = OLD
        states = {name: self._setting.states[name] for name in (NOTHING, before, NEW)}
        if self._plan.replacing:
            del states[NOTHING]
        with Reader(self._lake, states) as reader:
            try:
                self._build_until_done()
            finally:
                for run in self._runs:
                    run.end()
            reader.look()
        self._note(reader)
        self._compare("after the builds")
        self._nothing_is_left_but_the_lake()

    def _build_until_done(self) -> None:
        for target, step, share in self._plan.kills:
            if self._disturbed(target, step, share):
                return
        run = self._start()
        if run.wait():
            raise WrongError(f"the build that nobody disturbed failed: {run.lines[-3:]}")

    def _start(self) -> BuildProcess:
        setting = self._setting
        self._tally.others["restarts"] += bool(self._runs)
        self._runs.append(
            BuildProcess(
                setting.captures, self._lake, self._plan.master, self._scratch, computed=setting.computed
            )
        )
        return self._runs[-1]

    def _disturbed(self, target: str, step: str, share: float) -> bool:
        """A run in which somebody is killed; whether it ended well all the same."""
        run = self._start()
        if not run.reaches(step):
            self._tally.others["too_late"] += 1
            return run.wait() == 0
        sleep(share * self._length(run, step))
        told, hit = run.step, self._kill(run, target, share)
        if not hit:
            self._tally.others["too_late"] += 1
            return run.wait() == 0
        self._tally.targets[target] += 1
        self._tally.steps[told] += 1
        if target in (DRIVER, GROUP):
            run.reap()  # what it leaves running is left alone: the next run meets it
            self._tally.others["left_pending"] += self._is_pending()
            return False
        if run.wait() == 0:
            self._tally.others["survived"] += 1
            return True
        if run.complaint():
            raise WrongError(run.complaint())
        return False

    def _length(self, run: BuildProcess, step: str) -> float:
        """How long a step will take, by the pace of this run: the machine may have other work too."""
        known = self._setting.paces[step]
        return known.inside * (run.began[step] - run.started) / known.before

    def _kill(self, run: BuildProcess, target: str, share: float) -> bool:
        """Whether there was somebody to kill, and something left to do; of several one as by lot."""
        if not run.is_running:
            return False
        if target == GROUP:
            return kill_group(run.pid)
        if target == DRIVER:
            return kill(run.pid)
        tree, setting = Tree(), self._setting
        on_cluster = self._plan.master == setting.cluster
        roots = setting.cluster_pids if on_cluster else (run.pid,)
        find: Callable[[int], list[int]] = tree.workers_of
        if target == EXECUTOR:
            find = tree.executors_of if on_cluster else tree.java_of
        found = [pid for root in roots for pid in find(root)]
        return bool(found) and kill(found[int(share * len(found))])

    def _is_pending(self) -> bool:
        ledger = Ledger(Location(self._lake))
        return ledger.exists and bool(ledger.pending)

    def _note(self, reader: Reader) -> None:
        self.comparisons += reader.reads.total()
        self._tally.others["reads"] += reader.reads.total()
        self._tally.others["versions_seen"] += len(reader.versions)
        if reader.wrong:
            raise WrongError(reader.wrong[0])

    def _compare(self, when: str) -> None:
        found = all_tables(self._lake)
        for table, rows in self._setting.expected.items():
            self.comparisons += 1
            if found[table] != rows:
                raise WrongError(f"{when} table {table} has {len(found[table])} rows, not those {len(rows)}")

    def _nothing_is_left_but_the_lake(self) -> None:
        """What dead builds left behind is for `vacuum`, which leaves what is needed."""
        if self._is_pending():
            raise WrongError("an intent is still pending")
        self._wait_for_the_last_worker()
        location = Location(self._lake)
        gone = vacuum(location, keep_ns=0, grace_ns=0)
        self._tally.others["orphans_vacuumed"] += len(gone.files)
        self._compare("after vacuum")
        lake = Lake(self._lake)
        for table in DATA_TABLES:
            live = {file.path for file in lake.files(table)}
            there = {file.path for file in location.files(table) if file.path.endswith(".parquet")}
            if {path for path in there if not path.startswith("_delta_log/")} != live:
                raise WrongError(f"files of {table} that no version names are left after vacuum")

    def _wait_for_the_last_worker(self) -> None:
        """Executors of a driver that was killed end on their own; until then they may write."""
        until = monotonic() + _PATIENCE_S
        while monotonic() < until:
            tree = Tree()
            if not any(tree.executors_of(root) for root in self._setting.cluster_pids):
                return
            sleep(0.2)
        raise WrongError("executors of a dead driver did not end")
