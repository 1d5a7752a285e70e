"""Simple Binary Encoding 1.0: schema files, layouts per wire version, messages and columns."""

from functools import cache
from importlib import resources

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

BUILTIN_SCHEMA = "b3-binary-umdf.xml"


@cache
def load_builtin_schema() -> Schema:
    """B3's Binary UMDF: our own history of the wire versions 7 to 17, read once a process."""
    text = resources.files("pregao.codecs").joinpath("schemas", BUILTIN_SCHEMA).read_bytes()
    return parse_schema(text, BUILTIN_SCHEMA)
