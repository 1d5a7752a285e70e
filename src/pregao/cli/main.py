"""`pregao`: one sub-command each, found here and imported only when it runs.

Exit status: 0 it did it, 1 the input is damaged, 2 it could not start, 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from pregao import __version__
from pregao.cli import (
    book,
    build,
    compact,
    decode,
    doctor,
    exchange,
    listen,
    pack,
    query,
    record,
    report,
    run,
    simulate,
    stream,
    tables,
    vacuum,
)
from pregao.environment import SAY_COMPILING
from pregao.model.errors import PregaoError

INTERRUPTED = 130
COULD_NOT_START = 2

_DESCRIPTION = "B3 market data from the wire to books and tables."
_EPILOG = """\
examples:
  pregao decode 084_Incremental_FeedA.pcap | less -S
  pregao decode --stats *.pcap
  pregao simulate --out day --messages 200000
  pregao listen day --symbol PETR4
  pregao decode --help

Data goes to stdout, talk to stderr.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; the exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    chosen: Callable[[argparse.Namespace], int] = args.run
    os.environ[SAY_COMPILING] = str(os.getpid())
    try:
        status = chosen(args)
        sys.stdout.flush()
        return status
    except PregaoError as error:
        sys.stderr.write(f"pregao: {error}\n")
        return COULD_NOT_START
    except KeyboardInterrupt:
        _discard_stdout()
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pregao",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pregao {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    decode.add_command(commands)
    exchange.add_command(commands)
    listen.add_command(commands)
    record.add_command(commands)
    simulate.add_command(commands)
    for module in (run, build, stream, book, tables, query, report, compact, vacuum, pack, doctor):
        module.add_command(commands)
    return parser


def _discard_stdout() -> None:
    """Whoever read us has gone: what is still buffered must not fail again at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        return
