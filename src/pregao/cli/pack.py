"""`pregao pack`: the environment as an archive for a cluster."""

import argparse
from pathlib import Path
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_parser

_ABOUT: Final = "the environment as an archive for a cluster"
_DESCRIPTION: Final = """\
This Python, the packages that pregao needs and pregao itself with its compiled kernels as
one archive, for the machines of a cluster that have none of them. They need the same kind
of system and processor as this one.
"""
_EPILOG: Final = """\
examples:
  pregao pack --out environment.tar.gz
  pregao build s3://b/captures --lake s3://b/lake --master spark://host:7077 --archive environment.tar.gz
  pregao query "select 1" --lake s3://bucket/lake --master spark://host:7077 --archive environment.tar.gz
"""


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "pack", _ABOUT, _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "--out", type=Path, default=Path("environment.tar.gz"), metavar="FILE",
        help="default: environment.tar.gz",
    )  # fmt: skip
    parser.add_argument("--no-progress", action="store_true", help="say nothing while it works")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output, StepsBar
    from pregao.jobs.packing import pack

    output = Output()
    with StepsBar("packing", enabled=not args.no_progress) as bar:
        packed = pack(args.out, bar.update)
    output.data(f"{packed.path}\n")
    output.talk(f"{packed.files:,} files, {packed.bytes:,} bytes")
    return OK
