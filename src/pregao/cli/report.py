"""`pregao report`: how healthy a built day is, with charts."""

import argparse
import sys
from collections.abc import Sequence
from datetime import date
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
A summary goes to stdout. Needs neither Spark nor Java.
"""
_EPILOG: Final = """\
examples:
  pregao report --lake lake
  pregao report --lake lake --date 2026-11-16 --symbol PETR4 --out petr4.html
"""
_COLOURS: Final = {"good": "green", "warn": "yellow", "bad": "red"}
_MARKS: Final = {"good": "✓", "warn": "!", "bad": "✗"}


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "report", "how healthy a built day is, with charts", _DESCRIPTION, _EPILOG)
    add_lake(parser)
    add_as_of(parser)
    add_system(parser, several=False)
    parser.add_argument("--out", default="report.html", metavar="FILE.html", help="default: report.html")
    parser.add_argument("--date", type=_date, metavar="YYYY-MM-DD", help="trade date (default: the newest)")
    parser.add_argument("--symbol", metavar="NAME", help="whose prices are drawn (default: the most traded)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output
    from pregao.report import make_report

    output = Output()
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


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date as 2026-11-16") from None
