"""The schema of B3's Binary UMDF that this package carries."""

from functools import cache
from importlib import resources

from pregao.codecs.sbe.reader import parse_schema
from pregao.codecs.sbe.schema import Schema

BUILTIN_SCHEMA = "b3-binary-umdf.xml"


@cache
def load_builtin_schema() -> Schema:
    """Our own history of the wire versions 7 to 17, read once a process."""
    text = resources.files("pregao.codecs.schemas").joinpath(BUILTIN_SCHEMA).read_bytes()
    return parse_schema(text, BUILTIN_SCHEMA)
