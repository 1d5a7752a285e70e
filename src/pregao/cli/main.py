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
    certify,
    compact,
    decode,
    doctor,
    exchange,
    listen,
    pack,
    password,
    query,
    record,
    report,
    run,
    simulate,
    stream,
    tables,
    vacuum,
)
from pregao.extras import name_missing_extra
from pregao.model.errors import ConfigurationError, PregaoError

_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")
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
    from pregao.kernel_cache import SAY_COMPILING  # not for `--help`

    _settle_encodings()
    parser = make_parser()
    args = parser.parse_args(argv)
    chosen: Callable[[argparse.Namespace], int] = args.run
    os.environ[SAY_COMPILING] = str(os.getpid())
    try:
        _need_nameable(args)
        with name_missing_extra():
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
    except (
        OSError
    ) as error:  # a disk that is full, a file that vanished: what the system says of it, in a line
        _discard_stdout()
        sys.stderr.write(f"pregao: {_in_a_line(error)}\n")
        return COULD_NOT_START


def _in_a_line(error: OSError) -> str:
    """Of an error of stdout the system names no file."""
    words = (error.strerror or str(error) or type(error).__name__).partition("\n")[0].lower()
    return f"{error.filename or 'output'}: {words}"


def _settle_encodings() -> None:
    """What a terminal cannot show is escaped, not an error; and whoever is started from here can name every
    file that we can: Java goes by the locale."""
    for written in (sys.stdout, sys.stderr):
        reconfigure = getattr(written, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    chosen = next((value for name in _LOCALE if (value := os.environ.get(name))), "")
    if "utf" not in chosen.lower() and _names_everything():
        os.environ["LC_ALL"] = "C.UTF-8"


def _names_everything() -> bool:
    return sys.getfilesystemencoding().lower().replace("-", "") == "utf8"


def _need_nameable(args: argparse.Namespace) -> None:
    """Without UTF-8 Python escapes what it cannot decode, and other libraries know nothing of that."""
    for value in vars(args).values():
        for text in map(str, value if isinstance(value, list) else [value]):
            if not _names_everything() and any("\ud800" <= letter <= "\udfff" for letter in text):
                shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                raise ConfigurationError("cannot be named in this locale: set LC_ALL=C.UTF-8", file=shown)


def make_parser() -> argparse.ArgumentParser:
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
    certify.add_command(commands)
    listen.add_command(commands)
    record.add_command(commands)
    simulate.add_command(commands)
    for module in (run, build, stream, book, tables, query, report, compact, vacuum, pack, password, doctor):
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
