"""`pregao exchange`: arguments and wiring. The work is in `pregao.simulator.live.exchange`."""

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pregao.simulator.live.exchange import RunningExchange
    from pregao.simulator.live.settings import LiveSettings

_DESCRIPTION: Final = """\
A simulated B3, live: Binary UMDF on multicast, with an HTTP interface for the
operator. Everything stays on this machine unless the configuration says otherwise.
"""
_EPILOG: Final = """\
Packets go to groups of 239.255.0.0/16 by the loopback interface; --print-channels
writes the addresses as a channel configuration, which `pregao record --config` takes
as it is; --write-channels writes it to a file, and runs. Orders of many participants
come by themselves, 200 a second; --flow 0 leaves the market to you. The operator interface
has no password: it listens on loopback only, unless --bind-anywhere. Its calls are
listed at / and described at /openapi.json. SIGINT or SIGTERM ends the exchange.

examples:
  pregao exchange
  pregao exchange --flow 0 --state exchange.state
  pregao exchange --config exchange.toml --port 0
  curl -H 'Content-Type: application/json' http://127.0.0.1:8384/v1/orders/new \\
       -d '{"security_id": "PETR4", "side": "BUY", "quantity": 100, "price": "36.00"}'
"""


def add_command(commands: Any) -> None:
    """Add the sub-command to a parser's `add_subparsers()`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "exchange",
        help="the simulated exchange, live, on the network",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", metavar="TOML", help="addresses, paces, the day (all have defaults)")
    parser.add_argument("--catalogue", metavar="TOML", help="instruments in place of the packaged ones")
    parser.add_argument("--address", metavar="IP", help="of the operator interface; default: 127.0.0.1")
    parser.add_argument("--port", type=int, metavar="N", help="of the operator interface; 0: any free one")
    parser.add_argument("--flow", type=float, metavar="RATE", help="background orders a second; default: 200")
    parser.add_argument(
        "--schema-version", type=int, metavar="V", help="wire version; default: the system's, 16 of binary"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="of flow and auctions; default: 1")
    parser.add_argument(
        "--bind-anywhere", action="store_true", help="let the operator interface leave loopback"
    )
    parser.add_argument(
        "--print-channels", action="store_true", help="write the channel configuration, and end"
    )
    parser.add_argument("--write-channels", metavar="FILE", help="write the channel configuration, and run")
    parser.add_argument(
        "--state", metavar="FILE", help="where orders and numbers outlive a restart or a kill"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.model.channel_map import channels_toml
    from pregao.simulator.live.exchange import channels_of, read_catalogue, run_exchange
    from pregao.simulator.live.settings import write_channels

    settings, catalogue = _settings(args), read_catalogue(args.catalogue)
    channels = channels_toml(channels_of(settings, catalogue), settings.interface)
    if args.print_channels:
        sys.stdout.write(channels)
        return 0
    if args.write_channels:
        write_channels(args.write_channels, channels)
    run_exchange(settings, catalogue, _announce)
    return 0


def _settings(args: argparse.Namespace) -> "LiveSettings":
    """The configuration, where arguments do not say otherwise."""
    from pregao.simulator.live.settings import load_settings

    said = {
        "address": args.address,
        "port": args.port,
        "flow": args.flow,
        "version": args.schema_version,
        "seed": args.seed,
        "state": args.state,
    }
    given = {name: value for name, value in said.items() if value is not None}
    return replace(load_settings(args.config), bind_anywhere=args.bind_anywhere, **given)


def _announce(running: "RunningExchange") -> None:
    for line in running.lines():
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
