"""Attributes and texts of a schema file as numbers, spans, presences, literals and codecs.

Every one either is what the standard asks for or fails naming its element: nothing that a file
says reaches Python's own conversions unchecked (they know more digits, codecs and lengths than SBE).
"""

import codecs
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from struct import pack, unpack
from typing import TypeVar

from pregao.codecs.sbe.declarations import FOREVER, Presence, Primitive, VersionSpan
from pregao.codecs.xml import Element

HISTORY = "{urn:pregao:sbe-history}"

_DIGITS = 20  # no number of a schema has more, and int() is slow or refuses for very many
_INTEGER = re.compile(rf"([+-]?)(?:0[xX]([0-9a-fA-F]{{1,{_DIGITS}}})|([0-9]{{1,{_DIGITS}}}))", re.ASCII)
# Codecs that are not character sets, or that cannot decode arbitrary bytes with escapes.
_NOT_CHARACTER_SETS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})

T = TypeVar("T")


def attribute(element: Element, name: str) -> str:
    value = element.attributes.get(name)
    if value is None:
        element.fail(f"attribute {name!r} is missing")
    return value


def count_of(text: str) -> int | None:
    """A non-negative decimal number, or None where the text is none."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def number(element: Element, name: str, default: int | None = None, top: int = FOREVER) -> int:
    """A non-negative attribute up to a bound: lengths, offsets, ids and versions all are."""
    text = element.attributes.get(name)
    if text is None:
        if default is None:
            element.fail(f"attribute {name!r} is missing")
        return default
    value = count_of(text)
    if value is None or value > top:
        element.fail(f"attribute {name}={text[:40]!r} is not a number from 0 to {top}")
    return value


def optional_number(element: Element, name: str) -> int | None:
    return number(element, name) if name in element.attributes else None


def span_of(element: Element) -> VersionSpan:
    span = VersionSpan(number(element, "sinceVersion", 0), number(element, HISTORY + "untilVersion", FOREVER))
    if span.since >= span.until:
        element.fail(f"never holds: since {span.since}, until {span.until}")
    return span


def presence_of(element: Element) -> Presence | None:
    text = element.attributes.get("presence")
    if text is None:
        return None
    try:
        return Presence(text)
    except ValueError:
        element.fail(f"unknown presence {text!r}")


def literal(element: Element, text: str, primitive: Primitive) -> int | float:
    """A value written in the file, in the range of its primitive. A char may be a blank."""
    if primitive.name == "char":
        character = text if len(text) == 1 else text.strip()
        if len(character) == 1:
            return ord(character) if ord(character) < 256 else element.fail(f"{character!r} is not one byte")
    text = text.strip()
    if primitive.is_float:
        return _float(element, text, primitive)
    match = _INTEGER.fullmatch(text)
    if match is None:
        element.fail(f"{text[:40]!r} is not a value of {primitive.name}")
    sign, hexadecimal, decimal = match.groups()
    value = int(decimal) if decimal else int(hexadecimal, 16)
    value = -value if sign == "-" else value
    if not primitive.minimum <= value <= primitive.maximum:
        element.fail(f"{text} does not fit {primitive.name}")
    return value


def _float(element: Element, text: str, primitive: Primitive) -> float:
    """Rounded as the wire rounds it, so that a null of 0.1 is found again."""
    try:
        form = "<" + primitive.code  # standard sizes: the native ones do not overflow
        (value,) = unpack(form, pack(form, float(text)))
    except (ValueError, OverflowError):
        element.fail(f"{text[:40]!r} is not a value of {primitive.name}")
    return float(value)


def character_encoding(element: Element, *, fixed: bool) -> str | None:
    """The Python codec of a characterEncoding, or None where none is said. A fixed string ends at
    its first NUL, so its characters may have none."""
    name = element.attributes.get("characterEncoding", "").strip()
    if not name:
        return None
    try:
        codec = codecs.lookup(name).name
        letter = "" if codec in _NOT_CHARACTER_SETS else "A".encode(codec)  # refuses what is not for text
    except (LookupError, ValueError):
        letter = ""
    if isinstance(letter, str):
        element.fail(f"unknown characterEncoding {name[:40]!r}")
    if fixed and 0 in letter:
        element.fail(f"characterEncoding {name!r} needs zero bytes, which end a fixed string")
    return codec


def first_clash(items: Iterable[tuple[object, VersionSpan, T]], clash: Callable[[T, T], None]) -> None:
    """Calls `clash` with the first two items of one key whose spans overlap. Sorted, not pairwise:
    a hostile file can have very many items."""
    by_key: dict[object, list[tuple[VersionSpan, T]]] = {}
    for key, span, item in items:
        by_key.setdefault(key, []).append((span, item))
    for same in by_key.values():
        same.sort(key=lambda entry: entry[0].since)
        for (span, item), (next_span, next_item) in pairwise(same):
            if span.overlaps(next_span):
                clash(item, next_item)
