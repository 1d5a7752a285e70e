"""The `<types>` of a schema file: encoded types, enums, sets, composites and references."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from pregao.codecs.sbe.attributes import (
    attribute,
    character_encoding,
    count_of,
    first_clash,
    literal,
    number,
    optional_number,
    presence_of,
    span_of,
)
from pregao.codecs.sbe.declarations import (
    PRIMITIVES,
    AnyType,
    CompositeMember,
    CompositeType,
    EncodedType,
    EnumType,
    NamedValue,
    Presence,
    Primitive,
    SetType,
)
from pregao.codecs.xml import Element

MAX_TYPE_DEPTH = 8
MAX_LENGTH = 1 << 16
MAX_WEIGHT = 4096  # of one composite, references followed: they multiply like entities

_TYPE_TAGS = ("type", "composite", "enum", "set")
_EXPONENTS = range(-128, 128)


def weight(kind: AnyType) -> int:
    """How much a type costs each time it is laid out."""
    if isinstance(kind, CompositeType):
        return 1 + sum(weight(member.type) for member in kind.members)
    return 1 if isinstance(kind, EncodedType) else 1 + len(kind.values) // 16


class TypesReader:
    """Resolves names lazily, so that types may be declared in any order; cycles are refused."""

    def __init__(self, declarations: Mapping[str, Element]) -> None:
        self._declarations = declarations
        self._resolved: dict[str, AnyType] = {
            name: EncodedType(name, primitive)
            for name, primitive in PRIMITIVES.items()
            if name not in declarations  # a file may call a type of its own `uint8`
        }
        self._open: list[str] = []

    def all(self) -> dict[str, AnyType]:
        for name, element in self._declarations.items():
            self.named(name, element)
        return dict(self._resolved)

    def named(self, name: str, user: Element) -> AnyType:
        """The type of a name, as used by `user`."""
        if name in self._resolved and name not in self._open:
            return self._resolved[name]
        element = self._declarations.get(name)
        if element is None:
            user.fail(f"unknown type {name!r}")
        if name in self._open or len(self._open) >= MAX_TYPE_DEPTH:
            user.fail(f"type {name!r} refers to itself or is nested too deeply")
        self._open.append(name)
        resolved = self.read(element)
        self._open.pop()
        self._resolved[name] = resolved
        return resolved

    def read(self, element: Element, depth: int = 0) -> AnyType:
        if depth > MAX_TYPE_DEPTH:
            element.fail("nested too deeply")
        if element.tag == "type":
            return self._encoded(element)
        if element.tag == "enum":
            return self._enum(element)
        if element.tag == "set":
            return self._set(element)
        return self._composite(element, depth)

    def _encoded(self, element: Element) -> EncodedType:
        name = attribute(element, "name")
        primitive_name = attribute(element, "primitiveType")
        primitive = PRIMITIVES.get(primitive_name)
        if primitive is None:
            element.fail(f"unknown primitive type {primitive_name!r}")
        presence = presence_of(element) or Presence.REQUIRED
        length = number(element, "length", 1, top=MAX_LENGTH)
        constant: int | float | str | None = None
        if presence is Presence.CONSTANT:
            constant = self.constant(element, primitive)
            if primitive.name == "char" and "length" in element.attributes and len(str(constant)) > length:
                element.fail(f"constant {constant!r} is longer than {length}")
        return EncodedType(
            name=name,
            primitive=primitive,
            length=length,
            presence=presence,
            null=_null_value(element, primitive),
            constant=constant,
            minimum=self._bound(element, "minValue", primitive),
            maximum=self._bound(element, "maxValue", primitive),
            encoding=character_encoding(element, fixed=primitive.name == "char" and length > 0),
            semantic_type=element.attributes.get("semanticType"),
            deprecated=optional_number(element, "deprecated"),
        )

    def _bound(self, element: Element, name: str, primitive: Primitive) -> int | float | None:
        text = element.attributes.get(name)
        return None if text is None else literal(element, text, primitive)

    def constant(self, element: Element, primitive: Primitive) -> int | float | str:
        """The value of a constant: by `valueRef`, or the text of the element."""
        reference = element.attributes.get("valueRef")
        if reference is not None:
            return self.value_of(element, reference)
        text = element.text.strip()
        if not text:
            element.fail("a constant without a value")
        return text if primitive.name == "char" else literal(element, text, primitive)

    def constant_of_enum(self, element: Element, enum: EnumType) -> int | float | str:
        """A constant field of an enum is the name of the value, however the file writes it."""
        constant = self.constant(element, enum.encoding.primitive)
        if "valueRef" in element.attributes:
            return constant
        value = literal(element, element.text, enum.encoding.primitive)
        names = [known.name for known in enum.values if known.value == value]
        return names[0] if names else element.fail(f"{enum.name} has no value {constant!r}")

    def value_of(self, element: Element, reference: str) -> str | int | float:
        """`Enum.NAME` as the name of that value, checked to exist."""
        enum_name, _, value_name = reference.partition(".")
        enum = self.named(enum_name, element)
        if not isinstance(enum, EnumType):
            element.fail(f"valueRef {reference!r} does not name an enum")
        if not any(value.name == value_name for value in enum.values):
            element.fail(f"valueRef {reference!r}: {enum_name} has no such value")
        return value_name

    def _encoding_of(self, element: Element) -> EncodedType:
        encoding = self.named(attribute(element, "encodingType"), element)
        if not isinstance(encoding, EncodedType) or encoding.length != 1 or encoding.primitive.is_float:
            element.fail("encodingType must be a single integer or char")
        if encoding.presence is Presence.CONSTANT:
            element.fail("encodingType is a constant, which has no place on the wire")
        null = _null_value(element, encoding.primitive)  # the standard's own examples have it here, too
        presence = presence_of(element) or encoding.presence
        if presence is Presence.CONSTANT:
            element.fail("presence constant belongs to a field")
        return replace(encoding, presence=presence, null=encoding.null if null is None else null)

    def _enum(self, element: Element) -> EnumType:
        encoding = self._encoding_of(element)
        values = _distinct(
            element, "validValue", lambda child: int(literal(child, child.text, encoding.primitive))
        )
        return EnumType(attribute(element, "name"), encoding, values, element.attributes.get("semanticType"))

    def _set(self, element: Element) -> SetType:
        encoding = self._encoding_of(element)
        primitive = encoding.primitive
        if primitive.is_signed or primitive.name == "char":
            element.fail("encodingType of a set must be an unsigned integer")

        def bit(child: Element) -> int:
            position = count_of(child.text)
            if position is None or position >= 8 * primitive.size:
                child.fail(f"bit {child.text.strip()[:40]!r} does not exist in {primitive.name}")
            return position

        values = _distinct(element, "choice", bit)
        return SetType(attribute(element, "name"), encoding, values, element.attributes.get("semanticType"))

    def _composite(self, element: Element, depth: int) -> CompositeType:
        members: dict[str, CompositeMember] = {}
        end = total = 0
        for child in element.each(*_TYPE_TAGS, "ref"):
            name = attribute(child, "name")
            kind = self._member(child, depth)
            if name in members:
                child.fail("duplicate member")
            offset = number(child, "offset", end)
            if offset < end:
                child.fail(f"offset {offset} lies inside the member before, which ends at {end}")
            total += weight(kind)
            if total > MAX_WEIGHT:
                child.fail("a composite of too many members")
            members[name] = CompositeMember(name, offset, kind)
            end = offset + kind.size
        semantic_type = element.attributes.get("semanticType")
        return CompositeType(attribute(element, "name"), tuple(members.values()), semantic_type)

    def _member(self, element: Element, depth: int) -> AnyType:
        if element.tag == "ref":
            return self.named(attribute(element, "type"), element)
        kind = self.read(element, depth + 1)
        if element.attributes["name"] == "exponent" and isinstance(kind, EncodedType):
            constant = kind.constant
            if isinstance(constant, int) and constant not in _EXPONENTS:
                element.fail(f"exponent {constant} is beyond any decimal")
        return kind


def _null_value(element: Element, primitive: Primitive) -> int | float | None:
    """A declared nullValue. That of a char is written as the number 0, not as the digit."""
    text = element.attributes.get("nullValue")
    if text is None:
        return None
    return 0 if text.strip() == "0" else literal(element, text, primitive)


def _distinct(element: Element, tag: str, value_of: Callable[[Element], int]) -> tuple[NamedValue, ...]:
    """The values of an enum or the choices of a set: no name and no value twice in one version."""
    found = [(child, _named_value(child, value_of(child))) for child in element.each(tag)]

    def clash(one: tuple[Element, NamedValue], other: tuple[Element, NamedValue]) -> None:
        (_, first), (child, second) = one, other
        child.fail(f"{second.name}={second.value} clashes with {first.name}={first.value}")

    first_clash(((value.name, value.span, (child, value)) for child, value in found), clash)
    first_clash(((value.value, value.span, (child, value)) for child, value in found), clash)
    return tuple(value for _, value in found)


def _named_value(element: Element, value: int) -> NamedValue:
    name, deprecated = attribute(element, "name"), optional_number(element, "deprecated")
    return NamedValue(name, value, span_of(element), deprecated)
