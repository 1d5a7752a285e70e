"""The yardstick of FAST: a decoder in plain Python, as one writes it in an afternoon, and a loop that only
finds stop bits.

Frozen. It shares nothing with the project. Templates are read with ElementTree and turned into closures once;
the state is a dict that is cleared at every message; values are int, (mantissa, exponent) and str; no errors
are looked for. Operators: those of B3's templates (none, constant, default, copy, increment, delta).
"""

from collections.abc import Callable
from xml.etree import ElementTree

import numba
import numpy as np

NS = "{http://www.fixprotocol.org/ns/fast/td/1.1}"
Step = Callable[["Reader", dict], None]


class Reader:
    __slots__ = ("at", "bits", "data", "state")

    def __init__(self) -> None:
        self.data, self.at, self.bits, self.state = b"", 0, [], {}

    def presence_map(self) -> list[int]:
        data, at, bits = self.data, self.at, []
        while True:
            byte = data[at]
            at += 1
            for shift in (6, 5, 4, 3, 2, 1, 0):
                bits.append(byte >> shift & 1)
            if byte & 0x80:
                break
        self.at = at
        bits.reverse()
        return bits

    def bit(self) -> int:
        return self.bits.pop() if self.bits else 0

    def unsigned(self) -> int:
        data, at, value = self.data, self.at, 0
        while True:
            byte = data[at]
            at += 1
            if byte & 0x80:
                self.at = at
                return value << 7 | byte & 0x7F
            value = value << 7 | byte

    def signed(self) -> int:
        data, at = self.data, self.at
        value = -1 if data[at] & 0x40 else 0
        while True:
            byte = data[at]
            at += 1
            value = value << 7 | byte & 0x7F
            if byte & 0x80:
                self.at = at
                return value

    def optional_unsigned(self) -> int | None:
        value = self.unsigned()
        return value - 1 if value else None

    def optional_signed(self) -> int | None:
        value = self.signed()
        return value if value < 0 else value - 1 if value else None

    def text(self) -> str | None:
        data, at = self.data, self.at
        start = at
        while not data[at] & 0x80:
            at += 1
        self.at = at + 1
        return data[start:at].decode("ascii") + chr(data[at] & 0x7F)

    def optional_text(self) -> str | None:
        if self.data[self.at] == 0x80:
            self.at += 1
            return None
        return self.text()

    def vector(self) -> bytes:
        length = self.unsigned()
        self.at += length
        return self.data[self.at - length : self.at]

    def optional_vector(self) -> bytes | None:
        length = self.optional_unsigned()
        if length is None:
            return None
        self.at += length
        return self.data[self.at - length : self.at]


def _reading(kind: str, optional: bool, unicode: bool) -> Callable[[Reader], object]:
    if kind == "string":
        pair = (Reader.vector, Reader.optional_vector) if unicode else (Reader.text, Reader.optional_text)
    elif kind == "byteVector":
        pair = Reader.vector, Reader.optional_vector
    elif kind.startswith("u"):
        pair = Reader.unsigned, Reader.optional_unsigned
    else:
        pair = Reader.signed, Reader.optional_signed
    return pair[optional]


def _value(
    kind: str, optional: bool, operator, key: str, unicode: bool = False
) -> Callable[[Reader], object]:
    """A closure that gives a field's value."""
    read = _reading(kind, optional, unicode)
    if operator is None:
        return read
    name = operator.tag.removeprefix(NS)
    initial: object = operator.get("value")
    if initial is not None and kind != "string":
        initial = int(initial)
    if name == "constant":
        return (lambda r: initial if r.bit() else None) if optional else (lambda r: initial)
    if name == "default":
        return lambda r: read(r) if r.bit() else initial
    if name == "copy":

        def copy(r: Reader) -> object:
            if r.bit():
                value = r.state[key] = read(r)
            else:
                value = r.state.setdefault(key, initial)
            return value

        return copy
    if name == "increment":

        def increment(r: Reader) -> object:
            value = read(r) if r.bit() else r.state[key] + 1 if key in r.state else initial
            r.state[key] = value
            return value

        return increment
    change = Reader.optional_signed if optional else Reader.signed
    base = initial or 0

    def delta(r: Reader) -> object:
        difference = change(r)
        if difference is None:
            return None
        value = r.state[key] = r.state.get(key, base) + difference
        return value

    return delta


def _operator(element):
    children = [child for child in element if child.tag.removeprefix(NS) != "length"]
    return children[0] if children else None


def _step(element) -> Step:
    kind, name = element.tag.removeprefix(NS), element.get("name")
    optional = element.get("presence") == "optional"
    if kind == "sequence":
        return _sequence(element, name, optional)
    if kind == "decimal":
        parts = {child.tag.removeprefix(NS): _operator(child) for child in element}
        exponent = _value("int32", optional, parts.get("exponent"), name + "e")
        mantissa = _value("int64", False, parts.get("mantissa"), name + "m")

        def decimal(r: Reader, into: dict) -> None:
            power = exponent(r)
            into[name] = None if power is None else (mantissa(r), power)

        return decimal
    value = _value(kind, optional, _operator(element), name, element.get("charset") == "unicode")

    def simple(r: Reader, into: dict) -> None:
        into[name] = value(r)

    return simple


def _sequence(element, name: str, optional: bool) -> Step:
    lengths = element.findall(NS + "length")
    operator = _operator(lengths[0]) if lengths else None
    length = _value("uInt32", optional, operator, name + "n")
    inside = [child for child in element if child.tag != NS + "length"]
    steps = [_step(child) for child in inside]
    mapped = any(_has_bit(child) for child in inside)

    def sequence(r: Reader, into: dict) -> None:
        count = length(r)
        if count is None:
            into[name] = None
            return
        outer, entries = r.bits, []
        for _ in range(count):
            if mapped:
                r.bits = r.presence_map()
            entry: dict = {}
            for step in steps:
                step(r, entry)
            entries.append(entry)
        r.bits = outer
        into[name] = entries

    return sequence


def _has_bit(element) -> bool:
    kind, optional = element.tag.removeprefix(NS), element.get("presence") == "optional"
    owners = (
        element if kind == "decimal" else element.findall(NS + "length") if kind == "sequence" else [element]
    )
    for owner in owners:
        operator = _operator(owner)
        tag = None if operator is None else operator.tag.removeprefix(NS)
        if tag in ("default", "copy", "increment") or (tag == "constant" and optional):
            return True
    return False


class Decoder:
    def __init__(self, xml: bytes) -> None:
        root = ElementTree.fromstring(xml)
        self._templates = {
            int(each.get("id")): (each.get("name"), [_step(child) for child in each])
            for each in root.iter(NS + "template")
        }
        self._reader = Reader()

    def decode(self, data: bytes) -> tuple[str, dict]:
        reader = self._reader
        reader.data, reader.at = data, 0
        reader.state.clear()
        reader.bits = reader.presence_map()
        reader.bit()
        name, steps = self._templates[reader.unsigned()]
        fields: dict = {}
        for step in steps:
            step(reader, fields)
        return name, fields


@numba.njit(cache=False)
def find_stop_bits(data: np.ndarray, places: np.ndarray) -> int:
    count = 0
    for index in range(len(data)):
        if data[index] & 0x80:
            places[count] = index
            count += 1
    return count
