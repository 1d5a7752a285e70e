"""Cases of a proof, each by its seed, in processes of their own: one that crashes is a failure by name."""

import faulthandler
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

WATCHDOG_S = 900

Outcome = TypeVar("Outcome")
Case = Callable[[int], Outcome]


class CrashError(Exception):
    """The process of a case ended before its case did."""


def run_cases(
    case: Case[Outcome], seeds: Iterable[int], jobs: int
) -> Iterator[tuple[int, Outcome | Exception]]:
    """(seed, what the case said of it, or the exception that ended it), as they are done."""
    suspects = []
    with _pool(jobs) as pool:
        running = {pool.submit(_watched, case, seed): seed for seed in seeds}
        for done in as_completed(running):
            error = done.exception()
            if isinstance(error, BrokenProcessPool):
                suspects.append(running[done])
            elif isinstance(error, Exception):
                yield running[done], error
            else:
                yield running[done], done.result()
    # A pool does not say who broke it: those that it had not done are run again, each alone.
    for seed in sorted(suspects):
        yield seed, _alone(case, seed)


def _alone(case: Case[Outcome], seed: int) -> Outcome | Exception:
    with _pool(1) as pool:
        try:
            return pool.submit(_watched, case, seed).result()
        except BrokenProcessPool:
            return CrashError(f"its process crashed, or took longer than {WATCHDOG_S} s")
        except Exception as error:  # whatever it is, the others go on
            return error


def _watched(case: Case[Outcome], seed: int) -> Outcome:
    """One that hangs ends its process."""
    faulthandler.dump_traceback_later(WATCHDOG_S, exit=True)
    try:
        return case(seed)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
