"""`pregao listen`: arguments and wiring. The work is in `pregao.market`."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from pregao.cli.listening.kinds import KINDS, SHOWN
from pregao.feeds.registry import DEFAULT, is_session_system

if TYPE_CHECKING:
    from pregao.market.health import MarketHealth
    from pregao.market.session_channels import MarketSource

OK, DAMAGED = 0, 1
_MOST_FINDINGS: Final = 10
_GRACE_S: Final = 0.5  # for the end of what is under way
_PUBLISH_S: Final = 1.0
_DESCRIPTION: Final = """\
Books that are right, or say that they are not: ladder, trades, phase, statistics and
feed health in the terminal, or a line for everything that happens in a pipe. From
multicast, or from captures (files or folders) in the order of their times.
"""
_EPILOG: Final = """\
Without captures and configuration it listens to `pregao exchange` on this machine.
What is not clean is said to be so: UNVERIFIED, packets were lost that may have
concerned it; STALE, something is missing and a snapshot is waited for.

keys: n, →, ↓ or Tab the next instrument, p, ← or ↑ the one before, q the end

examples:
  pregao listen --symbol PETR4
  pregao listen day/ --speed 10
  pregao listen --config channels.toml --metrics 127.0.0.1:9184
  pregao listen day/ --symbol PETR4 --show trades,quotes | less
"""


def add_command(commands: Any) -> None:
    """Add the sub-command to a parser's `add_subparsers()`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "listen",
        help="live books in the terminal, from multicast or captures",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("captures", nargs="*", metavar="CAPTURE", help="files or folders; none: multicast")
    parser.add_argument(
        "--config", metavar="TOML", help="channels: which group is which stream; or a session file"
    )
    parser.add_argument(
        "--channel", type=int, action="append", metavar="N", help="only this channel; may be given repeatedly"
    )
    parser.add_argument("--interface", metavar="IP", help="for streams whose configuration names none")
    parser.add_argument(
        "--speed", type=_speed, metavar="N",
        help="of captures: 1 as recorded, 0 as fast as possible; default: 1 on a terminal, 0 in a pipe",
    )  # fmt: skip
    parser.add_argument("--system", default=DEFAULT, metavar="NAME",
                        help="whose packets they are: binary (default), or module:name")  # fmt: skip
    parser.add_argument("--symbol", action="append", default=[], metavar="S", help="may be given repeatedly")
    parser.add_argument("--depth", type=_depth, default=10, metavar="N", help="price levels; default: 10")
    parser.add_argument("--metrics", metavar="HOST:PORT", help="for Prometheus; a port alone is on loopback")
    parser.add_argument("--plain", action="store_true", help="lines also on a terminal")
    parser.add_argument(
        "--show", type=_kinds, default=SHOWN, metavar="KINDS",
        help=f"which lines: {','.join(KINDS)}; default: all but {', '.join(sorted(set(KINDS) - SHOWN))}",
    )  # fmt: skip
    parser.set_defaults(run=run)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0.0 <= speed < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return speed


def _depth(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 100")
    return int(text)


def _kinds(text: str) -> frozenset[str]:
    kinds = frozenset(text.split(","))
    if not kinds <= set(KINDS):
        raise argparse.ArgumentTypeError(f"{text!r}: only {', '.join(KINDS)}, with commas between")
    return kinds


def run(args: argparse.Namespace) -> int:
    symbols = [symbol.upper() for symbol in args.symbol]
    on_screen = sys.stdout.isatty() and not args.plain
    with stop_on_signals() as stop:
        try:
            packets = _packets(args, on_screen)
            try:
                (_screen if on_screen else _lines)(args, packets, symbols, stop)
                _complain_of_absent(packets)
                return _tell_findings(packets)
            finally:
                packets.close()
        except KeyboardInterrupt:  # it was in the middle of something long
            return OK


def _tell_findings(packets: "MarketSource") -> int:
    """What was wrong in captures, once they have been read."""
    count: int = getattr(packets, "findings", 0)
    if not packets.ended or not count:
        return OK
    for finding in getattr(packets, "first_findings", [])[:_MOST_FINDINGS]:
        sys.stderr.write(f"pregao: {finding}\n")
    if count > _MOST_FINDINGS:
        sys.stderr.write(f"pregao: {count - _MOST_FINDINGS} findings more; `pregao decode` names them all\n")
    return DAMAGED


def _complain_of_absent(packets: "MarketSource") -> None:
    """Captures can only say at their end that a channel is not in them."""
    absent = getattr(packets, "absent", [])
    if packets.ended and absent:
        from pregao.model.errors import ConfigurationError

        raise ConfigurationError(f"no streams of channels {absent} in the captures", file="", key="channel")


@contextmanager
def stop_on_signals() -> Iterator[Event]:
    """Set by SIGINT or SIGTERM. Whatever has not ended a moment later is interrupted, and at once by a
    second one: a capture may unpack to more than anyone wants to wait for."""
    stop = Event()

    def end(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        signal.setitimer(signal.ITIMER_REAL, _GRACE_S)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield stop
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _packets(args: argparse.Namespace, on_screen: bool) -> "MarketSource":
    if args.captures:
        from pregao.captures.glance import need_readable
        from pregao.market.replayed import ReplayedPackets, captures_in

        default = 1.0 if on_screen else 0.0
        speed = default if args.speed is None else args.speed
        captures = captures_in(args.captures)
        need_readable(captures)
        if is_session_system(args.system):
            from pregao.market.session_replay import ReplayedSessions

            return ReplayedSessions(captures, args.system)
        packets = ReplayedPackets(
            captures, speed=speed, config=args.config, channels=args.channel or (), system=args.system
        )
        for line in packets.untold:
            sys.stderr.write(f"pregao: {line}; left out\n")
        return packets
    from pregao.captures.subscriptions import load_subscriptions
    from pregao.market.live import LivePackets
    from pregao.market.replaying import open_replayer
    from pregao.market.sessions import open_session, session_system_of

    if session_system_of(args.config) is not None:
        sys.stderr.write(f"pregao: listening to the session of {args.config}\n")
        sys.stderr.flush()
        return open_session(args.config, [symbol.upper() for symbol in args.symbol])
    channels = frozenset(args.channel or ())
    subscriptions = load_subscriptions(args.config, channels, args.interface, args.system)
    numbers = ", ".join(map(str, sorted({each.id.channel or 0 for each in subscriptions})))
    sys.stderr.write(f"pregao: listening to {len(subscriptions)} streams of channels {numbers}\n")
    sys.stderr.flush()
    return LivePackets(subscriptions, replayer=open_replayer(args.config, args.system))


def _screen(args: argparse.Namespace, packets: "MarketSource", symbols: list[str], stop: Event) -> None:
    from pregao.cli.listening.lines import Keys
    from pregao.cli.listening.screen import Screen
    from pregao.market.watch import Watch

    watch = Watch(packets, system=args.system)
    with _publishing(args.metrics, watch.health) as tick, Keys() as keys:
        Screen(watch, symbols, args.depth).run(stop, keys, tick)


def _lines(args: argparse.Namespace, packets: "MarketSource", symbols: list[str], stop: Event) -> None:
    from pregao.cli.listening.lines import Lines
    from pregao.cli.progress import Output
    from pregao.market import Market

    # What a channel says has the time of its packet where packets are handled one by one; live, that of
    # the batch, some milliseconds.
    exact = packets.speed is not None
    market = Market(
        packets,
        symbols=symbols,
        orders="orders" in args.show,
        quotes="quotes" in args.show,
        statistics="statistics" in args.show,
        depth=args.depth if "depth" in args.show else 0,
        exact=exact,
        system=args.system,
    )
    with _publishing(args.metrics, market.health) as tick:
        Lines(market, symbols, args.show, Output()).run(stop, tick)


@contextmanager
def _publishing(address: str | None, health: "Callable[[], MarketHealth]") -> Iterator[Callable[[], None]]:
    """What to call now and then, so that metrics are of now."""
    if address is None:
        yield lambda: None
        return
    from pregao.market.metrics import exposition
    from pregao.market.metrics_server import MetricsServer, parse_address

    with MetricsServer(*parse_address(address)) as server:
        published_s = -_PUBLISH_S

        def tick() -> None:
            nonlocal published_s
            if monotonic() - published_s >= _PUBLISH_S:
                server.publish(exposition(health()))
                published_s = monotonic()

        tick()
        sys.stderr.write(f"pregao: metrics at {server.url}\n")
        sys.stderr.flush()
        yield tick
