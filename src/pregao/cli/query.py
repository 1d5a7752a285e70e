"""`pregao query`: SQL over one lake version."""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from pregao.cli.lake_arguments import (
    OK,
    add_as_of,
    add_lake,
    add_parser,
    add_spark,
    add_system,
    leave_out_pandas,
    show,
    write_bytes,
)

_DESCRIPTION: Final = """\
SQL over one version of a lake. Every table is a view of that version, however long the
query takes and whatever is built meanwhile. DuckDB answers, at once and in this process;
Spark on request, for what is larger than this machine.
"""
_EPILOG: Final = """\
formats:
  table    for people
  csv      null is empty, nested values are JSON
  json     one object a line, decimals as strings
  parquet, arrow (an IPC file, also called Feather)
           need --out, or a stdout that is not a terminal
Without --format the end of FILE says it: .csv, .json, .parquet, .arrow, .feather.

examples:
  pregao query "select symbol, sum(size) from trades_clean group by symbol" --lake lake
  pregao query "select * from bars where symbol = 'PETR4'" --lake lake --out bars.parquet
  pregao query "select * from quality" --lake lake --as-of 3 --format csv > quality.csv
  pregao query "select count(*) from orders" --lake s3://bucket/lake --engine spark
"""
DUCKDB, SPARK = "duckdb", "spark"
_FORMATS: Final = ("table", "csv", "json", "parquet", "arrow")


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "query", "SQL over a lake", _DESCRIPTION, _EPILOG)
    parser.add_argument("sql", metavar="SQL", help="a query")
    add_lake(parser)
    add_as_of(parser)
    add_system(parser)
    parser.add_argument("--format", choices=_FORMATS, help="default: as FILE is called, else table")
    parser.add_argument("--out", metavar="FILE", help="write there instead of stdout")
    parser.add_argument(
        "--engine", choices=(DUCKDB, SPARK), help="default: duckdb; spark where --master is given"
    )
    add_spark(parser, "of Spark (default: local[*,4])")
    parser.add_argument("--no-progress", action="store_true", help="say nothing while it works")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    of_spark = args.master or args.archive or args.conf
    engine = args.engine or (SPARK if of_spark else DUCKDB)
    if engine == DUCKDB:
        leave_out_pandas()
    from pregao.cli.progress import Output, StepsBar
    from pregao.lake.verbs.formats import BINARY
    from pregao.lake.verbs.query import open_query
    from pregao.model.errors import ConfigurationError

    chosen = _format(args)
    if chosen in BINARY and not args.out and sys.stdout.isatty():
        raise ConfigurationError(f"{chosen} is not for a terminal: give --out FILE")
    if engine == DUCKDB and of_spark:
        raise ConfigurationError("--master, --archive and --conf are of Spark: leave out --engine duckdb")
    output = Output()
    enabled = not args.no_progress and sys.stderr.isatty()
    opened = open_query(
        args.lake, engine=engine, as_of=args.as_of, system=args.system, master=args.master,
        archive=args.archive, conf=dict(args.conf),
    )  # fmt: skip
    with opened as query:
        with StepsBar(f"asking {'Spark' if engine == SPARK else 'DuckDB'}", enabled=enabled):
            table = query.run(args.sql)
        _write(args.out, chosen, output, table)
        rows = "1 row" if table.num_rows == 1 else f"{table.num_rows:,} rows"
        output.talk(f"{rows} of lake version {query.version}")
    return OK


def _format(args: argparse.Namespace) -> str:
    from pregao.lake.verbs.formats import SUFFIXES

    if args.format:
        return str(args.format)
    return SUFFIXES.get(Path(args.out).suffix.lower(), "table") if args.out else "table"


def _write(out: str | None, chosen: str, output: Any, table: Any) -> None:
    from pregao.lake.verbs import formats

    if chosen in formats.BINARY:
        data = formats.as_parquet(table) if chosen == "parquet" else formats.as_arrow(table)
        if out:
            write_bytes(out, data)
        else:
            sys.stdout.buffer.write(data)
    elif out:
        makers = {"table": formats.as_table, "csv": formats.as_csv, "json": formats.as_json}
        write_bytes(out, "".join(makers[chosen](table)).encode())
    else:
        show(output, table, chosen)
