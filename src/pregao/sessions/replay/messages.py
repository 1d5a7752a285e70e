"""The four messages of B3's replayers: BW asks, BX acknowledges, URDR carries, BY ends (UMDF FIX/FAST, 6.2).

Bare section numbers in this package are those of the UMDF FIX/FAST text.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from pregao.codecs.fix import Entry, FixMessage, ValueFormatError
from pregao.codecs.fix.types import parse_count, parse_integer
from pregao.model.errors import PregaoError

REQUEST, ACKNOWLEDGEMENT, RAW_DATA, REPORT = b"BW", b"BX", b"URDR", b"BY"
RETRANSMISSION = 0  # 1347
COMPLETE, FAILED = 3, 4  # 1426
MAX_MESSAGES = 2000  # of all channels of a request


class Response(IntEnum):
    """ApplRespType (1348). The text has 1 as partly accepted, an older dictionary 2: both are understood."""

    ACCEPTED = 0
    PARTLY = 1
    PARTLY_IN_OLD_DICTIONARIES = 2
    BUSY = 3
    TOO_MANY_CHANNELS = 4
    DUPLICATE = 5
    NOT_ALLOWED = 6
    UNAVAILABLE = 7


class ReplayError(IntEnum):
    """ApplRespError (1354)."""

    NO_SUCH_CHANNEL = 0
    NOT_AVAILABLE = 1
    BAD_RANGE = 3
    LIMIT_EXCEEDED = 4
    BEGINNING_GONE = 5
    END_PENDING = 6
    BOTH_ENDS_MISSING = 7
    UNAVAILABLE = 8


class ReplayFormatError(PregaoError):
    """A replay message that is valid FIX and still makes no sense."""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Numbers of a channel, both ends included."""

    channel: str
    begin: int
    end: int

    @property
    def count(self) -> int:
        return self.end - self.begin + 1


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    request_id: str
    spans: tuple[NumberRange, ...]

    def fields(self) -> dict[int, object]:
        spans = [{1355: each.channel, 1182: each.begin, 1183: each.end} for each in self.spans]
        return {1346: self.request_id, 1347: RETRANSMISSION, 1351: spans}

    @classmethod
    def read(cls, message: FixMessage) -> "ReplayRequest":
        if _integer(message.body, 1347) != RETRANSMISSION:
            raise ReplayFormatError("1347 is not 0")
        entries = message.group(1351)
        return cls(message.text(1346), tuple(_span(entry) for entry in entries))


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """`errors` by channel, where it was not accepted whole."""

    response_id: str
    request_id: str
    response: int
    spans: tuple[NumberRange, ...] = ()
    errors: tuple[tuple[str, int], ...] = ()

    def fields(self) -> dict[int, object]:
        errors = dict(self.errors)
        spans: list[dict[int, object]] = []
        for each in self.spans:
            entry: dict[int, object] = {1355: each.channel, 1182: each.begin, 1183: each.end}
            if each.channel in errors:
                entry[1354] = errors[each.channel]
            spans.append(entry)
        body: dict[int, object] = {1353: self.response_id, 1346: self.request_id, 1347: RETRANSMISSION}
        return body | {1348: self.response} | ({1351: spans} if spans else {})

    @classmethod
    def read(cls, message: FixMessage) -> "Acknowledgement":
        entries = message.group(1351)
        errors = tuple((_text(each, 1355), _integer(each, 1354)) for each in entries if 1354 in each)
        response = _integer(message.body, 1348)
        return cls(message.text(1353), message.text(1346), response, (), errors)


@dataclass(frozen=True, slots=True)
class RawPiece:
    """One message in a block of raw data: its number, that of the one before it, and where it lies."""

    number: int
    previous: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class RawData:
    request_id: str
    response_id: str
    channel: str
    reports: int  # 911: how many of these the channel gets
    data: bytes
    pieces: tuple[RawPiece, ...]

    def fields(self) -> dict[int, object]:
        pieces = [
            {1181: b"%d" % each.number, 1350: each.previous, 10055: each.offset, 95: each.length}
            for each in self.pieces
        ]
        body: dict[int, object] = {1346: self.request_id, 1353: self.response_id, 1180: self.channel}
        return body | {1352: True, 95: len(self.data), 96: self.data, 911: self.reports, 10054: pieces}

    @classmethod
    def read(cls, message: FixMessage) -> "RawData":
        """911, and 1350 of a piece, may be missing: nobody relies on them."""
        pieces = tuple(
            RawPiece(
                _count(entry, 1181), _count(entry, 1350) if 1350 in entry else 0, _count(entry, 10055),
                _count(entry, 95),
            )
            for entry in message.group(10054)
        )  # fmt: skip
        data = message.get(96) or b""
        ids = (message.text(1346), message.text(1353), message.text(1180))
        reports = _integer(message.body, 911) if 911 in message.body else 0
        return cls(*ids, reports, data, pieces)


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The end of one channel's part of an answer."""

    report_id: str
    kind: int  # 1426
    request_id: str
    response_id: str
    channel: str
    last: int | None = None  # 1357
    error: int | None = None

    def fields(self) -> dict[int, object]:
        entry: dict[int, object] = {1355: self.channel}
        if self.last is not None:
            entry[1357] = self.last
        if self.error is not None:
            entry[1354] = self.error
        body: dict[int, object] = {1356: self.report_id, 1426: self.kind, 1347: RETRANSMISSION}
        return body | {1346: self.request_id, 1353: self.response_id, 1351: [entry]}

    @classmethod
    def read(cls, message: FixMessage) -> "ReplayReport":
        entries = message.group(1351)
        if len(entries) != 1:
            raise ReplayFormatError("a report is of one channel")
        [entry] = entries
        last = _count(entry, 1357) if 1357 in entry else None
        error = _integer(entry, 1354) if 1354 in entry else None
        kind = _integer(message.body, 1426)
        ids = (message.text(1346), message.text(1353))
        return cls(message.text(1356), kind, *ids, _text(entry, 1355), last, error)


def _span(entry: Entry) -> NumberRange:
    return NumberRange(_text(entry, 1355), _count(entry, 1182), _count(entry, 1183))


def _text(entry: Entry, tag: int) -> str:
    value = entry.get(tag)
    if not isinstance(value, bytes):
        raise ReplayFormatError(f"tag {tag} is missing")
    return value.decode("latin-1")


def _integer(entry: Entry, tag: int) -> int:
    return _number(entry, tag, parse_integer)


def _count(entry: Entry, tag: int) -> int:
    return _number(entry, tag, parse_count)


def _number(entry: Entry, tag: int, parse: Callable[[bytes], int]) -> int:
    raw = _text(entry, tag).encode("latin-1")
    try:
        return parse(raw)
    except ValueFormatError as error:
        raise ReplayFormatError(f"tag {tag}: {error}") from None


def merge_spans(spans: Iterable[NumberRange]) -> list[NumberRange]:
    """The same numbers in as few spans as possible, by channel and number."""
    merged: list[NumberRange] = []
    for span in sorted(spans, key=lambda each: (each.channel, each.begin)):
        last = merged[-1] if merged else None
        if last is not None and last.channel == span.channel and span.begin <= last.end + 1:
            merged[-1] = NumberRange(span.channel, last.begin, max(last.end, span.end))
        else:
            merged.append(span)
    return merged
