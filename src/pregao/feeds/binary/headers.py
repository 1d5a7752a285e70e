"""Headers of packets (6.5.5.1) and heartbeats (7.5): a Sequence message in a packet without a number."""

from collections.abc import Iterator
from ctypes import string_at
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.codecs.sbe import Schema, load_builtin_schema
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.feeds.binary.kernels.headers import (
    CHECK_SIZE,
    FIRST_VALUE_SLOT,
    FRAMING_AT,
    GROUP_SIZE,
    HEADER_AT,
    LAYOUT_SIZE,
    SHAPE_FIELDS,
    UNKNOWN_FIELDS,
    UNKNOWN_TEMPLATE,
    count_messages,
    find_messages,
    find_unknown,
    read_headers,
)
from pregao.feeds.binary.packets import SBE_LITTLE_ENDIAN, PacketHeader
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.identity import MARKS
from pregao.feeds.port import Came, Looked, UnknownContent, WholePackets
from pregao.kernels import Context
from pregao.model.packets import FOREIGN, NO_CHANNEL, NO_NEXT, Unit, Units
from pregao.model.rows import Kind

_MESSAGE, _FIELD, _FIELD_SIZE = "Sequence_2", "nextSeqNo", 4
_NO_SHAPE: Final = -1  # the size of no packet


class PacketHeaders(WholePackets):
    """A unit is a packet. Heartbeats of an unusual shape are read as any other packet is."""

    def __init__(self, schema: Schema, *, heartbeats: bool = True) -> None:
        self._schema, self._units, self._heartbeats = schema, Units(64), heartbeats
        self._reader: RowReader | None = None  # to make one takes a quarter of a second, and few need it
        self._shape = Context(SHAPE_FIELDS)
        self._shape.set(**_shape_of(schema))
        self._shape_address = self._shape.address

    def read(
        self, base: int, offsets: int, lengths: int, count: int, rows: int = 0, came: Came | None = None
    ) -> Units:
        units = self._units
        if count > units.room:
            units.make_room(max(count, 2 * units.room))
        units.count = count
        odd = read_headers(self._shape_address, base, offsets, lengths, rows, count, *units.addresses)
        if odd and self._heartbeats:
            self._read_odd(base, units)
        return units

    def split(self, payload: bytes | memoryview, feed: int = 0, now_ns: int = 0) -> list[Unit]:
        content = bytes(payload)
        if len(content) < PacketHeader.SIZE:
            return [Unit(NO_CHANNEL, 0, FOREIGN, 0, content)]
        header = PacketHeader.decode(content)
        number, sent_ns = header.sequence_number, header.sending_time_ns
        next_number = NO_NEXT if number or not self._heartbeats else self._next_number(content)
        return [Unit(header.channel, header.sequence_version, number, sent_ns, content, next_number)]

    def _read_odd(self, base: int, units: Units) -> None:
        numbers, nexts = units.number[: units.count], units.next_number[: units.count]
        for index in np.flatnonzero((numbers == 0) & (nexts == NO_NEXT)).tolist():
            payload = string_at(base + int(units.offset[index]), int(units.length[index]))
            units.next_number[index] = self._next_number(payload)

    def _next_number(self, payload: bytes) -> int:
        """NO_NEXT: it is no heartbeat."""
        if self._reader is None:
            self._reader = RowReader(self._schema)
        rows = self._reader.read_unit(payload).rows
        beats = rows[rows["kind"] == Kind.SEQUENCE]
        return int(beats[0]["price"]) if len(beats) else NO_NEXT


def _shape_of(schema: Schema) -> dict[str, int]:
    """A packet with one such message and no more, where all versions have it alike."""
    found = {
        (block.id, block.block_length, field.offset)
        for version in schema.breakpoints
        for block in schema.at(version).messages.values()
        if block.name == _MESSAGE
        for field in block.fields
        if (field.name, field.size) == (_FIELD, _FIELD_SIZE)
    }
    if len(found) != 1:
        return {"size": _NO_SHAPE}
    template, length, offset = found.pop()
    body = HEADER_AT + schema.header.size
    size = body + length
    return {
        "size": size,
        "framing": size - FRAMING_AT | SBE_LITTLE_ENDIAN << 16,
        "header": length | template << 16 | schema.id << 32,
        "next_at": body + offset,
    }


# What packets carry, without reading them: the driver of its kernels. See `feeds.port.Inspector`.


Array = np.ndarray[Any, np.dtype[Any]]

# Templates that concern a whole day: SequenceReset, definitions, News, EmptyBook, phases, ChannelReset.
CONCERN_ALL: Final = (1, 4, 5, 9, 10, 11, 12)


class PacketInspector:
    """`schema`: loaded when it is first needed; None: the packaged one."""

    def __init__(self, schema: Schema | None = None) -> None:
        self._schema = schema
        self._wanted = np.zeros(MARKS, np.uint8)
        self._wanted[list(CONCERN_ALL)] = 1

    def look(self, base: int, offsets: Array, lengths: Array, seen: Array) -> Looked:
        notes = np.empty(len(offsets), np.int64)
        messages, noted = find_messages(
            base, offsets.ctypes.data, lengths.ctypes.data, len(offsets), self._wanted.ctypes.data,
            seen.ctypes.data, notes.ctypes.data, len(notes),
        )  # fmt: skip
        return Looked(int(messages), notes[:noted])

    def count(self, addresses: Array, lengths: Array) -> Array:
        counts = np.zeros(len(addresses), np.int64)
        count_messages(addresses.ctypes.data, lengths.ctypes.data, len(addresses), counts.ctypes.data)
        return counts

    def unknown(self, base: int, offsets: Array, lengths: Array) -> list[UnknownContent]:
        known = self._known
        met = find_unknown(
            known.context.address, base, offsets.ctypes.data, lengths.ctypes.data, len(offsets)
        )
        return known.take(int(met))

    @cached_property
    def _known(self) -> "_KnownContent":
        return _KnownContent(self._schema or load_builtin_schema())


class _KnownContent:
    """Templates, values of enumerations and bits of sets that a schema has words for, as the kernel looks
    them up: of messages and of the entries of their groups, but for what stands behind groups in groups or
    behind data."""

    def __init__(self, schema: Schema) -> None:
        self._bytes: list[_KnownByte] = []  # what each check is of
        self._groups: list[tuple[int, ...]] = []
        last = max((message.id for message in schema.messages), default=0) + 1
        layouts = np.full((last + 1, len(schema.breakpoints), LAYOUT_SIZE // 8), UNKNOWN_TEMPLATE, np.int64)
        for epoch, version in enumerate(schema.breakpoints):
            for block in schema.at(version).messages.values():
                checks, first_group = self._add(block, block.name), len(self._groups)
                self._add_groups(block)
                layouts[block.id, epoch] = *checks, first_group, len(self._groups)
        versions = np.arange(1 << 16)
        epochs = np.searchsorted(schema.breakpoints, versions, "right") - 1
        slots = FIRST_VALUE_SLOT + len(self._bytes) * 256
        self._counts, self._firsts = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
        self._met = np.zeros(slots, np.uint32)  # memory that is never written to costs nothing
        self.context = Context(UNKNOWN_FIELDS)
        self.context.set(
            epoch_of_version=np.maximum(epochs, 0).astype(np.uint8), layout_of=layouts, last_template=last,
            epochs=len(schema.breakpoints), schema_id=schema.id, counts=self._counts, firsts=self._firsts,
            met=self._met, groups=np.array(self._groups, np.int64).reshape(-1, GROUP_SIZE // 8),
            checks=np.array([each.check for each in self._bytes], np.int64).reshape(-1, CHECK_SIZE // 8),
        )  # fmt: skip

    def _add(self, block: BlockLayout, name: str) -> tuple[int, int]:
        """The first check of a block's fields, and the end of them."""
        first = len(self._bytes)
        self._bytes += _known_bytes(block, name)
        return first, len(self._bytes)

    def _add_groups(self, message: BlockLayout) -> None:
        for group in message.groups:
            dimension = group.dimension
            if not group.present or dimension is None:
                continue
            if group.groups or group.data:
                return  # how long its entries are is not said by their block alone
            self._groups.append((
                dimension.size, dimension.block_length_offset, dimension.block_length.size,
                dimension.num_in_group_offset, dimension.num_in_group.size,
                *self._add(group, f"{message.name}.{group.name}"),
            ))  # fmt: skip

    def take(self, met: int) -> list[UnknownContent]:
        """What was met, which is forgotten. A field of several versions has a check in each."""
        slots = self._met[:met].astype(np.int64)
        counted = zip(slots.tolist(), self._counts[slots].tolist(), self._firsts[slots].tolist(), strict=True)
        found: dict[tuple[str, int], UnknownContent] = {}
        for slot, times, at in counted:
            what = self._meaning(slot)
            known = found.get(what, UnknownContent(*what, 0, at >> 16, at & 0xFFFF))
            found[what] = known._replace(times=known.times + times)
        self._counts[slots] = 0
        return list(found.values())

    def _meaning(self, slot: int) -> tuple[str, int]:
        if slot < FIRST_VALUE_SLOT:
            return "", slot
        check, value = divmod(slot - FIRST_VALUE_SLOT, 256)
        known = self._bytes[check]
        return known.name, known.unknown_in(value)


class _KnownByte(NamedTuple):
    """An enumeration of one byte, or a byte of a set."""

    name: str
    field: FieldLayout
    number: int  # of a set: which of its bytes

    @property
    def _bits(self) -> int:
        """Those of a set that have names, as of this byte."""
        return sum(1 << bit for bit in self.field.names) >> 8 * self.number & 0xFF

    def unknown_in(self, value: int) -> int:
        """Of an enumeration the value, of a set its bits without a name."""
        if self.field.kind is ValueKind.ENUM:
            return value
        return (value & ~self._bits) << 8 * self.number

    @property
    def check(self) -> tuple[int, ...]:
        """As the kernel has it."""
        field = self.field
        if field.kind is ValueKind.ENUM:
            allowed = {*field.names, *(() if field.null is None else (int(field.null),))}
        else:
            unnamed = 0xFF & ~self._bits
            allowed = {value for value in range(256) if not value & unnamed}
        bits = sum(1 << value for value in allowed)
        words = (bits >> shift & (1 << 64) - 1 for shift in range(0, 256, 64))
        signed = (word - (1 << 64) if word >> 63 else word for word in words)
        return field.offset + self.number, field.offset + field.size, *signed


def _known_bytes(block: BlockLayout, place: str) -> Iterator[_KnownByte]:
    for field in block.fields:
        name = f"{place}.{field.name}"
        if field.present and (
            field.kind is ValueKind.SET or (field.kind is ValueKind.ENUM and field.size == 1)
        ):
            yield from (_KnownByte(name, field, number) for number in range(field.size))
