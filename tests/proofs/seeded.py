"""Proofs whose cases are seeds: run them all, add up what they say."""

import argparse
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.proofs import (
    bond_prices,
    certification,
    conflated_days,
    exchange_kills,
    fast_hostile,
    fast_impaired_days,
    fast_live_days,
    fast_replayer,
    fix_hostile,
    fuzz_fast,
    guarded_memory,
    hostile_packets,
    impaired_days,
    kills,
    kills_setting,
    lake_year,
    live_days,
    session_hostile,
    stream_kills,
    trademate_hostile,
)
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
class PreparedProof:
    """Its trials share captures, lakes of undisturbed builds and the like, all of which take long."""

    name: str
    trials: int
    cases: Callable[[int, int], list[int]]
    run: Callable[[Any, int], Outcome]
    summary: Callable[[list[Any]], dict[str, Any]]
    prepared: Callable[[Path], AbstractContextManager[Any]]

    def prove(self, options: argparse.Namespace, report: Report) -> Result:
        """One at a time: each has two cores to itself."""
        with (
            tempfile.TemporaryDirectory(prefix=f"pregao-{self.name}-", ignore_cleanup_errors=True) as folder,
            self.prepared(Path(folder)) as setting,
        ):
            run = partial(self.run, setting)
            trials = SeededProof(self.name, self.trials, self.cases, run, 1, self.summary)
            return trials.prove(options, report)


IMPAIRED_DAYS = SeededProof(
    impaired_days.NAME, impaired_days.SEEDS, impaired_days.cases, impaired_days.run_case
)
HOSTILE_PACKETS = SeededProof(
    hostile_packets.NAME, hostile_packets.PACKETS, hostile_packets.cases, hostile_packets.run_case
)
CONFLATED_DAYS = SeededProof(
    conflated_days.NAME, conflated_days.DAYS, conflated_days.cases, conflated_days.run_case,
    summary=lambda _: {},
)  # fmt: skip
FIX_HOSTILE = SeededProof(
    fix_hostile.NAME, fix_hostile.STREAMS, fix_hostile.cases, fix_hostile.run_case, summary=lambda _: {}
)
# One at a time: each has two processes already, and their pace is real.
LIVE_DAYS = SeededProof(live_days.NAME, live_days.SEEDS, live_days.cases, live_days.run_case, jobs=1)
KILLS = PreparedProof(
    kills.NAME, kills.TRIALS, kills.cases, kills.run_case, kills.summary, kills_setting.prepared
)
STREAM_KILLS = PreparedProof(
    stream_kills.NAME, stream_kills.TRIALS, stream_kills.cases, stream_kills.run_case, stream_kills.summary,
    stream_kills.prepared,
)  # fmt: skip
LAKE_YEAR = PreparedProof(
    lake_year.NAME, lake_year.TRIALS, lake_year.cases, lake_year.run_case, lake_year.summary,
    lake_year.prepared,
)  # fmt: skip
EXCHANGE_KILLS = SeededProof(
    exchange_kills.NAME,
    exchange_kills.SEEDS,
    exchange_kills.cases,
    exchange_kills.run_case,
    jobs=1,
    summary=lambda _: {},
)
FUZZ_FAST = SeededProof(
    fuzz_fast.NAME, fuzz_fast.MESSAGES, fuzz_fast.cases, fuzz_fast.run_case, summary=lambda _: {}
)
FAST_IMPAIRED_DAYS = SeededProof(
    fast_impaired_days.NAME, fast_impaired_days.SEEDS, fast_impaired_days.cases, fast_impaired_days.run_case
)
FAST_HOSTILE = SeededProof(
    fast_hostile.NAME, fast_hostile.DATAGRAMS, fast_hostile.cases, fast_hostile.run_case,
    summary=lambda _: {},
)  # fmt: skip
# One at a time, as LIVE_DAYS.
FAST_LIVE_DAYS = SeededProof(
    fast_live_days.NAME, fast_live_days.SEEDS, fast_live_days.cases, fast_live_days.run_case, jobs=1
)
FAST_REPLAYER = SeededProof(
    fast_replayer.NAME, fast_replayer.SEEDS, fast_replayer.cases, fast_replayer.run_case,
    summary=fast_replayer.summary,
)  # fmt: skip
BOND_PRICES = SeededProof(
    bond_prices.NAME, bond_prices.BONDS, bond_prices.cases, bond_prices.run_case, summary=bond_prices.summary
)
TRADEMATE_HOSTILE = SeededProof(
    trademate_hostile.NAME, trademate_hostile.MESSAGES, trademate_hostile.cases, trademate_hostile.run_case,
    summary=lambda _: {},
)  # fmt: skip
SESSION_HOSTILE = SeededProof(
    session_hostile.NAME, session_hostile.CAPTURES, session_hostile.cases, session_hostile.run_case,
    summary=lambda _: {},
)  # fmt: skip
CERTIFICATION = SeededProof(
    certification.NAME, len(certification.CASES), certification.cases, certification.run_case,
    summary=lambda _: {},
)  # fmt: skip
# One at a time: some of its tests have ports and processes of their own.
GUARDED_MEMORY = SeededProof(
    guarded_memory.NAME, len(guarded_memory.PLACES), guarded_memory.cases, guarded_memory.run_case, jobs=1,
    summary=guarded_memory.summary,
)  # fmt: skip
ALL: tuple[SeededProof | PreparedProof, ...] = (
    FUZZ_FAST, FAST_IMPAIRED_DAYS, FAST_HOSTILE, FAST_REPLAYER, FAST_LIVE_DAYS, BOND_PRICES, CONFLATED_DAYS,
    TRADEMATE_HOSTILE, SESSION_HOSTILE, CERTIFICATION, GUARDED_MEMORY,
    IMPAIRED_DAYS, HOSTILE_PACKETS, FIX_HOSTILE, LIVE_DAYS, EXCHANGE_KILLS, KILLS, STREAM_KILLS, LAKE_YEAR,
)  # fmt: skip
