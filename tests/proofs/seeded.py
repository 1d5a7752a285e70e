"""Proofs whose cases are seeds: run them all, add up what they say."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from tests.proofs import hostile_packets, impaired_days, live_days
from tests.proofs.cases import run_cases
from tests.proofs.day_report import DayReport, summary
from tests.proofs.result import Report, Result

Outcome = tuple[Result, DayReport | None]


@dataclass(frozen=True)
class SeededProof:
    name: str
    trials: int  # as many as are asked for
    cases: Callable[[int, int], list[int]]  # seeds of so many trials, from the first on
    run: Callable[[int], Outcome]
    jobs: int | None = None  # None: as many as there may be

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
        result.details = summary(days)
        return result


IMPAIRED_DAYS = SeededProof(
    impaired_days.NAME, impaired_days.SEEDS, impaired_days.cases, impaired_days.run_case
)
HOSTILE_PACKETS = SeededProof(
    hostile_packets.NAME, hostile_packets.PACKETS, hostile_packets.cases, hostile_packets.run_case
)
# One at a time: each has two processes already, and their pace is real.
LIVE_DAYS = SeededProof(live_days.NAME, live_days.SEEDS, live_days.cases, live_days.run_case, jobs=1)
ALL = (IMPAIRED_DAYS, HOSTILE_PACKETS, LIVE_DAYS)
