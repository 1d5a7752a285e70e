"""Proofs whose cases are seeds: run them all, add up what they say."""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.proofs import hostile_packets, impaired_days, kills, kills_setting, live_days
from tests.proofs.cases import run_cases
from tests.proofs.day_report import summary
from tests.proofs.result import Report, Result

Outcome = tuple[Result, Any]  # with what only this proof counts, if it came to that


@dataclass(frozen=True)
class SeededProof:
    name: str
    trials: int  # as many as are asked for
    cases: Callable[[int, int], list[int]]  # seeds of so many trials, from the first on
    run: Callable[[int], Outcome]
    jobs: int | None = None  # None: as many as there may be
    summary: Callable[[list[Any]], dict[str, Any]] = summary

    def prove(self, options: argparse.Namespace, report: Report) -> Result:
        trials = self.trials if options.trials is None else options.trials
        seeds = self.cases(trials, options.seed) if options.case is None else [options.case]
        result, days = Result(self.name), []
        for seed, outcome in run_cases(self.run, seeds, min(options.jobs, self.jobs or options.jobs)):
            if isinstance(outcome, Exception):
                # An AssertionError of ours has a result; this is a crash, and its seed shows it again.
                words = f"{self.name} seed {seed}: {type(outcome).__name__}: {outcome}"
                outcome = Result(self.name, trials=1, failures=1, failed=[words]), None
            result.add(outcome[0])
            if outcome[1] is not None:
                days.append(outcome[1])
            report(outcome[0].trials)
        result.details = self.summary(days)
        return result


@dataclass(frozen=True)
class KillsProof(SeededProof):
    """Its trials share captures, the lakes of undisturbed builds and a cluster, all of which take long."""

    def prove(self, options: argparse.Namespace, report: Report) -> Result:
        with (
            tempfile.TemporaryDirectory(prefix="pregao-kills-", ignore_cleanup_errors=True) as folder,
            kills_setting.prepared(Path(folder)) as setting,
        ):
            trials = SeededProof(
                self.name, self.trials, self.cases, partial(kills.run_case, setting), self.jobs, self.summary
            )
            return trials.prove(options, report)


IMPAIRED_DAYS = SeededProof(
    impaired_days.NAME, impaired_days.SEEDS, impaired_days.cases, impaired_days.run_case
)
HOSTILE_PACKETS = SeededProof(
    hostile_packets.NAME, hostile_packets.PACKETS, hostile_packets.cases, hostile_packets.run_case
)
# One at a time: each has two processes already, and their pace is real.
LIVE_DAYS = SeededProof(live_days.NAME, live_days.SEEDS, live_days.cases, live_days.run_case, jobs=1)
# One at a time: each has two cores to itself, and its moments are shares of measured times.
KILLS = KillsProof(kills.NAME, kills.TRIALS, kills.cases, kills.run_case, jobs=1, summary=kills.summary)
ALL = (IMPAIRED_DAYS, HOSTILE_PACKETS, LIVE_DAYS, KILLS)
