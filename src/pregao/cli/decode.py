"""`pregao decode`: arguments and wiring. The work is in `pregao.captures`."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from pregao.cli.lake_arguments import natural
from pregao.feeds.registry import DEFAULT

if TYPE_CHECKING:
    from pregao.captures.decode import CaptureDecoder
    from pregao.cli.decode_jobs import Job
    from pregao.cli.progress import Output

OK, DAMAGED, COULD_NOT_START = 0, 1, 2

_DESCRIPTION: Final = """\
Every message of capture files of B3's market data, in the order of the files.

Files are pcap or pcapng, plain, gzip or zstd. Whatever is damaged gets a line on
stderr that names file, packet and byte; the rest of the file is still decoded.
"""
_EPILOG: Final = """\
formats:
  text  for people: capture time in Sao Paulo and UTC, packet number, channel,
        feed, stream, sequence, message, symbol or security id, fields without
        nulls, groups indented. A ? marks what the schema does not know.
  json  one object a line: file, packet, ts_ns, channel, seq_version, seq_num,
        sending_time, template_id, version, name, fields.
  csv   the same columns, then security_id, then all other fields as JSON in
        one column. With exactly one --template: a column per field instead,
        sets joined with |, groups as JSON.

selection:
  --channel, --template and --symbol may be repeated; a message must pass all
  three. A symbol is looked up in the SecurityDefinition messages of the given
  files, in any order: files named ...InstrumentDefinition..., or whose first
  packets are definitions, are read for it first. Give the definition file too.

exit status: 0 all well, 1 damaged input, 2 could not start or open a file.

examples:
  pregao decode 084_Incremental_FeedA.pcap
  pregao decode --format json --template 53 084_*.pcap.zst > trades.jsonl
  pregao decode --symbol PETR4 084_InstrumentDefinition.pcap 084_Incremental_FeedA.pcap
  pregao decode --stats day.pcapng
"""


def add_command(commands: Any) -> None:
    """Add the sub-command to a parser's `add_subparsers()`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "decode",
        help="every message of a capture, one a line",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a capture file")
    formats = ("text", "json", "csv", "fix")
    parser.add_argument("--format", choices=formats, default="text", help="default: text")
    parser.add_argument("--system", default=DEFAULT, metavar="NAME",
                        help="whose packets: a system's name or module:name (default: binary)")  # fmt: skip
    parser.add_argument(
        "--schema", "--templates", "--dictionary", metavar="XML",
        help="a schema, template file or dictionary (of QuickFIX's form) of the system in place of its own",
    )  # fmt: skip
    parser.add_argument(
        "--strict",
        action="store_true",
        help="FAST: leave out messages with errors that its standard lets pass",
    )
    parser.add_argument(
        "--channels", metavar="TOML", help="channel configuration: which address is which stream"
    )
    parser.add_argument("--channel", type=natural, action="append", metavar="N", help="only this channel")
    parser.add_argument(
        "--template", type=natural, action="append", metavar="N", help="only this template id"
    )
    parser.add_argument("--symbol", type=str.upper, action="append", metavar="S", help="only this instrument")
    parser.add_argument("--limit", type=natural, metavar="N", help="stop after N messages")
    parser.add_argument("--stats", action="store_true", help="counts instead of messages (text or json)")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar on stderr")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.captures.decode import CaptureDecoder, Selection, load_channel_map, load_schema
    from pregao.cli.progress import Bar, Output

    selection = Selection(
        frozenset(args.channel or ()), frozenset(args.template or ()), frozenset(args.symbol or ())
    )
    output = Output()
    schema = load_schema(args.schema, args.system)
    decoder = CaptureDecoder(
        schema, load_channel_map(args.channels), selection, system=args.system, strict=args.strict
    )
    with Bar(enabled=_wants_bar(args), files=len(args.files)) as bar:
        decoder.progress = bar.watch(output.tick)
        if selection.symbols:
            decoder.learn_symbols(args.files)
        job = _stats(args, decoder, output) if args.stats else _messages(args, decoder, output)
        job.run(args.files, bar)
    job.finish()
    for untold in (line for counts in decoder.counts for line in counts.untold):
        output.talk(untold)
    for symbol in sorted(s for s in selection.symbols if not decoder.symbols.knows(s)):
        output.talk(f"symbol {symbol}: no definition in the given files")
    return COULD_NOT_START if job.unopened else DAMAGED if job.damaged else OK


def _messages(args: argparse.Namespace, decoder: "CaptureDecoder", output: "Output") -> "Job":
    from pregao.captures.formats import make_format
    from pregao.cli.decode_jobs import MessagesJob

    only = args.template[0] if len(set(args.template or ())) == 1 else None
    chosen = make_format(
        args.format, decoder.decoder, decoder.symbols, template=only, color=_wants_color(args.color)
    )
    return MessagesJob(decoder, output, chosen, args.limit, name_files=len(args.files) > 1)


def _stats(args: argparse.Namespace, decoder: "CaptureDecoder", output: "Output") -> "Job":
    from pregao.cli.decode_jobs import StatsJob

    return StatsJob(decoder, output, args.limit, as_json=args.format == "json")


def _wants_bar(args: argparse.Namespace) -> bool:
    """Messages that run over the same terminal are progress enough."""
    shared = sys.stdout.isatty() and not args.stats
    return sys.stderr.isatty() and not shared and not args.no_progress


def _wants_color(choice: str) -> bool:
    """https://no-color.org: any value of NO_COLOR but the empty one."""
    if choice == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return choice == "always"
