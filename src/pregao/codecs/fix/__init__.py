"""FIX 4.4, tag=value: dictionaries, values, messages, framing. Sessions are in `pregao.sessions.fix`."""

from pregao.codecs.fix.dictionary import Block, Dictionary, FieldSpec, Member, MessageSpec
from pregao.codecs.fix.encoder import EncodedBody, Encoder
from pregao.codecs.fix.framing import Framed, Framer, Garbled
from pregao.codecs.fix.message import Entry, FixMessage, Problem, RejectReason
from pregao.codecs.fix.parser import parse_message
from pregao.codecs.fix.reader import load_builtin_dictionary, parse_dictionary
from pregao.codecs.fix.types import FieldType, FixValue, MonthYear, ValueFormatError, parse_value
from pregao.codecs.fix.validation import Unknowns, validate

__all__ = [
    "Block",
    "Dictionary",
    "EncodedBody",
    "Encoder",
    "Entry",
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
    "RejectReason",
    "Unknowns",
    "ValueFormatError",
    "load_builtin_dictionary",
    "parse_dictionary",
    "parse_message",
    "parse_value",
    "validate",
]
