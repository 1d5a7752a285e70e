"""`pregao tables`: what is in a lake."""

import argparse
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_as_of, add_lake, add_parser, add_system, show

_DESCRIPTION: Final = """\
The tables of a lake with rows, files, bytes and dates; with --versions its versions;
with a TABLE the columns of that one.
"""


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "tables", "what is in a lake", _DESCRIPTION)
    add_lake(parser)
    add_as_of(parser)
    add_system(parser)
    parser.add_argument("table", nargs="?", metavar="TABLE", help="show its columns")
    parser.add_argument("--versions", action="store_true", help="show the lake's versions")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output
    from pregao.lake.verbs.formats import describe, overview

    output = Output()
    found = overview(args.lake, args.as_of, args.system)
    if args.table:
        show(output, describe(args.table), args.format)
    else:
        show(output, found.versions if args.versions else found.tables, args.format)
    others = sorted(set(found.systems) - set(found.shown))
    shown = f", system {', '.join(found.shown)}; there is also {', '.join(others)}: --system"
    besides = shown if others else ""
    output.talk(f"lake version {found.version}{besides}")
    return OK
