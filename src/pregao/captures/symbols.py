"""Which security id has which symbol, as far as definitions have been seen."""

from collections.abc import Collection, Iterator

from pregao.captures.file_names import stream_of_file_name
from pregao.captures.glance import Survey, glance
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.sbe import Message, Schema
from pregao.feeds.binary.packets import PacketDecoder
from pregao.feeds.binary.streams import DEFINITIONS
from pregao.io.captures import open_capture
from pregao.model.errors import CaptureError, DecodeError
from pregao.model.streams import Stream

PEEK = 2000  # packets of a file of one stream that are looked at to see whether it has definitions
_EVERYTHING = 1 << 62


class SymbolTable:
    """A symbol may get another id, and an id another symbol: ids are kept, the last name is shown."""

    def __init__(self) -> None:
        self._ids: dict[str, set[int]] = {}
        self._symbols: dict[int, str] = {}

    def observe(self, message: Message) -> None:
        """Take any message; only definitions matter."""
        if message.header.template_id not in DEFINITIONS or message.fields is None:
            return
        security_id, symbol = message.fields.get("securityID"), message.fields.get("symbol")
        if isinstance(security_id, int) and isinstance(symbol, str):
            self.add(security_id, symbol)

    def add(self, security_id: int, symbol: str) -> None:
        self._symbols[security_id] = symbol
        self._ids.setdefault(symbol, set()).add(security_id)

    def symbol_of(self, security_id: int) -> str | None:
        return self._symbols.get(security_id)

    def has(self, symbol: str, security_id: int) -> bool:
        """Whether this was ever the symbol's id."""
        return security_id in self._ids.get(symbol, ())

    def knows(self, symbol: str) -> bool:
        return symbol in self._ids

    def __len__(self) -> int:
        return len(self._symbols)


def learn_symbols(table: SymbolTable, path: str, schema: Schema, symbols: Collection[str]) -> None:
    """Put every definition of these symbols in a file into a table. Cheap: a file without
    definitions is only looked at, and only packets in which a symbol stands are decoded."""
    decoder = PacketDecoder(schema)
    if not _holds_definitions(path):
        return
    needles = [symbol.encode() for symbol in symbols]
    for payload in _payloads(path):
        if any(needle in payload for needle in needles):
            for message in _messages(payload, decoder):
                table.observe(message)


def _holds_definitions(path: str) -> bool:
    """By what is inside: of a file whose name says what it is the beginning tells, of others all."""
    named = stream_of_file_name(path).stream
    if named is Stream.DEFINITION:
        return True
    try:
        found = glance(path, PEEK)
        if not found.whole and not _has_definitions(found) and (
            named is Stream.UNKNOWN or len(found.flows) > 1
        ):  # fmt: skip
            from pregao.captures.survey import survey

            found = survey(path, _EVERYTHING)
    except CaptureError:
        return False
    return _has_definitions(found)


def _has_definitions(found: Survey) -> bool:
    return any(not DEFINITIONS.isdisjoint(flow.marks) for flow in found.flows.values())


def _messages(payload: bytes, decoder: PacketDecoder) -> list[Message]:
    try:
        return [placed.message for placed in decoder.decode(payload).messages]
    except DecodeError:
        return []  # reported when the file is decoded


def _payloads(path: str) -> Iterator[bytes]:
    """The payload of every datagram; damage ends or is passed over in silence, decoding reports it."""
    reader = DatagramReader()
    try:
        with open_capture(path) as source:
            for window in source.windows():
                for outcome in reader.outcomes(window.data):
                    if isinstance(outcome, Datagram):
                        yield bytes(outcome.payload)
                window.consumed = reader.position - window.base
    except CaptureError:
        return
