"""`python -m tests.proofs`: all long proofs, with their counts in `build/proof.json`."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.proofs import fuzz_decode, seeded
from tests.proofs.result import Report, Result

OUTPUT = Path("build/proof.json")

Proof = Callable[[argparse.Namespace, Report], Result]


def prove_fuzz_decode(options: argparse.Namespace, report: Report) -> Result:
    """Cases in processes of their own: a kernel that crashes or hangs ends its process, not the proof."""
    trials = fuzz_decode.DEFAULT_TRIALS if options.trials is None else options.trials
    cases = fuzz_decode.cases(trials)
    if options.case is not None:
        cases = [case for case in cases if case[0] == options.case]
    result = Result(fuzz_decode.NAME)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(fuzz_decode.run_case, options.seed, *case) for case in cases]
        try:
            for done in as_completed(running):
                result.add(done.result())
                report(done.result().trials)
        except BrokenProcessPool:
            left = sorted(map(str, fuzz_decode.BUILD.glob(f"{fuzz_decode.NAME}-running-*.capture")))
            result.failures += 1
            result.failed.append(f"a decoder crashed or hung over one of {', '.join(left)}")
    return result


PROOFS: dict[str, Proof] = {
    fuzz_decode.NAME: prove_fuzz_decode,
    **{proof.name: proof.prove for proof in seeded.ALL},
}
TRIALS = {
    fuzz_decode.NAME: fuzz_decode.DEFAULT_TRIALS,
    **{proof.name: proof.trials for proof in seeded.ALL},
}


def main() -> int:
    options = _options()
    console = Console(stderr=True)
    results: list[Result] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for name, proof in PROOFS.items():
            if options.only in (None, name):
                total = 1 if options.case is not None else options.trials or TRIALS[name]
                task = progress.add_task(name, total=total)
                results.append(proof(options, lambda trials, task=task: progress.advance(task, trials)))
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps([result.counts() for result in results], indent=2) + "\n")
    for result in results:
        print(f"{result.name}: " + ", ".join(_words(*each) for each in list(result.counts().items())[1:]))
        for line in result.failed:
            print(line, file=sys.stderr)
    return 1 if any(result.failures for result in results) else 0


def _words(name: str, count: float) -> str:
    return f"{count:,} {name.replace('_', ' ')}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs", description=__doc__)
    parser.add_argument("--trials", type=int, help="of each proof (as many as it asks for)")
    parser.add_argument("--seed", type=int, default=1, help="everything follows from it (1)")
    parser.add_argument("--only", choices=sorted(PROOFS), help="only this proof")
    parser.add_argument("--case", type=int, help="only this case of it, as a failure names it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one a core)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
