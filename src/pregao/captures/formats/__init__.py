"""Decoded messages as lines: for people (text), for programs (json) and for tables (csv)."""

from typing import Protocol

from pregao.captures.decoded import DecodedMessage
from pregao.captures.formats.lines import CsvFormat, FixFormat, JsonFormat
from pregao.captures.formats.text import TextFormat
from pregao.captures.symbols import SymbolTable
from pregao.feeds.decoding import Decoder


class Format(Protocol):
    """A way to write messages; every string ends its own lines."""

    def header(self) -> str:
        """What comes before the first message."""

    def file(self, path: str) -> str:
        """What comes before the messages of a file."""

    def message(self, decoded: DecodedMessage) -> str: ...


def make_format(
    name: str, decoder: Decoder, symbols: SymbolTable, *, template: int | None = None, color: bool = False
) -> Format:
    """A format by its name. `template` is the only one to come, if that is known."""
    if name == "json":
        return JsonFormat()
    if name == "fix":
        return FixFormat(decoder)
    if name == "csv":
        return CsvFormat(decoder, template)
    return TextFormat(decoder, symbols, color=color)
