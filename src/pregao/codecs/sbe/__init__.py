"""Simple Binary Encoding 1.0: schema files, layouts per wire version, messages and columns."""

from pregao.codecs.sbe.builtin import load_builtin_schema
from pregao.codecs.sbe.decoder import Message, MessageDecoder, MessageHeader
from pregao.codecs.sbe.encoder import MessageEncoder
from pregao.codecs.sbe.reader import parse_schema
from pregao.codecs.sbe.schema import Schema

__all__ = [
    "Message",
    "MessageDecoder",
    "MessageEncoder",
    "MessageHeader",
    "Schema",
    "load_builtin_schema",
    "parse_schema",
]
