"""One message in plain Python: its fields as bytes, groups as lists of entries.

Values stay bytes until somebody asks: `integer`, `text` and `timestamp` read one. Whoever wants all of them
typed uses `types.parse_value` with the dictionary.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from zlib import adler32

from pregao.codecs.fix.types import parse_integer, parse_timestamp

Entry = dict[int, "bytes | list[Entry]"]
Value = bytes | list[Entry]


class SessionRejectReason(IntEnum):
    """SessionRejectReason (373) with the words of FIX 4.4."""

    INVALID_TAG_NUMBER = 0
    REQUIRED_TAG_MISSING = 1
    TAG_NOT_DEFINED_FOR_MESSAGE = 2
    TAG_WITHOUT_VALUE = 4
    VALUE_INCORRECT = 5
    INCORRECT_FORMAT = 6
    DECRYPTION_PROBLEM = 7
    SIGNATURE_PROBLEM = 8
    COMP_ID_PROBLEM = 9
    SENDING_TIME_PROBLEM = 10
    INVALID_MSG_TYPE = 11
    XML_VALIDATION_ERROR = 12
    TAG_APPEARS_TWICE = 13
    TAG_OUT_OF_ORDER = 14
    GROUP_OUT_OF_ORDER = 15
    GROUP_COUNT_INCORRECT = 16

    @property
    def text(self) -> str:
        return _REASONS[self]


_REASONS = {
    SessionRejectReason.INVALID_TAG_NUMBER: "Invalid tag number",
    SessionRejectReason.REQUIRED_TAG_MISSING: "Required tag missing",
    SessionRejectReason.TAG_NOT_DEFINED_FOR_MESSAGE: "Tag not defined for this message type",
    SessionRejectReason.TAG_WITHOUT_VALUE: "Tag specified without a value",
    SessionRejectReason.VALUE_INCORRECT: "Value is incorrect (out of range) for this tag",
    SessionRejectReason.INCORRECT_FORMAT: "Incorrect data format for value",
    SessionRejectReason.DECRYPTION_PROBLEM: "Decryption problem",
    SessionRejectReason.SIGNATURE_PROBLEM: "Signature problem",
    SessionRejectReason.COMP_ID_PROBLEM: "CompID problem",
    SessionRejectReason.SENDING_TIME_PROBLEM: "SendingTime accuracy problem",
    SessionRejectReason.INVALID_MSG_TYPE: "Invalid MsgType",
    SessionRejectReason.XML_VALIDATION_ERROR: "XML validation error",
    SessionRejectReason.TAG_APPEARS_TWICE: "Tag appears more than once",
    SessionRejectReason.TAG_OUT_OF_ORDER: "Tag specified out of required order",
    SessionRejectReason.GROUP_OUT_OF_ORDER: "Repeating group fields out of order",
    SessionRejectReason.GROUP_COUNT_INCORRECT: "Incorrect NumInGroup count for repeating group",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a message is rejected: the reason (373) and, where one is to blame, the tag (371)."""

    reason: SessionRejectReason
    tag: int | None = None


@dataclass(slots=True)
class FixMessage:
    """A message. `structure` is the first thing wrong with the order or the groups of its fields; `unknown`
    has the tags that its dictionary does not give it, which stay in the body."""

    msg_type: bytes
    header: Entry
    body: Entry
    trailer: Entry = field(default_factory=dict)
    structure: Problem | None = None
    unknown: list[int] = field(default_factory=list)
    raw: bytes = field(default=b"", repr=False, compare=False)  # as it came, where its session kept it

    def get(self, tag: int) -> bytes | None:
        """The value of a field of the header or the body that is not a group."""
        value = self.body.get(tag)
        if value is None:
            value = self.header.get(tag)
        return value if isinstance(value, bytes) else None

    def group(self, tag: int) -> list[Entry]:
        value = self.body.get(tag)
        return value if isinstance(value, list) else []

    def text(self, tag: int, default: str = "") -> str:
        value = self.get(tag)
        return default if value is None else value.decode("latin-1")

    def integer(self, tag: int) -> int | None:
        """None where there is none; a `ValueFormatError` where the bytes are no integer."""
        value = self.get(tag)
        return None if value is None else parse_integer(value)

    def timestamp(self, tag: int) -> int | None:
        value = self.get(tag)
        return None if value is None else parse_timestamp(value)

    def flag(self, tag: int) -> bool:
        return self.get(tag) == b"Y"


def byte_sum(data: bytes) -> int:
    """The sum of all bytes. adler32 has it modulo 65521, which 256 bytes never reach, nor 512 of ASCII: ten
    times the speed of adding them up in Python."""
    step = 512 if data.isascii() else 256
    if len(data) <= step:
        return (adler32(data) & 0xFFFF) - 1
    total = 0
    for at in range(0, len(data), step):
        total += (adler32(data[at : at + step]) & 0xFFFF) - 1
    return total
