"""`pregao certify`: arguments and wiring. The work is in `pregao.certification`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pregao.certification.results import StepResult
    from pregao.certification.scenario import ScriptSegment

_DESCRIPTION: Final = """\
B3's certification script, offline: our exchange plays the certification desk in
UMDF FIX/FAST, Binary UMDF or PUMA Conflated, step by step, and judges what a client
shows of it at MBO, MBP and TOB.
"""
_EPILOG: Final = """\
Without --client Pregão's own handler is judged, in memory. A client is any program:
it reads commands as lines of JSON and writes what it sees, as docs/certification-client.md
says; one that reads no commands is started and stopped instead. --by-hand a person says
after each step what was seen. --out gets the form as report.pt.html, report.pt.pdf and
the same in English, junit.xml, evidence/ of each step with sha256, what the client
complained of, and every step as soon as it is judged (steps.jsonl): --resume goes on
from there. Binary UMDF and PUMA Conflated have orders only: the other depths are made
from them, and replayers (D2, D3) are N/E. Steps before those that are judged are played too, unjudged; only a
run of all steps in order is called unbroken.

exit status: 0 all required boxes passed; 1 one failed or was not played; 2 it could not
start; 3 the exchange itself did not do what the script demands.

examples:
  pregao certify
  pregao certify --client "python examples/certify_client.py" --segment equities
  pregao certify --client ./my-client --steps B1,B2.4-B2.9 --depth mbp --keep-going
  pregao certify --system conflated --client ./my-client --language pt
  pregao certify --by-hand --segment equities --out form
  pregao certify --by-hand --resume form
"""


def add_command(commands: Any) -> None:
    """Add the sub-command to a parser's `add_subparsers()`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "certify",
        help="B3's certification script against any client",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--system", choices=["fast", "binary", "conflated"], default="fast", help="default: fast"
    )
    parser.add_argument("--segment", choices=["equities", "derivatives"], help="default: both")
    parser.add_argument("--depth", choices=["mbo", "mbp", "tob"], help="default: all three")
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument("--client", metavar="CMD", help="the client's command line; default: Pregão's own")
    judged.add_argument("--by-hand", action="store_true", help="ask what was seen, after each step")
    parser.add_argument("--steps", metavar="LIST", help="judge these only, as B1,B2.4-B2.9")
    parser.add_argument("--from", dest="first", metavar="STEP", help="judge from this step on")
    parser.add_argument("--resume", metavar="DIR", help="go on with what was saved there; also --out")
    parser.add_argument("--keep-going", action="store_true", help="play on after a section that failed")
    parser.add_argument("--pace", choices=["fast", "real"], default="fast", help="of heartbeats and indices")
    parser.add_argument("--out", metavar="DIR", help="default: certification, or that of --resume")
    parser.add_argument("--language", choices=["pt", "en"], help="of the form; default: both")
    parser.add_argument("--no-pdf", action="store_true", help="the form as a page only")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.certification.desk import FAST_PACES, REAL_PACES
    from pregao.certification.report import LANGUAGES, count
    from pregao.certification.results import exit_status, missed_text
    from pregao.certification.run import RunSettings, run_script
    from pregao.certification.scenario import Box, ScriptSegment
    from pregao.io.terminal import Terminal

    settings = RunSettings(
        folder=Path(args.out or args.resume or "certification"),
        system=args.system,
        segments=tuple(ScriptSegment) if args.segment is None else (ScriptSegment(args.segment),),
        client=args.client,
        boxes=frozenset(Box) if args.depth is None else frozenset([Box(args.depth)]),
        steps=args.steps,
        first=args.first,
        keep_going=args.keep_going,
        paces=REAL_PACES if args.pace == "real" else FAST_PACES,
        resume=None if args.resume is None else Path(args.resume),
        console=Terminal() if args.by_hand else None,
        languages=LANGUAGES if args.language is None else (args.language,),
        pdf=not args.no_pdf,
    )
    run = run_script(settings, _say)
    counts = ", ".join(f"{number} {verdict.value}" for verdict, number in count(run.played).items())
    missed = missed_text(run.played)
    for line in (
        f"{counts}; reports in {settings.folder}",
        missed,
        "an unbroken run" if run.unbroken else "",
    ):
        sys.stderr.write(f"{line}\n" if line else "")
    return exit_status(run.played)


def _say(segment: "ScriptSegment", result: "StepResult") -> None:
    """A line for each step that was judged, and one for each reason."""
    if all(box.verdict.value == "not run" for box in result.boxes):
        return
    boxes = "  ".join(
        f"{'' if box.box.value == 'one' else box.box.name + ' '}{box.verdict.value}" for box in result.boxes
    )
    sys.stdout.write(f"{segment.value:<12}{result.step.id:<6} {boxes}\n")
    for box in result.boxes:
        for reason in box.reasons:
            sys.stdout.write(f"  {reason}\n")
    sys.stdout.flush()
