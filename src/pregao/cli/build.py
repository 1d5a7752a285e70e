"""`pregao build`: captures to the tables of a lake."""

import argparse
import re
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from pregao.cli.lake_arguments import DAMAGED, OK, add_lake, add_parser, add_spark, natural
from pregao.feeds.registry import DEFAULT

if TYPE_CHECKING:
    from pregao.cli.progress import Output
    from pregao.lake.build import BuildReport
    from pregao.lake.build_report import Forecast

_DESCRIPTION: Final = """\
Captures of Binary UMDF to the tables of a lake: feeds A and B merged by sequence
number, every book rebuilt and compared with B3's own snapshots, gaps found and healed.
A unit (channel or session, and trade date) whose captures are what they were is left alone; a new,
changed one replaces its rows, a missing one only with --replace. Nothing of a trade date is
seen before all of it is; a build that was stopped goes on with the next date.
Spark does it; captures of up to 32 MB are built in this process, before a Java would
have started (--engine).
"""
_EPILOG: Final = """\
examples:
  pregao build captures/2026-11-16 --lake lake
  pregao build *.pcap.zst --lake lake --channel 84 --bars 5s --bars 15m
  pregao build /data/captures --lake /data/lake --master spark://host:7077 --archive env.tar.gz
"""
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
STEPS: Final = {
    "compile": "compiling kernels for this machine: once, up to a minute", "start": "starting Spark",
    "scan": "looking through captures", "build": "building slices",
    "derive": "computing tables", "commit": "committing",
}  # fmt: skip


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "build", "captures to the tables of a lake", _DESCRIPTION, _EPILOG)
    parser.add_argument("captures", nargs="+", metavar="CAPTURES", help="files, or folders of them")
    add_lake(parser)
    add_spark(parser)
    parser.add_argument("--engine", choices=("auto", "inline", "spark"), default="auto",
                        help="who builds: Spark, or this process alone (default: auto, by the size of"
                        " the captures; Spark where --master, --archive or --conf is given)")  # fmt: skip
    parser.add_argument("--channel", type=natural, action="append", metavar="N", help="only this channel")
    parser.add_argument("--date", type=_date, action="append", metavar="D", help="only this trade date")
    parser.add_argument("--rebuild", action="store_true", help="also what has not changed")
    parser.add_argument("--replace", action="store_true",
                        help="also units of which captures are missing: they may lose rows")  # fmt: skip
    parser.add_argument("--bars", type=_interval, action="append", default=[], metavar="T",
                        help="bars of this length besides 1s, 1m and 1d")  # fmt: skip
    parser.add_argument("--config", metavar="TOML", help="which address carries which stream")
    parser.add_argument("--system", default=DEFAULT, metavar="NAME",
                        help="whose packets they are: binary (default), or module:name")  # fmt: skip
    parser.add_argument("--scratch", default="", metavar="DIR", help="where .gz captures are unpacked")
    parser.add_argument("--slices", type=natural, metavar="N", help="of each unit (default: by its size)")
    parser.add_argument("--no-computed", action="store_true",
                        help="without tables computed from others: bars, daily, auctions …")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true",
                        help="only what would be read, built and replaced, with time and room")  # fmt: skip
    parser.add_argument("--no-progress", action="store_true", help="no progress on stderr")
    parser.set_defaults(run=run)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date as 2026-11-16") from None


def _interval(text: str) -> int:
    """5s, 1m, 2h or 1d, in nanoseconds."""
    match = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if match is None or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a length as 5s, 1m, 2h or 1d")
    return int(match[1]) * _UNITS[match[2]] * 1_000_000_000


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output, StepsLine
    from pregao.jobs.build import INLINE, BuildRequest, build_lake, forecast_lake, unreadable_captures
    from pregao.model.errors import ConfigurationError

    request = BuildRequest(
        args.captures, args.lake, frozenset(args.channel) if args.channel else None,
        frozenset(args.date) if args.date else None, args.rebuild, tuple(args.bars), args.config,
        args.scratch, args.slices or None, args.engine,
        {"system": args.system, "replace": args.replace, "derive": not args.no_computed},
    )  # fmt: skip
    if args.engine == INLINE and (args.master or args.archive or args.conf):
        raise ConfigurationError("--master, --archive and --conf are of Spark: leave out --engine inline")
    unreadable = unreadable_captures(args.captures)
    output = Output()
    spark = {"master": args.master, "archive": args.archive, "conf": dict(args.conf)}
    if args.dry_run:
        with StepsLine(STEPS, enabled=not args.no_progress) as line:
            found = forecast_lake(request, line.update, **spark)
        return _show(found, output)
    try:
        with StepsLine(STEPS, enabled=not args.no_progress) as line:
            report = build_lake(request, line.update, **spark)
    except KeyboardInterrupt:
        output.talk("interrupted; the next build does what is left")
        raise
    for warning in report.warnings:
        output.talk(f"warning: {warning}")
    left = [str(each) for each in (*report.refused, *report.failed)]
    unreadable = [line for line in unreadable if line not in report.warnings]
    for each in [*_summary(report), *unreadable, *left]:
        output.talk(each)
    nothing = not report.units and not report.unchanged
    return DAMAGED if unreadable or report.unreadable or left or nothing else OK


def _show(found: "Forecast", output: "Output") -> int:
    """Units on stdout, what they come to on stderr."""
    for line in found.lines():
        output.data(f"{line}\n")
    for warning in found.warnings:
        output.talk(f"warning: {warning}")
    output.talk(
        f"{found.captures:,} captures, {found.scanned:,} scanned; would build {len(found.to_build)} of"
        f" {len(found.units)} units, {found.messages:,} messages: about {found.seconds:,.0f} s on two cores"
        f" and {found.bytes:,} bytes"
    )
    return OK


def _summary(report: "BuildReport") -> list[str]:
    from pregao.lake.verbs.formats import rates, times

    left = f"; {len(report.unchanged)} unchanged" if report.unchanged else ""
    if not report.units and not report.unchanged:
        return [f"nothing was built: no unit in these captures, lake version {report.version}"]
    if not report.units:
        return [f"nothing to do{left}, lake version {report.version}"]
    messages = report.counts.get("messages", 0)
    units = "1 unit" if len(report.units) == 1 else f"{len(report.units)} units"
    return [
        f"lake version {report.version}: {units} in {report.slices} slices, {messages:,} messages,"
        f" {report.counts.get('trades', 0):,} trades, {report.bytes:,} bytes{left}",
        f"{times(report.seconds)}; messages a second: {rates(report)}",
    ]
