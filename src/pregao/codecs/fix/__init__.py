"""FIX 4.4, tag=value: dictionaries, values, messages, framing. Sessions are in `pregao.sessions.fix`."""

from pregao.codecs.fix.bodies import EncodedBody
from pregao.codecs.fix.dictionary import Dictionary, FieldBlock, FieldSpec, Member, MessageSpec
from pregao.codecs.fix.encoder import Encoder
from pregao.codecs.fix.framing import Framed, Framer, Garbled
from pregao.codecs.fix.message import Entry, FixMessage, Problem, SessionRejectReason
from pregao.codecs.fix.parser import parse_message
from pregao.codecs.fix.reader import load_builtin_dictionary, parse_dictionary
from pregao.codecs.fix.types import FieldType, FixValue, MonthYear, ValueFormatError, parse_value
from pregao.codecs.fix.validation import Unknowns, validate

__all__ = [
    "Dictionary",
    "EncodedBody",
    "Encoder",
    "Entry",
    "FieldBlock",
    "FieldSpec",
    "FieldType",
    "FixMessage",
    "FixValue",
    "Framed",
    "Framer",
    "Garbled",
    "Member",
    "MessageSpec",
    "MonthYear",
    "Problem",
    "SessionRejectReason",
    "Unknowns",
    "ValueFormatError",
    "load_builtin_dictionary",
    "parse_dictionary",
    "parse_message",
    "parse_value",
    "validate",
]
