"""`pregao simulate`: arguments and wiring. The work is in `pregao.simulator`."""

import argparse
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pregao.cli.lake_arguments import natural

if TYPE_CHECKING:
    from pregao.simulator import SimulationSummary

OK: Final = 0
FACTS_OUTSIDE: Final = 1
MOST_OF_BONDS: Final = 100_000  # orders, quotes and voice trades of bonds a day
_DESCRIPTION: Final = """\
Whole trading days of a simulated B3 on a virtual clock: pre-open, opening auction,
continuous trading, intraday auctions, halts, closing call, after-market.

Each day is a folder with the four capture files of every channel (nanosecond pcap;
three more with --contingency) and `truth/`, the exchange's own account of it as Parquet: every event with its
sequence number, books and statistics at checkpoints, the instrument list. The same
arguments give the same bytes. With --systems binary,fast the same days are published in UMDF
FIX/FAST too, with a truth that says where each event is in its streams, in the folder `fast`.
With binary,conflated the sessions of PUMA Conflated are journals in the folder `conflated`.
Trademate is a market of its own: with --systems trademate the days are those of bonds, as journals of its
sessions and the truth; beside others they are in the folder `trademate`.
"""
_EPILOG: Final = """\
faults, separated by commas; on the way to the captures:
  loss=0.1%             packets lost by chance, per feed; loss=0.1%@B+S only on these
  both=3, both=3x40     so often one packet, or a run of 40, that neither A nor B has;
  both=0.1%             or by chance, the same on both
  gap=2x40@A            so often a run of packets lost on each feed by itself
  dup=0.05%             packets that come twice
  delay=0.1%:5ms        packets that come late
  reorder=20:100        so many packets of each feed that come up to 100 places late
  cut=B@11:00+30s       a feed silent for a while, heartbeats too
  silence=11:00+10s     all feeds of the primary site silent
  gone=B                a feed silent all day
  skew=B:+250us         the clock of a capture goes wrong
  header=B              SendingTime and Reserved of that feed are its own
by the exchange itself:
  reset=channel@12:00   channel, definitions (channel reset with the list of instruments),
                        stream, book, failover or week
  burst=2x1000@11:00    so often so many orders within 20 ms
  contingency=13:00     A, B and their loops fall silent for good, C takes over (implies
                        --contingency); +10m: for so long
of systems that are served:
  session=3xcut@?       all connections break in the middle of a message
  session=stop@12:00+40s  the primary server stops for a while, clients go to the standby
  Times are local; ? is any by the seed, and `loop` of a reset the middle of a snapshot
  loop; 3x before a feed or kind: so often (reset=3xbook@?). A, B and C are incremental
  feeds, I and S the definitions and snapshots, BI and BS the same on feed B (fast only),
  CI and CS those of the contingency site.
  Every packet touched is listed in faults.parquet.

examples:
  pregao simulate --out day --messages 200000
  pregao simulate --out day --messages 20000 --systems binary,fast
  pregao simulate --out day --messages 20000 --systems binary,conflated --sessions 2
  pregao simulate --out bonds --messages 3000 --systems trademate --coverage
  pregao simulate --out week --days 5 --faults loss=0.1%,cut=B@11:00+30s,both=3
  pregao simulate --out day --faults 'reset=2xchannel@?,silence=?+10s,contingency=15:00'
  pregao simulate --out day --messages 100000 --coverage | less
"""


def add_command(commands: Any) -> None:
    """Add the sub-command to a parser's `add_subparsers()`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "simulate",
        help="whole trading days of a simulated exchange, as captures",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    _add_days(parser)
    _add_publishing(parser)
    parser.add_argument(
        "--coverage", action="store_true",
        help="print how often everything occurred, packet sizes and, from 50,000 messages on, stylised"
        " facts beside their ranges: exit status 1 if one is outside, or if UMDF FIX/FAST or Trademate was"
        " published and something of it never occurred",
    )  # fmt: skip
    parser.add_argument("--no-progress", action="store_true", help="no progress bar on stderr")
    parser.set_defaults(run=run)


def _add_days(parser: argparse.ArgumentParser) -> None:
    """What happens on them."""
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="default: 1")
    parser.add_argument("--date", type=_date, metavar="D", help="first day, as 2026-11-16 (the default)")
    parser.add_argument("--days", type=natural, default=1, metavar="N", help="trading days in a row")
    parser.add_argument(
        "--messages", type=natural, default=1_000_000, metavar="N",
        help="incremental messages of all channels, a day (default: 1000000)",
    )  # fmt: skip
    parser.add_argument(
        "--instruments", type=natural, metavar="N",
        help="only the N most popular of the catalogue, or with further ones up to 2000 (default: 213)",
    )  # fmt: skip


def _add_publishing(parser: argparse.ArgumentParser) -> None:
    """Who tells of it, and what goes wrong on the way."""
    parser.add_argument(
        "--systems", type=_names, default="binary", metavar="S",
        help="that publish the days, separated by commas: binary (the default), fast, conflated, trademate;"
        " the days of all but the first are in folders of their names",
    )  # fmt: skip
    parser.add_argument(
        "--sessions", type=natural, default=1, metavar="N",
        help="of a system that is served, each with a journal a day (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--schema-version", type=natural, metavar="V",
        help="wire version of the first system (default: 16 of binary; others are named when it is wrong)",
    )  # fmt: skip
    parser.add_argument("--faults", default="", metavar="SPEC", help="what goes wrong: see below")
    parser.add_argument(
        "--contingency", action="store_true", help="feed C too, from a site with numbers of its own"
    )
    parser.add_argument(
        "--one-file", action="store_true", help="all streams in one capture a day, as tcpdump writes them"
    )
    parser.add_argument(
        "--heartbeat", type=float, metavar="S", help="seconds of silence (default: as each system has it)"
    )


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} are not names separated by commas")
    return names


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date as 2026-11-16") from None


def run(args: argparse.Namespace) -> int:
    from pregao.feeds.registry import is_of_bonds

    bonds = [name for name in args.systems if is_of_bonds(name)]
    args.systems = tuple(name for name in args.systems if name not in bonds)
    status = _run_listed(args) if args.systems else OK
    return max([status, *(_run_bonds(args, name) for name in bonds)])


def _run_bonds(args: argparse.Namespace, system: str) -> int:
    """Days of bonds: the only ones, or beside others."""
    from pregao.cli.progress import Output
    from pregao.simulator.bond_days import BondDaySettings, simulate_bonds
    from pregao.simulator.settings import FIRST_DATE

    out, output = args.out / system if args.systems else args.out, Output()
    settings = BondDaySettings(
        out, system, args.seed, args.date or FIRST_DATE, args.days, min(args.messages, MOST_OF_BONDS),
        args.sessions,
    )  # fmt: skip
    summary = simulate_bonds(settings)
    missing: list[str] = []
    if args.coverage:
        from pregao.simulator.coverage import occurrences_text, session_occurrences

        rows = session_occurrences(summary.folders, system)
        output.data(occurrences_text(rows))
        missing = [f"{row.kind} {row.name}" for row in rows if not row.times]
    output.talk(
        f"{summary.events:,} events of bonds in {summary.seconds:.1f} s, {summary.bytes:,} bytes of journals"
    )
    for folder in summary.folders:
        output.talk(f"wrote {folder}")
    if missing:
        output.talk(f"pregao: never occurred: {'; '.join(missing)}")
    return FACTS_OUTSIDE if missing else OK


def _run_listed(args: argparse.Namespace) -> int:
    from pregao.cli.progress import MessagesBar, Output
    from pregao.feeds.registry import DEFAULT, is_served
    from pregao.simulator import Settings, Simulation
    from pregao.simulator.settings import DEFAULT_VERSION, FIRST_DATE

    system, *beside = args.systems
    settings = Settings(
        args.out, args.seed, args.date or FIRST_DATE, args.days, args.messages, args.instruments,
        args.schema_version or DEFAULT_VERSION, args.faults, args.coverage, args.heartbeat,
        contingency=args.contingency, one_file=args.one_file, system=system, beside=tuple(beside),
        sessions=args.sessions,
    )  # fmt: skip
    output = Output()
    with MessagesBar(enabled=sys.stderr.isatty() and not args.no_progress) as bar:
        simulation = Simulation(settings, bar.update)
        summary = simulation.run()
    outside: list[str] = []
    missing: list[str] = []
    if settings.coverage:
        from pregao.simulator.coverage import coverage, coverage_text, days_facts, occurrences

        found = days_facts(simulation, summary)
        rows = coverage(simulation, summary) if settings.system == DEFAULT else []
        counted = [row for name in args.systems if not is_served(name) for row in occurrences(summary, name)]
        output.data(coverage_text([*rows, *counted], summary, found))
        outside = [fact.name for fact in found if not fact.holds]
        missing = [f"{row.kind} {row.name}" for row in counted if not row.times]
    for line in _summary(summary):
        output.talk(line)
    if outside:
        output.talk(f"pregao: not like a market: {'; '.join(outside)}")
    if missing:
        output.talk(f"pregao: never occurred: {'; '.join(missing)}")
    return FACTS_OUTSIDE if outside or missing else OK


def _summary(summary: "SimulationSummary") -> list[str]:
    commands = sum(summary.commands.values())
    lines = [
        f"{summary.messages:,} messages in {summary.packets:,} packets"
        f" ({summary.messages / max(summary.packets, 1):.2f} a packet), {summary.bytes:,} bytes of captures",
        f"{commands:,} commands in {summary.seconds:.1f} s ({commands / summary.seconds:,.0f} a second),"
        f" {sum(summary.rejections.values()):,} rejected",
    ]
    if summary.faults:
        deeds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(summary.faults.items()))
        lines.append(f"faults: {deeds}")
    return lines + [f"wrote {folder}" for folder in summary.folders + summary.beside]
