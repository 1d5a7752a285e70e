"""One message at a time, as plain values: the slow, obvious twin of the column kernels.

Decoding obeys the header, not the template: block length and version come from the wire, groups
have their own block length, and what the block is too short for is null.
"""

from dataclasses import dataclass, field
from struct import Struct, unpack_from
from typing import Any

from pregao.codecs.sbe.declarations import DataDeclaration, Primitive
from pregao.codecs.sbe.layout import BlockLayout
from pregao.codecs.sbe.schema import Schema
from pregao.codecs.sbe.values import (
    Converter,
    Unknown,
    Value,
    block_format,
    converter,
    data_text,
    slots_of,
    wire_leaves,
)
from pregao.model.errors import DecodeError, Fault

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """The SBE message header as sent."""

    block_length: int
    template_id: int
    schema_id: int
    version: int


@dataclass(slots=True)
class SbeMessage:
    """A decoded message. `name` and `fields` are None for a template this version does not have."""

    header: MessageHeader
    name: str | None = None
    fields: dict[str, Value] | None = None
    raw_data: dict[str, bytes] = field(default_factory=dict)  # var data of the root, before decoding
    unknown: list[Unknown] = field(default_factory=list)  # values that the schema does not name
    leftover: int = 0  # bytes after all that the schema knows
    known_version: bool = True  # False: read by the nearest lower version, if there is one
    older_version: bool = False  # than every version that the schema knows: there is no lower one

    @property
    def template_id(self) -> int:
        return self.header.template_id

    @property
    def version(self) -> int:
        return self.header.version


class SbeMessageDecoder:
    """Decodes messages of one schema, of any version."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._readers: dict[tuple[int, int], _BlockReader] = {}
        self._header = schema.header
        self._order = schema.byte_order
        self._plain_header = Struct(schema.byte_order + "4H") if schema.header.is_plain else None

    def header(self, buffer: Buffer, offset: int) -> MessageHeader:
        """The message header at an offset; the caller has checked that its bytes are there."""
        if self._plain_header is not None:
            return MessageHeader(*self._plain_header.unpack_from(buffer, offset))
        return MessageHeader(*(self.unsigned(buffer, offset + at, p) for at, p in self._header.members()))

    def decode(self, buffer: Buffer, offset: int = 0, length: int | None = None) -> SbeMessage:
        """The message whose header stands at `offset` and which is `length` bytes long with it."""
        end = len(buffer) if length is None else offset + length
        if end > len(buffer) or end - offset < self._header.size:
            raise DecodeError(Fault.FRAME_TRUNCATED, offset)
        header = self.header(buffer, offset)
        if header.schema_id != self.schema.id:
            raise DecodeError(Fault.WRONG_SCHEMA_ID, offset, f"schema {header.schema_id}")
        body = offset + self._header.size
        message = SbeMessage(header)
        if not self.schema.knows(header.version):
            message.known_version = False
            message.older_version = header.version < min(self.schema.known_versions, default=0)
        layout = self.schema.at(header.version).messages.get(header.template_id)
        if body + header.block_length > end:
            raise DecodeError(Fault.BLOCK_PAST_MESSAGE, offset, f"blockLength {header.block_length}")
        if layout is None:
            return message
        message.name = layout.name
        message.fields = {}
        walker = _Walker(self, buffer, end, message)
        after = walker.block(layout, body, header.block_length, message.fields, root=True)
        message.leftover = end - after
        return message

    def reader(self, layout: BlockLayout, block_length: int) -> "_BlockReader":
        """The reader of a layout cut to a block length, made once (a longer block reads the same)."""
        key = (id(layout), min(block_length, layout.block_length))
        reader = self._readers.get(key)
        if reader is None:
            reader = self._readers[key] = _BlockReader(layout, block_length, self._order)
        return reader

    def unsigned(self, buffer: Buffer, offset: int, primitive: Primitive) -> int:
        return int(unpack_from(self._order + primitive.code, buffer, offset)[0])


class _BlockReader:
    """Unpacks a fixed block with one struct, then converts each number."""

    def __init__(self, layout: BlockLayout, block_length: int, order: str) -> None:
        fields = [f for f in layout.fields if f.fits(block_length)]
        wire = wire_leaves(fields)
        self._struct = Struct(order + block_format(wire))
        slots = slots_of(wire)
        self._columns: list[tuple[str, Converter | None]] = [
            (f.name, converter(f, slots, f.name, order) if f in fields else None) for f in layout.fields
        ]

    def read(self, buffer: Buffer, offset: int, into: dict[str, Value], unknown: list[Unknown]) -> None:
        raw = self._struct.unpack_from(buffer, offset)
        for name, convert in self._columns:
            into[name] = convert(raw, unknown) if convert else None


class _Walker:
    """Walks block, groups and data of one message, checking every length before it is used."""

    def __init__(self, decoder: SbeMessageDecoder, buffer: Buffer, end: int, message: SbeMessage) -> None:
        self._decoder, self._buffer, self._end, self._message = decoder, buffer, end, message

    def block(
        self,
        layout: BlockLayout,
        at: int,
        block_length: int,
        into: dict[str, Value],
        path: str = "",
        root: bool = False,
    ) -> int:
        """Read a block and what follows it; the position after it."""
        unknown = self._message.unknown
        before = len(unknown)
        self._decoder.reader(layout, block_length).read(self._buffer, at, into, unknown)
        if path and len(unknown) > before:
            unknown[before:] = [(path + name, value) for name, value in unknown[before:]]
        at += block_length
        for group in layout.groups:
            entries: list[dict[str, Any]] = []
            if group.present:
                at = self._group(group, at, entries, f"{path}{group.name}.")
            into[group.name] = entries
        for data in layout.data:
            at, raw = self._data(data, at)
            into[data.name] = _data_value(raw, data)
            if root:
                self._message.raw_data[data.name] = raw
        for name in layout.absent_data:
            into[name] = None
        return at

    def _group(self, group: BlockLayout, at: int, entries: list[dict[str, Any]], path: str) -> int:
        dimension = group.dimension
        assert dimension is not None
        if at + dimension.size > self._end:
            raise DecodeError(Fault.GROUP_HEADER_TRUNCATED, at, group.name)
        unsigned = self._decoder.unsigned
        block_length = unsigned(self._buffer, at + dimension.block_length_offset, dimension.block_length)
        count = unsigned(self._buffer, at + dimension.num_in_group_offset, dimension.num_in_group)
        start, at = at, at + dimension.size
        # Without this a few bytes could ask for entries without end. Groups of later versions are none.
        if count and not block_length and not group.data and not any(g.present for g in group.groups):
            raise DecodeError(Fault.GROUP_WITHOUT_BYTES, start, f"{group.name}: {count} entries")
        for _ in range(count):
            if at + block_length > self._end:
                detail = f"{group.name}: {count} × {block_length} bytes"
                raise DecodeError(Fault.GROUP_PAST_MESSAGE, start, detail)
            entry: dict[str, Any] = {}
            at = self.block(group, at, block_length, entry, path)
            entries.append(entry)
        return at

    def _data(self, data: DataDeclaration, at: int) -> tuple[int, bytes]:
        if at + data.header_size > self._end:
            raise DecodeError(Fault.DATA_HEADER_TRUNCATED, at, data.name)
        length = self._decoder.unsigned(self._buffer, at + data.length_offset, data.length)
        body = at + data.header_size
        if body + length > self._end:
            raise DecodeError(Fault.DATA_PAST_MESSAGE, at, f"{data.name}: {length} bytes")
        return body + length, bytes(self._buffer[body : body + length])


def _data_value(raw: bytes, data: DataDeclaration) -> Value:
    if data.encoding is None:
        return raw or None
    return data_text(raw, data.encoding)
