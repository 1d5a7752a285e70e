"""`pregao book`: the book of an instrument at an instant."""

import argparse
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_as_of, add_lake, add_parser, add_system, natural

_DESCRIPTION: Final = """\
The book of an instrument at any nanosecond of the days in a lake: from the nearest stored
book and the orders told since then.
"""
_EPILOG: Final = """\
TIME is that of São Paulo unless it ends with Z or an offset; without a date it is of the
newest day in the lake; nanoseconds since 1970 are taken as they are. A time before
everything that was captured is refused: nothing is known then.

examples:
  pregao book PETR4 --at 10:15 --lake lake
  pregao book PETR4 --at 2026-11-16T10:15:00.123456789 --depth 20 --lake lake
"""


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "book", "the book of an instrument at an instant", _DESCRIPTION, _EPILOG)
    parser.add_argument("symbol", metavar="SYMBOL", help="or a securityID, for captures without definitions")
    parser.add_argument("--at", required=True, metavar="TIME", help="when")
    parser.add_argument("--depth", type=natural, default=10, metavar="N", help="price levels (default: 10)")
    parser.add_argument(
        "--stream", metavar="ID", help="MDStreamID of the book, where an instrument has several: L is lending"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    add_lake(parser)
    add_as_of(parser)
    add_system(parser, several=False)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output
    from pregao.lake.verbs.book import as_json, as_text, find_book

    output = Output()
    book = find_book(
        args.lake, args.symbol, args.at, args.depth or None, args.as_of, args.system, args.stream
    )
    for line in (as_json if args.format == "json" else as_text)(book):
        output.data(line)
    return OK
