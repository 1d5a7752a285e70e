"""Values to messages: the inverse of `decoder`, for one wire version of a schema.

Validate first, serialise second: a message that cannot be read back as it was given is refused
with an `EncodeError` that names message and field. Framing is not SBE's and is added elsewhere.
"""

from collections.abc import Mapping, Sequence
from struct import Struct

from pregao.codecs.sbe.decimals import Raw, UnfitError
from pregao.codecs.sbe.declarations import DataDeclaration, Dimension, HeaderLayout, Primitive
from pregao.codecs.sbe.layout import BlockLayout
from pregao.codecs.sbe.schema import Schema
from pregao.codecs.sbe.values import block_format, slots_of, wire_leaves
from pregao.codecs.sbe.writers import absent, encoded, writer
from pregao.model.errors import EncodeError

Fields = Mapping[str, object]


class SbeMessageEncoder:
    """Encodes messages of one schema as one wire version has them."""

    def __init__(self, schema: Schema, version: int) -> None:
        self.schema, self.version = schema, version
        self._view = schema.at(version)
        self._templates: dict[int | str, _MessageWriter] = {}

    def encode(self, template: int | str, fields: Fields) -> bytes:
        """Header, block, groups and data of a message, by template id or name.

        Takes what the decoder gives in `fields`. A missing value is null, a missing group is
        empty. Decimals may also be int or str, enum values their number, bits of a set theirs.
        """
        compiled = self._templates.get(template)
        if compiled is None:
            compiled = self._templates[template] = self._compile(template)
        return compiled.encode(fields)

    def _compile(self, template: int | str) -> "_MessageWriter":
        view = self._view
        layout = view.by_name.get(template) if isinstance(template, str) else view.messages.get(template)
        if layout is None:
            raise EncodeError(f"version {self.version} has no such message", message=str(template))
        return _MessageWriter(self.schema, layout, self.version)


class _MessageWriter:
    """One template: its header is always the same."""

    def __init__(self, schema: Schema, layout: BlockLayout, version: int) -> None:
        self._name = layout.name
        try:
            self._header = _header(schema.header, schema, layout, version)
            self._root = _BlockWriter(layout, schema.byte_order)
        except UnfitError as unfit:
            raise EncodeError(unfit.reason, message=self._name, field=unfit.path) from None

    def encode(self, fields: Fields) -> bytes:
        parts = [self._header]
        try:
            self._root.write(fields, parts, "")
        except UnfitError as unfit:
            raise EncodeError(unfit.reason, message=self._name, field=unfit.path) from None
        return b"".join(parts)


class _BlockWriter:
    """A block packed with one struct, then its groups and data."""

    def __init__(self, layout: BlockLayout, order: str) -> None:
        present = [field for field in layout.fields if field.present]
        wire = wire_leaves(present)
        slots = slots_of(wire)
        self._struct = Struct(order + block_format(wire, layout.block_length))
        self._blank: list[Raw] = [0] * len(wire)
        self._fields = [
            (f.name, writer(f, slots, f.name, order) if f.present else absent(f.name)) for f in layout.fields
        ]
        self._fields += [(name, absent(name)) for name in layout.absent_data]
        self._groups = [_GroupWriter(group, order) for group in layout.groups]
        self._data = [_DataWriter(data, order) for data in layout.data]
        self._known = {name for name, _ in self._fields}
        self._known.update(group.name for group in self._groups)
        self._known.update(data.name for data in self._data)

    def write(self, fields: Fields, parts: list[bytes], path: str) -> None:
        """Append the bytes of a block and of what follows it."""
        if not fields.keys() <= self._known:
            unknown = sorted(map(str, fields.keys() - self._known))
            raise UnfitError("this version has no such field", path + unknown[0])
        raw = self._blank.copy()
        get = fields.get
        try:
            for name, write in self._fields:
                write(get(name), raw)
        except UnfitError as unfit:
            raise UnfitError(unfit.reason, path + unfit.path) from None
        parts.append(self._struct.pack(*raw))
        for group in self._groups:
            group.write(get(group.name), parts, path)
        for data in self._data:
            data.write(get(data.name), parts, path)


class _GroupWriter:
    """A dimension header and entries; a group of a later version can only be empty, and has no bytes."""

    def __init__(self, layout: BlockLayout, order: str) -> None:
        self.name, self._present = layout.name, layout.present
        assert layout.dimension is not None
        self._dimension, self._block_length = layout.dimension, layout.block_length
        self._order = order
        self._entries = _BlockWriter(layout, order)
        self._takes_bytes = bool(layout.block_length or layout.data or any(g.present for g in layout.groups))

    def write(self, entries: object, parts: list[bytes], path: str) -> None:
        where = path + self.name
        if entries is None:
            entries = ()
        if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
            raise UnfitError(f"{entries!r} is not a list of entries", where)
        if not self._present:
            if entries:
                raise UnfitError("this version does not have it", where)
            return
        if entries and not self._takes_bytes:
            raise UnfitError("entries that occupy no bytes cannot be counted", where)
        parts.append(self._header(self._dimension, len(entries), where))
        for number, entry in enumerate(entries):
            if not isinstance(entry, Mapping):
                raise UnfitError(f"{entry!r} is not a mapping of fields", f"{where}[{number}]")
            self._entries.write(entry, parts, f"{where}[{number}].")

    def _header(self, dimension: Dimension, count: int, where: str) -> bytes:
        places = [
            (dimension.block_length_offset, dimension.block_length, self._block_length, "block length"),
            (dimension.num_in_group_offset, dimension.num_in_group, count, "count"),
        ]
        return _numbers(dimension.size, places, self._order, where)


class _DataWriter:
    """A length and that many bytes. Text may be given as bytes: a part of it need not end in a whole
    character."""

    def __init__(self, data: DataDeclaration, order: str) -> None:
        self.name, self._data, self._order = data.name, data, order

    def write(self, value: object, parts: list[bytes], path: str) -> None:
        data, where = self._data, path + self.name
        raw = self._bytes(value, where)
        if value is not None and not raw:
            raise UnfitError(f"{value!r} would be read as null", where)
        if len(raw) > data.maximum:
            raise UnfitError(f"{len(raw)} bytes are more than {data.maximum}", where)
        places = [(data.length_offset, data.length, len(raw), "length")]
        parts += (_numbers(data.header_size, places, self._order, where), raw)

    def _bytes(self, value: object, where: str) -> bytes:
        if value is None:
            return b""
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if isinstance(value, str) and self._data.encoding is not None:
            if "\0" in value:
                raise UnfitError(f"{value!r} has a NUL, at which it would be cut", where)
            return encoded(value, self._data.encoding, where)
        raise UnfitError(f"{value!r} is not {'bytes' if self._data.encoding is None else 'text'}", where)


def _header(header: HeaderLayout, schema: Schema, layout: BlockLayout, version: int) -> bytes:
    """The message header; members that the standard does not name are zero."""
    values = (
        (layout.block_length, "block length"),
        (layout.id, "template id"),
        (schema.id, "schema id"),
        (version, "version"),
    )
    members = zip(header.members(), values, strict=True)
    places = [(offset, primitive, value, what) for (offset, primitive), (value, what) in members]
    return _numbers(header.size, places, schema.byte_order, "")


def _numbers(size: int, places: list[tuple[int, Primitive, int, str]], order: str, where: str) -> bytes:
    """Unsigned numbers at their places in otherwise zero bytes."""
    buffer = bytearray(size)
    for offset, primitive, value, what in places:
        if not 0 <= value <= primitive.maximum:
            raise UnfitError(f"{what} {value} does not fit {primitive.name}", where)
        buffer[offset : offset + primitive.size] = value.to_bytes(
            primitive.size, "little" if order == "<" else "big"
        )
    return bytes(buffer)
