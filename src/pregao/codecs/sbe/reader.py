"""A schema file read into a `Schema`, or refused with the line that contradicts itself."""

import re
from collections.abc import Iterable, Iterator, Sequence

from pregao.codecs.sbe.attributes import (
    HISTORY,
    attribute,
    first_clash,
    number,
    optional_number,
    presence_of,
    span_of,
)
from pregao.codecs.sbe.declarations import (
    FOREVER,
    AnyType,
    BlockDeclaration,
    CompositeMember,
    CompositeType,
    DataDeclaration,
    Dimension,
    EncodedType,
    EnumType,
    FieldDeclaration,
    HeaderLayout,
    Presence,
    Primitive,
    SetType,
    VersionSpan,
)
from pregao.codecs.sbe.schema import Schema
from pregao.codecs.sbe.types_reader import TypesReader, weight
from pregao.codecs.xml import Element, parse
from pregao.model.errors import SchemaError

MAX_GROUP_DEPTH = 8
MAX_BREAKPOINTS = 255
MAX_LAYOUTS = 500_000  # of all versions together: B3's seven in one file need about 6,000
_HEADER_MEMBERS = ("blockLength", "templateId", "schemaId", "version")
_BYTE_ORDERS = {"littleendian": "<", "bigendian": ">"}


def parse_schema(text: bytes, file: str = "") -> Schema:
    """Read a schema from the bytes of an SBE XML file. `file` is only for error messages."""
    root = parse(text, file)
    if root.tag != "messageSchema":
        root.fail("the root element must be messageSchema")
    types = TypesReader(_declarations(root))
    all_types = types.all()
    messages = _Messages(types).read(root)
    spans = list(_spans(messages, all_types.values()))
    version = number(root, "version", 0)
    schema = Schema(
        package=root.attributes.get("package", "").strip(),
        id=number(root, "id", top=0xFFFF),
        version=version,
        semantic_version=root.attributes.get("semanticVersion", ""),
        byte_order=_byte_order(root),
        header=_header(root, types),
        messages=messages,
        known_versions=_known_versions(root),
        breakpoints=tuple(sorted({0, version, *spans} - {FOREVER})),
        types=all_types,
    )
    changes = len(schema.breakpoints)
    if changes > MAX_BREAKPOINTS or changes * sum(map(_weight, messages)) > MAX_LAYOUTS:
        root.fail("too many versions of too many fields")
    try:
        for breakpoint_version in schema.breakpoints:
            schema.at(breakpoint_version)  # every layout is checked now, not when a message comes
    except SchemaError as error:
        raise SchemaError(error.reason, file=file, line=error.line, element=error.element) from None
    return schema


def _weight(block: BlockDeclaration) -> int:
    own = 1 + len(block.data) + sum(weight(field.type) for field in block.fields)
    return own + sum(map(_weight, block.groups))


def _declarations(root: Element) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for types in root.each("types"):
        for element in types.children:
            if element.tag not in ("type", "composite", "enum", "set"):
                element.fail("unknown kind of type")
            name = attribute(element, "name")
            if name in found:
                element.fail(f"duplicate type; first in line {found[name].line}")
            found[name] = element
    return found


def _byte_order(root: Element) -> str:
    text = root.attributes.get("byteOrder", "littleEndian")
    order = _BYTE_ORDERS.get(text.lower())
    return order if order else root.fail(f"unknown byteOrder {text!r}")


def _known_versions(root: Element) -> frozenset[int]:
    words = root.attributes.get(HISTORY + "versions", "").split()
    if not all(re.fullmatch(r"[0-9]{1,5}", word) for word in words):
        root.fail("versions is not a list of numbers")
    return frozenset(map(int, words))


def _header(root: Element, types: TypesReader) -> HeaderLayout:
    name = root.attributes.get("headerType", "messageHeader")
    composite = types.named(name, root)
    if not isinstance(composite, CompositeType):
        root.fail(f"header type {name!r} is not a composite")
    found = [_counter(root, composite, member) for member in _HEADER_MEMBERS]
    return HeaderLayout(composite.size, *found)


def _counter(element: Element, composite: CompositeType, name: str) -> tuple[int, Primitive]:
    """Offset and primitive of an unsigned member that a decoder must find."""
    member, kind = _plain_member(element, composite, name)
    if kind.length != 1 or kind.size == 0 or kind.primitive.is_float or kind.primitive.is_signed:
        element.fail(f"{composite.name}.{name} must be one unsigned integer")
    return member.offset, kind.primitive


def _plain_member(
    element: Element, composite: CompositeType, name: str
) -> tuple[CompositeMember, EncodedType]:
    member = composite.member(name)
    if member is None or not isinstance(member.type, EncodedType):
        element.fail(f"composite {composite.name!r} has no plain member {name!r}")
    return member, member.type


def _spans(messages: Iterable[BlockDeclaration], types: Iterable[AnyType]) -> Iterator[int]:
    """Every version at which something begins or ends."""
    for block in messages:
        yield from (block.span.since, block.span.until)
        yield from (since for since, _ in block.block_lengths)
        for span in (*(field.span for field in block.fields), *(data.span for data in block.data)):
            yield from (span.since, span.until)
        yield from _spans(block.groups, ())
    for kind in types:
        if isinstance(kind, EnumType | SetType):
            for value in kind.values:
                yield from (value.span.since, value.span.until)


class _Messages:
    def __init__(self, types: TypesReader) -> None:
        self._types = types

    def read(self, root: Element) -> tuple[BlockDeclaration, ...]:
        found = [(element, self._block(element, VersionSpan())) for element in root.each("message")]
        _reject_duplicates(found)
        return tuple(message for _, message in found)

    def _block(self, element: Element, parent: VersionSpan, depth: int = 0) -> BlockDeclaration:
        if depth > MAX_GROUP_DEPTH:
            element.fail("groups nested too deeply")
        own = span_of(element)
        span = VersionSpan(max(own.since, parent.since), min(own.until, parent.until))
        fields: list[tuple[Element, FieldDeclaration]] = []
        groups: list[tuple[Element, BlockDeclaration]] = []
        data: list[tuple[Element, DataDeclaration]] = []
        end = 0
        for child in element.children:
            if child.tag == "field":
                if groups or data:
                    child.fail("a field must stand before groups and data")
                field = self._field(child, end)
                end = max(end, field.offset + _wire_size(field))
                fields.append((child, field))
            elif child.tag == "group":
                if data:
                    child.fail("a group must stand before data")
                groups.append((child, self._block(child, span, depth + 1)))
            elif child.tag == "data":
                data.append((child, self._data(child)))
            else:
                child.fail("unknown element in a message")
        _reject_duplicates([*fields, *groups, *data])
        return BlockDeclaration(
            name=attribute(element, "name"),
            id=number(element, "id", top=0xFFFF),
            span=span,
            fields=tuple(field for _, field in fields),
            groups=tuple(group for _, group in groups),
            data=tuple(item for _, item in data),
            block_lengths=_block_lengths(element),
            dimension=self._dimension(element) if element.tag == "group" else None,
            semantic_type=element.attributes.get("semanticType"),
            deprecated=optional_number(element, "deprecated"),
            line=element.line,
        )

    def _field(self, element: Element, end: int) -> FieldDeclaration:
        kind = self._types.named(attribute(element, "type"), element)
        presence = presence_of(element)
        constant: int | float | str | None = None
        if isinstance(kind, EncodedType) and kind.presence is Presence.CONSTANT:
            presence, constant = Presence.CONSTANT, kind.constant
        elif presence is Presence.CONSTANT:
            constant = self._constant(element, kind)
        elif not _has_fixed_size(kind):
            element.fail("a field cannot be of a type without a fixed length")
        return FieldDeclaration(
            name=attribute(element, "name"),
            id=number(element, "id", top=0xFFFF),
            type=kind,
            presence=presence,
            offset=number(element, "offset", end),
            span=span_of(element),
            constant=constant,
            deprecated=optional_number(element, "deprecated"),
            semantic_type=element.attributes.get("semanticType") or kind.semantic_type,
        )

    def _constant(self, element: Element, kind: AnyType) -> int | float | str:
        if isinstance(kind, EncodedType):
            return self._types.constant(element, kind.primitive)
        if not isinstance(kind, EnumType):
            element.fail("only a type or an enum can be constant")
        reference = element.attributes.get("valueRef")
        if reference is not None and reference.partition(".")[0] != kind.name:
            element.fail(f"valueRef {reference!r} is not a value of {kind.name}")
        return self._types.constant_of_enum(element, kind)

    def _data(self, element: Element) -> DataDeclaration:
        composite = self._types.named(attribute(element, "type"), element)
        if not isinstance(composite, CompositeType):
            element.fail("the type of data must be a composite of length and varData")
        offset, length = _counter(element, composite, "length")
        _, length_type = _plain_member(element, composite, "length")
        body, body_type = _plain_member(element, composite, "varData")
        if body_type.primitive.size != 1:
            element.fail(f"{composite.name}.varData must be of bytes")
        if composite.members[-1] is not body or offset + length.size > body.offset:
            element.fail(f"{composite.name}.varData must come last, after length")
        encoding = body_type.encoding or ("ascii" if body_type.primitive.name == "char" else None)
        declared = length_type.maximum
        return DataDeclaration(
            name=attribute(element, "name"),
            id=number(element, "id", top=0xFFFF),
            length=length,
            length_offset=offset,
            header_size=body.offset,
            maximum=int(length.maximum if declared is None else declared),
            encoding=encoding,
            span=span_of(element),
        )

    def _dimension(self, element: Element) -> Dimension:
        name = element.attributes.get("dimensionType", "groupSizeEncoding")
        composite = self._types.named(name, element)
        if not isinstance(composite, CompositeType):
            element.fail(f"dimension type {name!r} is not a composite")
        block_offset, block = _counter(element, composite, "blockLength")
        count_offset, count = _counter(element, composite, "numInGroup")
        return Dimension(composite.size, block, block_offset, count, count_offset)


def _wire_size(field: FieldDeclaration) -> int:
    return 0 if field.presence is Presence.CONSTANT else field.type.size


def _has_fixed_size(kind: AnyType) -> bool:
    """Whether everything in a type that is not constant has its bytes in the block."""
    if isinstance(kind, CompositeType):
        return all(_has_fixed_size(member.type) for member in kind.members)
    return not isinstance(kind, EncodedType) or kind.presence is Presence.CONSTANT or kind.length > 0


Declared = tuple[Element, FieldDeclaration | BlockDeclaration | DataDeclaration]


def _reject_duplicates(siblings: Sequence[Declared]) -> None:
    def same_id(one: Declared, other: Declared) -> None:
        other[0].fail(f"duplicate id {other[1].id}, also of {one[1].name!r}")

    def same_name(one: Declared, other: Declared) -> None:
        other[0].fail(f"duplicate name, also in line {one[0].line}")

    first_clash(((sibling[1].id, sibling[1].span, sibling) for sibling in siblings), same_id)
    first_clash(((sibling[1].name, sibling[1].span, sibling) for sibling in siblings), same_name)


def _block_lengths(element: Element) -> tuple[tuple[int, int], ...]:
    history = element.attributes.get(HISTORY + "blockLengths")
    if history is None:
        declared = optional_number(element, "blockLength")
        return () if declared is None else ((0, declared),)
    pairs = []
    for word in history.split():
        if not re.fullmatch(r"[0-9]{1,5}:[0-9]{1,5}", word):
            element.fail(f"blockLengths {word[:40]!r} is not version:length")
        since, length = word.split(":")
        pairs.append((int(since), int(length)))
    return tuple(sorted(pairs))
