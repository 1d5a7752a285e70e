"""`pregao record`: arguments and wiring. The work is in `pregao.captures.record`."""

import argparse
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

if TYPE_CHECKING:
    from pregao.captures.record import RecordHealth, RecordSettings

_DESCRIPTION: Final = """\
Every packet of the configured streams to capture files: all channels, all feeds, with
the time at which each packet came. SIGINT or SIGTERM ends it with everything written.
"""
_EPILOG: Final = """\
Files are nanosecond pcap in zstd, in independent frames with a seek table, named like
084_Incremental_FeedA_20250331T131500Z.pcap.zst (UTC). Until a file is closed it is
called ....part; what a killed recorder left is repaired when the next one starts.
Any zstd tool unpacks them, and every command here reads them as they are.

The configuration is that of `pregao exchange --print-channels`. Without one, the
groups of `pregao exchange` on loopback are recorded. docs/recordings.md says more.

examples:
  pregao record --out recordings
  pregao record --config channels.toml --channel 84 --out recordings --rotate-time 15m
  pregao decode --stats recordings/*.pcap.zst
"""
_BYTES: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def add_command(commands: Any) -> None:
    """Add the sub-command to a parser's `add_subparsers()`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "record",
        help="live feeds to capture files",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument(
        "--config", metavar="TOML", help="channels: which group is which stream; or a session file"
    )
    parser.add_argument("--channel", type=int, action="append", metavar="N", help="only this channel")
    parser.add_argument("--interface", metavar="IP", help="for streams whose configuration names none")
    parser.add_argument("--system", metavar="S", help="without streams that are said to be of another")
    parser.add_argument(
        "--rotate-size", type=as_bytes, default=1 << 30, metavar="N", help="as 500M; default: 1G on disk"
    )
    parser.add_argument(
        "--rotate-time", type=as_seconds, default=3600, metavar="T", help="as 15m; default: 1h"
    )
    parser.add_argument("--frame-size", type=as_bytes, default=4 << 20, metavar="N", help="default: 4M")
    parser.add_argument("--frame-time", type=as_seconds, default=1, metavar="T", help="default: 1s")
    parser.add_argument("--level", type=int, default=3, metavar="N", help="of zstd, 1 to 22; default: 3")
    parser.add_argument("--for", type=as_seconds, dest="duration", metavar="T", help="stop by itself, as 10s")
    parser.add_argument("--no-progress", action="store_true", help="no lines about how it goes")
    parser.set_defaults(run=run)


def as_bytes(text: str) -> int:
    return _with_unit(text, _BYTES)


def as_seconds(text: str) -> int:
    return _with_unit(text, _SECONDS)


def _with_unit(text: str, units: dict[str, int]) -> int:
    match = re.fullmatch(r"(\d{1,9})([a-z]?)", text.lower())
    if match is None or match[2] not in units or not int(match[1]):
        known = ", ".join(filter(None, units))
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1, with one of {known}")
    return int(match[1]) * units[match[2]]


def run(args: argparse.Namespace) -> int:
    from pregao.captures.record import record
    from pregao.captures.subscriptions import load_subscriptions
    from pregao.market.sessions import session_system_of

    if session_system_of(args.config) is not None:
        return _session(args)
    channels = frozenset(args.channel or ())
    subscriptions = load_subscriptions(args.config, channels, args.interface, args.system)
    settings, stop = _prepared(args)
    numbers = sorted({each.id.channel for each in subscriptions if each.id.channel is not None})
    _talk(f"recording {len(subscriptions)} streams of channels {', '.join(map(str, numbers))} to {args.out}")
    with HealthLine(sys.stderr, enabled=not args.no_progress) as line:
        health = record(subscriptions, settings, stop, line.watch(stop, args.duration))
    _talk(summary(health))
    return 0


def _prepared(args: argparse.Namespace) -> "tuple[RecordSettings, Event]":
    """Whatever an earlier run left is repaired; a signal sets the event."""
    from pregao.captures.record import repair_recordings

    settings, stop = _settings(args), Event()
    for repair in repair_recordings(settings):
        packets = f", {repair.packets:,} packets" if repair.packets else ""
        _talk(f"{repair.part}: {repair.outcome.value}{packets}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return settings, stop


def _session(args: argparse.Namespace) -> int:
    """A journal of a session: what passes over it, inflated, both ways."""
    from pregao.market.sessions import record_session

    settings, stop = _prepared(args)
    _talk(f"recording the session of {args.config} to {args.out}")
    journal, status = record_session(args.config, settings, stop, args.duration)
    counters = status.counters
    _talk(
        f"{counters['messages']:,} messages, {amount(counters['inflated_bytes'])} in"
        f" {amount(counters['received_bytes'])} received, {amount(journal.bytes)} written,"
        f" {len(journal.files)} files, {counters['losses']} losses of the connection"
    )
    return 0


def _settings(args: argparse.Namespace) -> "RecordSettings":
    from pregao.captures.recorder import NS_PER_SECOND, RecordSettings

    return RecordSettings(
        args.out,
        rotate_bytes=args.rotate_size,
        rotate_ns=args.rotate_time * NS_PER_SECOND,
        frame_bytes=args.frame_size,
        frame_ns=args.frame_time * NS_PER_SECOND,
        level=args.level,
    )


def _talk(line: str) -> None:
    sys.stderr.write(f"pregao: {line}\n")
    sys.stderr.flush()


# How a recording goes: one line that is written over on a terminal, a line now and then elsewhere.


_TERMINAL_S: Final = 0.5
_PIPE_S: Final = 10.0
_CLEAR: Final = "\r\x1b[K"
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


class HealthLine:
    def __init__(self, stream: TextIO, *, enabled: bool) -> None:
        self._stream, self._enabled = stream, enabled
        self._terminal = stream.isatty()
        self._every_s = _TERMINAL_S if self._terminal else _PIPE_S
        self._shown_s, self._shown_packets, self._hinted = 0.0, 0, False

    def watch(self, stop: Event, duration_s: float | None) -> "Callable[[RecordHealth], None]":
        """A callback that shows how it goes, and ends it when it has gone on for long enough."""

        def update(health: "RecordHealth") -> None:
            if duration_s is not None and health.seconds >= duration_s:
                stop.set()
            self.show(health)

        return update

    def show(self, health: "RecordHealth") -> None:
        if health.buffer_hint and not self._hinted:
            self._hinted = True
            self._say(f"pregao: {health.buffer_hint}")
        passed = health.seconds - self._shown_s
        if self._enabled and passed >= self._every_s:
            rate = (health.reader.packets - self._shown_packets) / passed
            self._shown_s, self._shown_packets = health.seconds, health.reader.packets
            text = f"{summary(health)}, {rate:,.0f} packets/s"
            if self._terminal:
                self._stream.write(_CLEAR + text)
                self._stream.flush()
            else:
                self._say(f"pregao: {text}")

    def _say(self, line: str) -> None:
        self._stream.write(f"{_CLEAR if self._terminal else ''}{line}\n")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal and self._enabled:
            self._stream.write(_CLEAR)
            self._stream.flush()


def summary(health: "RecordHealth") -> str:
    """Packets, bytes, drops and files in one line."""
    reader, files = health.reader, health.files
    parts = [
        f"{reader.packets:,} packets",
        f"{amount(reader.bytes)} received",
        f"{amount(files.bytes)} written",
        f"{files.closed} files" + (f" and {files.open} open" if files.open else ""),
        "drops unknown here" if reader.drops is None else f"{reader.drops:,} dropped by the kernel",
    ]
    parts += [f"{reader.too_long:,} too long"] if reader.too_long else []
    parts += [f"{reader.errors:,} socket errors"] if reader.errors else []
    parts += [f"ring full {reader.stalls:,} times"] if reader.stalls else []
    return ", ".join(parts)


def amount(size: int) -> str:
    """Bytes as people read them."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} B"
