"""Headers of packets (6.5.5.1) and heartbeats (7.5): a Sequence message in a packet without a number."""

from ctypes import string_at
from typing import Any, Final

import numpy as np

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.kernels.headers import (
    FRAMING_AT,
    HEADER_AT,
    SHAPE_FIELDS,
    count_messages,
    find_messages,
    read_headers,
)
from pregao.feeds.binary.packets import SBE_LITTLE_ENDIAN, PacketHeader
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.identity import MARKS
from pregao.feeds.port import Looked
from pregao.kernel_context import Context
from pregao.model.packets import FOREIGN, NO_CHANNEL, NO_NEXT, Unit, Units
from pregao.model.rows import Kind

_MESSAGE, _FIELD, _FIELD_SIZE = "Sequence_2", "nextSeqNo", 4
_NO_SHAPE: Final = -1  # the size of no packet


class PacketHeaders:
    """A unit is a packet. Heartbeats of an unusual shape are read as any other packet is."""

    def __init__(self, schema: Schema, *, heartbeats: bool = True) -> None:
        self._schema, self._units, self._heartbeats = schema, Units(64), heartbeats
        self._reader: RowReader | None = None  # to make one takes a quarter of a second, and few need it
        self._shape = Context(SHAPE_FIELDS)
        self._shape.set(**_shape_of(schema))
        self._shape_address = self._shape.address

    def read(self, base: int, offsets: int, lengths: int, count: int, rows: int = 0) -> Units:
        units = self._units
        if count > units.room:
            units.make_room(max(count, 2 * units.room))
        units.count = count
        odd = read_headers(self._shape_address, base, offsets, lengths, rows, count, *units.addresses)
        if odd and self._heartbeats:
            self._read_odd(base, units)
        return units

    def split(self, payload: bytes | memoryview) -> list[Unit]:
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
    def __init__(self) -> None:
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
