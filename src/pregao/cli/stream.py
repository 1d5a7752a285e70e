"""`pregao stream`: captures to the tables of a lake, while they grow."""

import argparse
import re
import signal
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from pregao.cli.lake_arguments import OK, add_lake, add_parser, add_spark, natural
from pregao.feeds.registry import DEFAULT

if TYPE_CHECKING:
    from pregao.lake.streaming.source import BatchReport, Latency

_DESCRIPTION: Final = """\
What `pregao record` writes to a folder goes into the tables of a lake as soon as a file is
whole: up to the place that both feeds and the snapshots have passed, all of a batch at once.
The rows are those of `pregao build`. A file that comes late replaces what it changes. Killed
at any moment it goes on where it was; SIGINT or SIGTERM ends it with all that there is.
"""
_EPILOG: Final = """\
A line for each batch goes to stderr. docs/streaming.md says how it works.

examples:
  pregao record --out recordings --rotate-time 15s &
  pregao stream recordings --lake lake
  pregao stream recordings --lake lake --once
"""
_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "stream", "captures to a lake, while they grow", _DESCRIPTION, _EPILOG)
    parser.add_argument("captures", metavar="DIR", help="folder that captures appear in")
    add_lake(parser)
    parser.add_argument("--once", action="store_true", help="take what is there, to the last packet, and end")
    parser.add_argument("--every", type=_span, default=2.0, metavar="T", help="look so often; default: 2s")
    parser.add_argument("--wait", type=_span, default=60.0, metavar="T",
                        help="for a feed that is silent, in recorded time; default: 60s")  # fmt: skip
    parser.add_argument("--derive-every", type=_span, default=300.0, metavar="T",
                        help="bars, daily and the like at most so often; default: 5m")  # fmt: skip
    parser.add_argument("--checkpoint", metavar="DIR", help="default: below the lake")
    parser.add_argument("--channel", type=natural, action="append", metavar="N", help="only this channel")
    parser.add_argument("--batch-files", type=natural, default=0, metavar="N", help="at most so many a batch")
    parser.add_argument("--config", metavar="TOML", help="which address carries which stream")
    parser.add_argument("--system", default=DEFAULT, metavar="NAME",
                        help="whose they are: binary (default), conflated …, or module:name")  # fmt: skip
    parser.add_argument("--scratch", default="", metavar="DIR", help="where .gz captures are unpacked")
    parser.add_argument("--no-computed", action="store_true",
                        help="without tables computed from others: bars, daily, auctions …")  # fmt: skip
    add_spark(parser)
    parser.set_defaults(run=run)


def _span(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6})(ms|[smh]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a length as 500ms, 5s, 1m or 2h")
    return int(match[1]) * _UNITS[match[2]]


def run(args: argparse.Namespace) -> int:
    from pregao.cli.build import STEPS
    from pregao.cli.progress import Output
    from pregao.jobs.stream import StreamRequest, stream_lake

    output, stop = Output(), Event()
    request = StreamRequest(
        args.captures, args.lake, args.checkpoint, None if args.once else max(args.every, 0.1), args.wait,
        args.derive_every, frozenset(args.channel) if args.channel else None, (), args.config, args.scratch,
        args.batch_files, {"system": args.system} | ({"derive": False} if args.no_computed else {}),
    )  # fmt: skip

    def listen_to_signals() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())

    def on_batch(report: "BatchReport") -> None:
        for path, reason in report.left_out:
            output.talk(f"left out: {reason if path in reason else f'{path}: {reason}'}")
        output.talk(summary(report))

    def on_progress(step: str, done: int, total: int) -> None:
        if not done:
            output.talk(f"{STEPS[step]} …")

    listen_to_signals()
    stream_lake(
        request, stop, on_batch, master=args.master, archive=args.archive, conf=dict(args.conf),
        ready=listen_to_signals, on_progress=on_progress,
    )  # fmt: skip
    return OK


def summary(report: "BatchReport") -> str:
    """A batch in one line."""
    parts = [f"lake version {report.version}", f"{report.files:,} files"]
    if report.units:
        parts.append(f"{report.counts.get('packets', 0):,} packets")
        parts.append(f"{report.counts.get('messages', 0):,} messages")
    else:
        parts.append("no new rows")
    if report.horizon_ns is not None:
        moment = datetime.fromtimestamp(report.horizon_ns // 1_000_000_000, UTC)
        parts.append(f"up to {moment:%Y-%m-%d %H:%M:%S}Z")
    if report.rebuilt:
        parts.append(f"{report.rebuilt:,} slices built again")
    if report.finished:
        count = len(report.finished)
        parts.append(f"{count} {'unit' if count == 1 else 'units'} whole")
    if report.derived:
        parts.append("computed tables too")
    if report.compacted:
        parts.append(f"{report.compacted:,} files fewer")
    if report.latency is not None:
        parts.append(_latency(report.latency))
    return f"{', '.join(parts)} in {report.seconds:.1f} s"


def _latency(latency: "Latency") -> str:
    since = "file to row" if latency.of_files else "packet to row"
    worst = "oldest" if latency.of_files else "p99"
    return f"{since} {latency.newest_ns / 1e9:.1f} s ({worst} {latency.p99_ns / 1e9:.1f} s)"
