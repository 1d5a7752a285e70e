"""Simple Binary Encoding 1.0: schema files, layouts per wire version, messages and columns."""

from pregao.codecs.sbe.builtin import load_builtin_schema
from pregao.codecs.sbe.decoder import MessageHeader, SbeMessage, SbeMessageDecoder
from pregao.codecs.sbe.encoder import SbeMessageEncoder
from pregao.codecs.sbe.reader import parse_schema
from pregao.codecs.sbe.schema import Schema

__all__ = [
    "MessageHeader",
    "SbeMessage",
    "SbeMessageDecoder",
    "SbeMessageEncoder",
    "Schema",
    "load_builtin_schema",
    "parse_schema",
]
