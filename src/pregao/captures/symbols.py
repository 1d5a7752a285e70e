"""Which security id has which symbol, as far as definitions have been seen."""

from collections.abc import Collection, Iterator
from contextlib import suppress

from pregao.captures.glance import Survey, glance
from pregao.captures.reader import CaptureReader
from pregao.captures.streams import stream_of_file_name
from pregao.codecs.pcap.outcomes import Datagram
from pregao.feeds.decoding import Decoder
from pregao.feeds.registry import DEFAULT
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


def learn_symbols(
    table: SymbolTable, path: str, decoder: Decoder, symbols: Collection[str], system: str = DEFAULT
) -> None:
    """Put every definition of these symbols in a file into a table. Cheap: a file without
    definitions is only looked at, and only packets in which a symbol stands are decoded."""
    if not _holds_definitions(path, decoder.definition_marks, system):
        return
    needles = [symbol.encode() for symbol in symbols]
    for payload in _payloads(path):
        if any(needle in payload for needle in needles):
            for security_id, symbol in _named_in(payload, decoder):
                table.add(security_id, symbol)


def _holds_definitions(path: str, marks: frozenset[int], system: str) -> bool:
    """By what is inside: of a file whose name says what it is the beginning tells, of others all."""
    named = stream_of_file_name(path).stream
    if named is Stream.DEFINITION:
        return True
    try:
        found = glance(path, PEEK, system)
        if not found.whole and not _has_any(found, marks) and (
            named is Stream.UNKNOWN or len(found.flows) > 1
        ):  # fmt: skip
            from pregao.captures.survey import survey

            found = survey(path, _EVERYTHING, system)
    except CaptureError:
        return False
    return _has_any(found, marks)


def _has_any(found: Survey, marks: frozenset[int]) -> bool:
    return any(not marks.isdisjoint(flow.marks) for flow in found.flows.values())


def _named_in(payload: bytes, decoder: Decoder) -> list[tuple[int, str]]:
    try:
        units = decoder.decode(payload)
    except DecodeError:
        return []  # reported when the file is decoded
    return [each for unit in units for placed in unit.messages for each in decoder.symbols(placed.message)]


def _payloads(path: str) -> Iterator[bytes]:
    """The payload of every datagram; damage ends or is passed over in silence, decoding reports it."""
    with suppress(CaptureError), open_capture(path) as source:
        for item in CaptureReader(path).read(source):
            if isinstance(item, Datagram):
                yield bytes(item.payload)
