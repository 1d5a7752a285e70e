"""`pregao query`: Spark SQL over one lake version."""

import argparse
import sys
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_as_of, add_lake, add_parser, show, write_bytes

_DESCRIPTION: Final = """\
Spark SQL over one version of a lake. Every table is a view of that version, however
long the query takes and whatever is built meanwhile.
"""
_EPILOG: Final = """\
formats:
  table    for people
  csv      null is empty, nested values are JSON
  json     one object a line, decimals as strings
  parquet  needs --out, or a stdout that is not a terminal

examples:
  pregao query "select symbol, sum(size) from trades_clean group by symbol" --lake lake
  pregao query "select * from bars where symbol = 'PETR4'" --lake lake --format csv > bars.csv
  pregao query "select * from quality" --lake lake --as-of 3
"""


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "query", "Spark SQL over a lake", _DESCRIPTION, _EPILOG)
    parser.add_argument("sql", metavar="SQL", help="a query")
    add_lake(parser)
    add_as_of(parser)
    parser.add_argument(
        "--format", choices=("table", "csv", "json", "parquet"), default="table", help="default: table"
    )
    parser.add_argument("--out", metavar="FILE", help="write there instead of stdout")
    parser.add_argument("--master", default="local[*,4]", metavar="URL", help="default: local[*,4]")
    parser.add_argument("--archive", metavar="FILE", help="environment for a cluster, made by `pregao pack`")
    parser.add_argument("--no-progress", action="store_true", help="say nothing while it works")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output, StepsBar
    from pregao.lake.verbs.query import Query
    from pregao.model.errors import ConfigurationError

    if args.format == "parquet" and not args.out and sys.stdout.isatty():
        raise ConfigurationError("Parquet is not for a terminal: give --out FILE")
    output = Output()
    enabled = not args.no_progress and sys.stderr.isatty()
    with Query(args.lake, as_of=args.as_of, master=args.master, archive=args.archive) as query:
        with StepsBar("asking Spark", enabled=enabled):
            table = query.run(args.sql)
        _write(args, output, table)
        rows = "1 row" if table.num_rows == 1 else f"{table.num_rows:,} rows"
        output.talk(f"{rows} of lake version {query.version}")
    return OK


def _write(args: argparse.Namespace, output: Any, table: Any) -> None:
    from pregao.lake.verbs import formats

    if args.format == "parquet":
        data = formats.as_parquet(table)
        if args.out:
            write_bytes(args.out, data)
        else:
            sys.stdout.buffer.write(data)
    elif args.out:
        makers = {"table": formats.as_table, "csv": formats.as_csv, "json": formats.as_json}
        write_bytes(args.out, "".join(makers[args.format](table)).encode())
    else:
        show(output, table, args.format)
