"""A standard SBE 1.0 schema file as plain lists: the half of the oracle that reads XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

Value = Any

SIZES = {"char": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
SIZES |= {"int64": 8, "uint64": 8, "float": 4, "double": 8}


def integer_range(primitive: str) -> tuple[int, int]:
    bits = 8 * SIZES[primitive]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if primitive.startswith("int") else (0, (1 << bits) - 1)


def default_null(primitive: str) -> int:
    if primitive == "char":
        return 0
    low, high = integer_range(primitive)
    return low if primitive.startswith("int") else high


def literal(text: str, primitive: str) -> int:
    """The integer a validValue, nullValue or constant stands for; a char may be written as itself."""
    text = text.strip()
    return ord(text) if primitive == "char" and len(text) == 1 else int(text)


@dataclass
class Encoding:
    """How one value lies on the wire."""

    kind: str  # int, float, char, string, array, enum, set, decimal, time, composite
    primitive: str
    size: int
    presence: str = "required"
    null: int | None = None
    names: dict[str, int] = field(default_factory=dict)  # enum: value, set: bit
    members: list[Field] = field(default_factory=list)
    constant: Value = None
    charset: str = "ascii"
    semantic: str = ""


@dataclass
class Field:
    """A field of a block, or a member of a composite."""

    name: str
    id: int
    offset: int
    presence: str
    encoding: Encoding
    since: int = 0
    constant: Value = None

    @property
    def size(self) -> int:
        return 0 if self.presence == "constant" else self.encoding.size

    @property
    def kind(self) -> str:
        return self.encoding.kind

    @property
    def values(self) -> dict[str, int]:
        return self.encoding.names

    @property
    def exponent(self) -> int | None:
        if self.kind != "decimal":
            return None
        exponent = member(self.encoding, "exponent")
        return int(exponent.constant) if exponent.presence == "constant" else None

    @property
    def nulls(self) -> dict[str, int | None]:
        """Null value of each part on the wire; a plain field has one part, named ''."""
        if self.encoding.members:
            parts = [m for m in self.encoding.members if m.presence != "constant"]
            return {m.name + ("." + k if k else ""): v for m in parts for k, v in m.nulls.items()}
        if self.kind == "enum":
            return {"": self.encoding.null}
        if self.kind in ("int", "array") and self.presence == "optional":
            return {"": self.encoding.null}
        return {"": None}


@dataclass
class Data:
    name: str
    id: int
    length: Field
    charset: str | None
    header_size: int
    since: int = 0


@dataclass
class Block:
    """A message's root or one group entry."""

    name: str
    id: int
    block_length: int
    fields: list[Field]
    constants: list[Field]
    groups: list[Block]
    data: list[Data]
    since: int = 0
    dimension: Encoding | None = None  # of a group


def member(encoding: Encoding, name: str) -> Field:
    return next(m for m in encoding.members if m.name == name)


def local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


class SchemaFile:
    """The messages of a schema file, by template id."""

    def __init__(self, root: ET.Element) -> None:
        self.id = int(root.get("id", "0"))
        self.version = int(root.get("version", "0"))
        self.order = "big" if root.get("byteOrder", "littleEndian") == "bigEndian" else "little"
        self._declared = {e.get("name", ""): e for types in root if local(types) == "types" for e in types}
        self.header = self._encoding(root.get("headerType", "messageHeader"))
        self.messages: dict[int, Block] = {}
        for element in (e for e in root if local(e) == "message"):
            message = self._block(element)
            self.messages[message.id] = message

    @classmethod
    def load(cls, path: str | Path) -> Self:
        return cls(ET.parse(path).getroot())

    @classmethod
    def from_string(cls, text: str) -> Self:
        return cls(ET.fromstring(text))

    def named_values(self) -> dict[str, dict[str, int]]:
        """Every enum and set of the file, used by a message or not."""
        names = [name for name, e in self._declared.items() if local(e) in ("enum", "set")]
        return {name: self._encoding(name).names for name in names}

    def _encoding(self, name: str) -> Encoding:
        if name in self._declared:
            return self._from_element(self._declared[name])
        return self._simple(ET.Element("type", primitiveType=name))

    def _from_element(self, e: ET.Element) -> Encoding:
        make = {"type": self._simple, "enum": self._names, "set": self._names, "composite": self._composite}
        if local(e) == "ref":
            return self._encoding(e.attrib["type"])
        return make[local(e)](e)

    def _simple(self, e: ET.Element) -> Encoding:
        primitive, length = e.attrib["primitiveType"], int(e.get("length", "1"))
        kind = "float" if primitive in ("float", "double") else "char" if primitive == "char" else "int"
        if "length" in e.attrib and length != 1:
            kind = "string" if primitive == "char" else "array"
        null = None if kind == "float" else default_null(primitive)
        if "nullValue" in e.attrib and kind != "float":
            text = e.attrib["nullValue"]  # of a char too it is a number: NUL, not the digit
            null = int(text) if text.isdigit() else literal(text, primitive)
        encoding = Encoding(kind, primitive, SIZES[primitive] * length, e.get("presence", "required"), null)
        encoding.charset = e.get("characterEncoding", "ascii")
        encoding.semantic = e.get("semanticType", "")
        if encoding.presence == "constant":
            encoding.constant = self._constant(e, encoding)
        return encoding

    def _constant(self, e: ET.Element, encoding: Encoding) -> Value:
        if "valueRef" in e.attrib:
            enum, _, name = e.attrib["valueRef"].partition(".")
            value = self._encoding(enum).names[name]
            return name if encoding.kind == "enum" else value
        text = (e.text or "").strip()
        if not text:
            return encoding.constant
        return text if encoding.primitive == "char" else int(text)

    def _names(self, e: ET.Element) -> Encoding:
        base = self._encoding(e.attrib["encodingType"])
        kind = local(e)
        names = {
            v.attrib["name"]: literal(v.text or "", base.primitive if kind == "enum" else "int") for v in e
        }
        return Encoding(
            kind,
            base.primitive,
            base.size,
            e.get("presence", "required"),
            base.null if kind == "enum" else None,
            names,
        )

    def _composite(self, e: ET.Element) -> Encoding:
        members, end = [], 0
        for child in e:
            encoding = self._from_element(child)
            offset = int(child.get("offset", str(end)))
            part = Field(child.attrib["name"], 0, offset, encoding.presence, encoding, 0, encoding.constant)
            members.append(part)
            end = max(end, offset + part.size)
        special = {"exponent mantissa": "decimal", "time unit": "time"}
        kind = special.get(" ".join(sorted(m.name for m in members)), "composite")
        result = Encoding(kind, "", end, e.get("presence", "required"), members=members)
        result.semantic = e.get("semanticType", "")
        return result

    def _block(self, e: ET.Element) -> Block:
        fields: list[Field] = []
        constants: list[Field] = []
        groups: list[Block] = []
        data: list[Data] = []
        end = 0
        for child in e:
            if local(child) == "field":
                item = self._field(child, end)
                (constants if item.presence == "constant" else fields).append(item)
                end = max(end, item.offset + item.size)
            elif local(child) == "group":
                groups.append(self._block(child))
            elif local(child) == "data":
                data.append(self._data(child))
        dimension = e.get("dimensionType", "groupSizeEncoding")
        return Block(
            e.attrib["name"],
            int(e.attrib["id"]),
            int(e.get("blockLength", str(end))),
            fields,
            constants,
            groups,
            data,
            int(e.get("sinceVersion", "0")),
            self._encoding(dimension) if local(e) == "group" else None,
        )

    def _field(self, e: ET.Element, end: int) -> Field:
        encoding = self._encoding(e.attrib["type"])
        presence = e.get("presence", encoding.presence)
        result = Field(
            e.attrib["name"],
            int(e.attrib["id"]),
            int(e.get("offset", str(end))),
            presence,
            encoding,
            int(e.get("sinceVersion", "0")),
        )
        if presence == "constant":
            result.offset, result.constant = end, self._constant(e, encoding)
        return result

    def _data(self, e: ET.Element) -> Data:
        encoding = self._encoding(e.attrib["type"])
        var = member(encoding, "varData")
        element = next(c for c in self._declared[e.attrib["type"]] if c.get("name") == "varData")
        charset = element.get("characterEncoding") or ("ascii" if var.encoding.primitive == "char" else None)
        return Data(
            e.attrib["name"],
            int(e.attrib["id"]),
            member(encoding, "length"),
            charset,
            member(encoding, "length").size,
            int(e.get("sinceVersion", "0")),
        )
