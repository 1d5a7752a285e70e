"""`pregao decode`: arguments and wiring. The work is in `pregao.captures`."""

import argparse
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Final

from pregao.captures.decode import CaptureDecoder, DecodedMessage, Finding
from pregao.captures.formats import Format
from pregao.captures.formats.json_lines import to_json
from pregao.captures.statistics import CaptureStatistics
from pregao.captures.statistics_report import report
from pregao.cli.progress import Bar, Output
from pregao.model.errors import CaptureError

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
    parser.add_argument("--system", default="binary", metavar="NAME",
                        help="whose packets: a system's name or module:name (default: binary)")  # fmt: skip
    parser.add_argument(
        "--schema", "--templates", metavar="XML",
        help="a schema or template file of the system in place of the one built in",
    )  # fmt: skip
    parser.add_argument(
        "--channels", metavar="TOML", help="channel configuration: which address is which stream"
    )
    parser.add_argument("--channel", type=_natural, action="append", metavar="N", help="only this channel")
    parser.add_argument(
        "--template", type=_natural, action="append", metavar="N", help="only this template id"
    )
    parser.add_argument("--symbol", type=str.upper, action="append", metavar="S", help="only this instrument")
    parser.add_argument("--limit", type=_natural, metavar="N", help="stop after N messages")
    parser.add_argument("--stats", action="store_true", help="counts instead of messages (text or json)")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar on stderr")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    parser.set_defaults(run=run)


def _natural(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return value


def run(args: argparse.Namespace) -> int:
    from pregao.captures.decode import CaptureDecoder, Selection, load_channel_map, load_schema
    from pregao.cli.progress import Bar, Output

    selection = Selection(
        frozenset(args.channel or ()), frozenset(args.template or ()), frozenset(args.symbol or ())
    )
    output = Output()
    schema = load_schema(args.schema, args.system)
    decoder = CaptureDecoder(schema, load_channel_map(args.channels), selection, system=args.system)
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

    only = args.template[0] if len(set(args.template or ())) == 1 else None
    chosen = make_format(
        args.format, decoder.decoder, decoder.symbols, template=only, color=_wants_color(args.color)
    )
    return MessagesJob(decoder, output, chosen, args.limit, name_files=len(args.files) > 1)


def _stats(args: argparse.Namespace, decoder: "CaptureDecoder", output: "Output") -> "Job":

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


# The two things `pregao decode` can do with files: write messages, or count them.


class Job(ABC):
    """Goes through the files; a file that cannot be opened does not keep the others from it."""

    def __init__(self, decoder: CaptureDecoder, output: Output, limit: int | None) -> None:
        self.decoder, self.output = decoder, output
        self.left = limit
        self.damaged = False
        self.unopened = False

    def run(self, files: list[str], bar: Bar) -> None:
        for file in files:
            if self.left == 0:
                return
            bar.begin(file)
            try:
                self.file(file)
            except CaptureError as error:
                self.unopened = True
                self.output.talk(f"{file}: {error.reason}")

    @abstractmethod
    def file(self, file: str) -> None:
        """Do one file."""

    @abstractmethod
    def finish(self) -> None:
        """What is left to write, once the progress bar is gone."""

    def counted(self) -> bool:
        """Count one message; whether it was the last one wanted."""
        if self.left is not None:
            self.left -= 1
        return self.left == 0

    def report(self, finding: Finding) -> None:
        self.damaged = True
        self.output.talk(str(finding))


class MessagesJob(Job):
    def __init__(
        self, decoder: CaptureDecoder, output: Output, chosen: Format, limit: int | None, *, name_files: bool
    ) -> None:
        super().__init__(decoder, output, limit)
        self._format, self._name_files = chosen, name_files
        self._begun = False

    def finish(self) -> None:
        self._begin()

    def file(self, file: str) -> None:
        named = not self._name_files
        for item in self.decoder.messages(file):
            if isinstance(item, Finding):
                self.report(item)
                continue
            self._begin()
            if not named:
                named = True
                self.output.data(self._format.file(file))
            self.output.data(self._format.message(item))
            if self.counted():
                return

    def _begin(self) -> None:
        """The header once, also when there is not a single message."""
        if not self._begun:
            self._begun = True
            self.output.data(self._format.header())


class StatsJob(Job):
    def __init__(self, decoder: CaptureDecoder, output: Output, limit: int | None, *, as_json: bool) -> None:
        super().__init__(decoder, output, limit)
        self._statistics = CaptureStatistics()
        self._as_json = as_json

    def finish(self) -> None:
        counts = self._statistics.as_dict(self.decoder.counts)
        self.output.data(to_json(counts) + "\n" if self._as_json else report(counts))

    def file(self, file: str) -> None:
        for message in self._messages(file):
            self._statistics.see_message(message)
            if self.counted():
                return

    def _messages(self, file: str) -> Iterator[DecodedMessage]:
        for item in self.decoder.packets(file):
            if isinstance(item, Finding):
                self._statistics.see_finding(item)
                self.report(item)
            else:
                self._statistics.see_packet(item)
                yield from self.decoder.selected(item)
