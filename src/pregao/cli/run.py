"""`pregao run`: the main job, from nothing to a page."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pregao.cli.lake_arguments import OK, add_parser, add_spark, natural

if TYPE_CHECKING:
    from pregao.jobs.main_job import JobDone

_DESCRIPTION: Final = """\
The main job on a day of the simulated exchange: captures with losses on both feeds, some of
which no feed can fill; the lake of them on Spark; a summary here and a page to look at.
Captures of the last run are used again while they are what they were; the lake is always
built again.
"""
_EPILOG: Final = """\
examples:
  pregao run --out build/run
  pregao run --out build/run --messages 1000000 --seed 7
"""
_STEPS: Final = {"simulate": "simulating a day", "report": "writing the report"}


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "run", "simulate a day, build its lake, report", _DESCRIPTION, _EPILOG)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="captures, lake and report")
    parser.add_argument("--messages", type=natural, metavar="N", help="of the day (default: 300000)")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="default: 1")
    parser.add_argument("--faults", metavar="SPEC", help="as `pregao simulate` has them")
    parser.add_argument("--anew", action="store_true", help="simulate again, also what has not changed")
    add_spark(parser)
    parser.add_argument("--no-progress", action="store_true", help="no progress on stderr")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.build import STEPS
    from pregao.cli.progress import Output, StepsLine
    from pregao.cli.report import tell
    from pregao.jobs.main_job import FAULTS, MESSAGES, JobSettings, run_main_job

    settings = JobSettings(
        args.out, args.messages or MESSAGES, args.seed, FAULTS if args.faults is None else args.faults,
        args.anew, args.master, args.archive, dict(args.conf),
    )  # fmt: skip
    with StepsLine(_STEPS | STEPS, enabled=not args.no_progress) as line:
        done = run_main_job(settings, line.update)
    output = Output()
    tell(output, done.report.summary, more=_facts(done))
    output.talk(f"captures in {settings.captures}, lake in {settings.lake}")
    output.talk(f"report in {settings.page.resolve().as_uri()}")
    return OK


def _facts(done: "JobDone") -> list[tuple[str, str]]:
    from pregao.lake.verbs.formats import outcome, times

    made = done.captures
    how = "of the last run, unchanged" if made.used_again else "simulated just now"
    captures = f"{len(made.paths)} of {made.octets / 1e6:,.1f} MB, {how}"
    return [("captures", captures), *outcome(done.build), ("time", times(done.seconds))]
