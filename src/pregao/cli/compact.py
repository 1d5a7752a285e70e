"""`pregao compact`: fewer and larger files."""

import argparse
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_lake, add_parser, add_spark, natural

_DESCRIPTION: Final = """\
Small files of a partition become files of sensible size, sorted by instrument and time.
The rows stay the same; it is one commit of the lake, and older versions still have
their own files until `pregao vacuum`. Less than 32 MB is done by this process, more by
Spark, a task for each new file.
"""


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "compact", "fewer and larger files in a lake", _DESCRIPTION)
    add_lake(parser)
    parser.add_argument("--table", action="append", metavar="T", help="only this table; may be repeated")
    parser.add_argument("--target-mb", type=natural, default=128, metavar="N", help="default: 128")
    add_spark(parser)
    parser.add_argument("--no-progress", action="store_true", help="say nothing while it works")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output, StepsBar
    from pregao.jobs.build import spark_session
    from pregao.lake.runners import LazySparkRunner
    from pregao.lake.store.location import Location
    from pregao.lake.verbs.query import compact_lake

    output = Output()
    with (
        StepsBar("compacting", enabled=not args.no_progress) as bar,
        spark_session(lambda *_: None, args.master, args.archive, dict(args.conf)) as session,
    ):
        runner = LazySparkRunner(session, Location(args.lake))
        done = compact_lake(args.lake, args.table, max(1, args.target_mb) << 20, bar.update, runner)
    if done.version is None:
        output.talk("nothing to do")
    else:
        output.talk(
            f"lake version {done.version}: {done.before:,} files are now {done.after:,}"
            f" ({done.bytes_before:,} bytes, now {done.bytes_after:,})"
        )
    return OK
