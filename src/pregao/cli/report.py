"""`pregao report`: how healthy a built day is, with charts."""

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pregao.cli.lake_arguments import OK, add_as_of, add_lake, add_parser, add_system, write_bytes

if TYPE_CHECKING:
    from pregao.cli.progress import Output
    from pregao.report.summary import ReportSummary

    Lines = Sequence[tuple[str, str]]

_DESCRIPTION: Final = """\
One page that needs nothing else and no network: data quality first (gaps, losses per feed,
stale books and heals, the proof by B3's snapshots, the reconciliation with B3's figures), then
activity, the most traded, price and volume, the book through time, an auction, latency.
Of a week or of a span of dates: a row a day, the totals and the verdict of each.
A summary goes to stdout. Needs neither Spark nor Java.
"""
_EPILOG: Final = """\
examples:
  pregao report --lake lake
  pregao report --lake lake --date 2026-11-16 --symbol PETR4 --out petr4.html
  pregao report --lake lake --date 2026-W47 --out week.html
  pregao report --lake lake --date 2026-11-02..2026-11-30 --out november.html
"""
_COLOURS: Final = {"good": "green", "warn": "yellow", "bad": "red"}
_WEEK: Final = re.compile(r"(\d{4})-W(\d{2})")
_MARKS: Final = {"good": "✓", "warn": "!", "bad": "✗"}


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "report", "how healthy a built day is, with charts", _DESCRIPTION, _EPILOG)
    add_lake(parser)
    add_as_of(parser)
    add_system(parser, several=False)
    parser.add_argument("--out", default="report.html", metavar="FILE.html", help="default: report.html")
    parser.add_argument(
        "--date", type=_dates, metavar="DATE",
        help="2026-11-16, a week 2026-W47, or a span 2026-11-02..2026-11-30 (default: the newest trade date)",
    )  # fmt: skip
    parser.add_argument("--symbol", metavar="NAME", help="whose prices are drawn (default: the most traded)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output
    from pregao.lake.errors import LakeError
    from pregao.report import make_report, make_span_report

    output = Output()
    if isinstance(args.date, tuple):
        if args.symbol is not None:
            raise LakeError("--symbol is of one trade date, not of several")
        report = make_span_report(args.lake, *args.date, as_of=args.as_of, system=args.system)
    else:
        report = make_report(
            args.lake, as_of=args.as_of, system=args.system, trade_date=args.date, symbol=args.symbol
        )
    write_bytes(args.out, report.html.encode())
    tell(output, report.summary)
    output.talk(f"report in {Path(args.out).resolve().as_uri()}")
    return OK


def tell(output: "Output", summary: "ReportSummary", *, more: "Lines" = ()) -> None:
    """`more` are lines about how it was made, which go before those of the day."""
    lines = (*more, *summary.lines)
    if sys.stdout.isatty():
        _show(summary, lines)
    else:
        output.data(as_text(summary, lines))


def as_text(summary: "ReportSummary", lines: "Lines") -> str:
    """Plain lines, for pipes."""
    width = max(len(name) for name, _ in lines)
    verdict = summary.verdict
    head = [summary.title, f"{_MARKS[verdict.level]} {verdict.head} {verdict.rest}"]
    return "\n".join([*head, *(f"  {name.ljust(width)}  {value}" for name, value in lines)]) + "\n"


def _show(summary: "ReportSummary", lines: "Lines") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    verdict = summary.verdict
    colour = _COLOURS[verdict.level]
    table = Table.grid(padding=(0, 2))
    for name, value in lines:  # as Text: what is in the data is no markup
        table.add_row(Text(name, style="dim"), Text(value))
    console.print(Text(summary.title, style="bold"))
    head = Text(f"{_MARKS[verdict.level]} {verdict.head} ", style=f"bold {colour}")
    console.print(head + Text(verdict.rest))
    console.print(table)


def _dates(text: str) -> date | tuple[date, date]:
    """A day, or the first and the last of several."""
    try:
        if week := _WEEK.fullmatch(text):
            monday = date.fromisocalendar(int(week[1]), int(week[2]), 1)
            return monday, monday + timedelta(days=6)
        first, dots, last = text.partition("..")
        begins = date.fromisoformat(first)
        return (begins, date.fromisoformat(last)) if dots else begins
    except ValueError:
        forms = "2026-11-16, nor a week as 2026-W47, nor a span as 2026-11-16..2026-11-20"
        raise argparse.ArgumentTypeError(f"{text!r} is not a date as {forms}") from None
