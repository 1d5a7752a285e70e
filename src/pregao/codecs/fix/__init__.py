"""FIX 4.4, tag=value: dictionaries, values, messages, framing. Sessions are in `pregao.sessions.fix`."""

from .dictionary import Block, Dictionary, FieldSpec, Member, MessageSpec
from .encoder import EncodedBody, Encoder
from .framing import Framed, Framer, Garbled
from .message import Entry, FixMessage, Problem, RejectReason
from .parser import parse_message
from .reader import load_builtin_dictionary, parse_dictionary
from .types import FieldType, FixValue, MonthYear, ValueFormatError, parse_value
from .validation import Unknowns, validate

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
