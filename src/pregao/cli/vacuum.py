"""`pregao vacuum`: delete what no version of a lake needs."""

import argparse
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_lake, add_parser, add_spark, days_in_ns

_DESCRIPTION: Final = """\
Forget lake versions older than --keep-days (never the newest) and delete the files that
no remaining version needs, with what broken builds left behind. Prints what it deletes.
With --master Spark lists the tables and deletes, for stores where that takes long.
"""


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "vacuum", "delete what no version of a lake needs", _DESCRIPTION)
    add_lake(parser)
    parser.add_argument(
        "--keep-days", type=days_in_ns, default="7", metavar="D", dest="keep_ns",
        help="versions stay readable so long (default: 7)",
    )  # fmt: skip
    parser.add_argument(
        "--orphan-days", type=days_in_ns, default="1", metavar="D", dest="grace_ns",
        help="age of a file nobody names; must exceed the longest build (default: 1)",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="delete nothing, only say what")
    add_spark(parser, "list and delete on Spark (default: by this process)")
    parser.add_argument("--no-progress", action="store_true", help="say nothing while it works")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output, StepsBar
    from pregao.jobs.build import spark_session
    from pregao.lake.runners import LazySparkRunner
    from pregao.lake.store.location import Location
    from pregao.lake.verbs.query import vacuum_lake

    output = Output()
    with (
        StepsBar("looking for files", enabled=not args.no_progress) as bar,
        spark_session(lambda *_: None, args.master, args.archive, dict(args.conf)) as session,
    ):
        runner = LazySparkRunner(session, Location(args.lake)) if args.master else None
        done = vacuum_lake(args.lake, args.keep_ns, args.grace_ns, args.dry_run, bar.update, runner)
    for path in done.files:
        output.data(path + "\n")
    verb = "would delete" if done.dry_run else "deleted"
    files = f"{len(done.files):,} files ({done.bytes:,} bytes)"
    output.talk(f"{verb} {files} and {len(done.versions):,} versions")
    return OK
