"""Random messages of any schema, byte by byte, and where their lengths stand.

Not made with `MessageEncoder`: that one cannot write what a peer may send all the same, such as
blocks of another length, entries without bytes or text that is none.
"""

import random
import struct
from collections.abc import Iterator

from pregao.codecs.sbe import Schema
from pregao.codecs.sbe.declarations import DataDeclaration, Primitive
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.codecs.sbe.values import leaves

Place = tuple[int, int]  # offset and width of a number

_TEXTS = (b"", b"PETR4", b"a\0b", "ação".encode(), b"\xff\xfe\x80", b"-", b"\0hidden")


class MessageWriter:
    """Messages of one schema. `strange` is how often lengths are not those of the schema."""

    def __init__(self, schema: Schema, rng: random.Random, strange: float = 0.2) -> None:
        self._schema, self._rng, self._strange = schema, rng, strange
        self._order = "little" if schema.byte_order == "<" else "big"

    def message(self, template_id: int, version: int, block_length: int | None = None) -> bytes:
        """A message of random content; of an unknown template a block of random bytes."""
        layout = self._schema.at(version).messages.get(template_id)
        if layout is None:
            content = self._rng.randbytes(self._rng.randrange(60))
            return self._header(len(content), template_id, version) + content
        length = self._length(layout) if block_length is None else block_length
        return self._header(length, template_id, version) + self._block(layout, length)

    def _header(self, block_length: int, template_id: int, version: int) -> bytes:
        raw = bytearray(self._rng.randbytes(self._schema.header.size))
        values = (block_length, template_id, self._schema.id, version)
        for (at, primitive), value in zip(self._schema.header.members(), values, strict=True):
            raw[at : at + primitive.size] = self._unsigned(value, primitive)
        return bytes(raw)

    def _length(self, layout: BlockLayout) -> int:
        declared, rng = layout.block_length, self._rng
        if rng.random() >= self._strange:
            return declared
        return rng.choice((0, rng.randint(0, declared), declared + rng.randint(1, 20)))

    def _block(self, layout: BlockLayout, length: int) -> bytes:
        rng, raw = self._rng, bytearray(self._rng.randbytes(max(length, layout.block_length)))
        for field in layout.fields:
            for leaf in leaves(field):
                if leaf.present:
                    raw[leaf.offset : leaf.offset + leaf.size] = self._leaf(leaf)
        tail = b"".join(self._group(group) for group in layout.groups if group.present)
        tail += b"".join(self._data(data) for data in layout.data)
        if rng.random() < self._strange / 4:
            tail += rng.randbytes(rng.randint(1, 12))
        return bytes(raw[:length]) + tail

    def _group(self, group: BlockLayout) -> bytes:
        dimension, rng = group.dimension, self._rng
        assert dimension is not None
        length, count = self._length(group), rng.choice((0, 0, 1, 2, 3, 9))
        if not length and not group.groups and not group.data:
            count = 0
        raw = bytearray(rng.randbytes(dimension.size))
        at = dimension.block_length_offset
        raw[at : at + dimension.block_length.size] = self._unsigned(length, dimension.block_length)
        at = dimension.num_in_group_offset
        raw[at : at + dimension.num_in_group.size] = self._unsigned(count, dimension.num_in_group)
        return bytes(raw) + b"".join(self._entry(group, length) for _ in range(count))

    def _entry(self, group: BlockLayout, length: int) -> bytes:
        strange, self._strange = self._strange, 0.0  # bytes too many would not be within the entry
        try:
            return self._block(group, length)
        finally:
            self._strange = strange

    def _data(self, data: DataDeclaration) -> bytes:
        content = self._rng.choice((*_TEXTS, self._rng.randbytes(self._rng.randrange(40))))
        raw = bytearray(self._rng.randbytes(data.header_size))
        at = data.length_offset
        raw[at : at + data.length.size] = self._unsigned(len(content), data.length)
        return bytes(raw) + content

    def _leaf(self, leaf: FieldLayout) -> bytes:
        rng = self._rng
        if leaf.kind is ValueKind.STRING:
            return rng.choice((*_TEXTS, b"ABCDEFGHIJKLMNOP" * 20))[: leaf.size].ljust(leaf.size, b"\0")
        if leaf.kind is ValueKind.ARRAY:
            one = leaf.size // leaf.count
            same = rng.random() < 0.3  # all of them null, perhaps
            numbers = [self._number(leaf, one) for _ in range(leaf.count)]
            return numbers[0] * leaf.count if same else b"".join(numbers)
        return self._number(leaf, leaf.size)

    def _number(self, leaf: FieldLayout, size: int) -> bytes:
        rng, primitive = self._rng, leaf.primitive
        if primitive.is_float:
            value = rng.choice((0.0, -0.0, 1.5, -2.25, float("nan"), float("inf")))
            return struct.pack(self._schema.byte_order + primitive.code, value)
        named = (
            tuple(leaf.names)[-6:]
            if leaf.kind is ValueKind.ENUM
            else (1, 2, 10, 1_000_000, 10**18 - 1, 10**18)
        )
        edges = (0, primitive.minimum, primitive.maximum, primitive.null, leaf.null, *named)
        value = rng.choice((*edges, rng.getrandbits(8 * size), rng.randrange(200)))
        return (int(value or 0) % (1 << 8 * size)).to_bytes(size, self._order)

    def _unsigned(self, value: int, primitive: Primitive) -> bytes:
        return min(value, int(primitive.maximum)).to_bytes(primitive.size, self._order)


def length_places(schema: Schema, message: bytes) -> Iterator[Place]:
    """Where the lengths and counts of a sound message are, for whoever wants to attack them."""
    header, order = schema.header, "little" if schema.byte_order == "<" else "big"

    def number(at: int, primitive: Primitive) -> int:
        return int.from_bytes(message[at : at + primitive.size], order)

    def walk(layout: BlockLayout, at: int) -> Iterator[Place | int]:
        for group in (g for g in layout.groups if g.present):
            dimension = group.dimension
            assert dimension is not None
            length_at, count_at = at + dimension.block_length_offset, at + dimension.num_in_group_offset
            yield length_at, dimension.block_length.size
            yield count_at, dimension.num_in_group.size
            length = number(length_at, dimension.block_length)
            count = number(count_at, dimension.num_in_group)
            at += dimension.size
            for _ in range(min(count, 20)):
                for item in walk(group, at + length):
                    if isinstance(item, int):
                        at = item
                    else:
                        yield item
        for data in layout.data:
            yield at + data.length_offset, data.length.size
            at += data.header_size + number(at + data.length_offset, data.length)
        yield at

    for at, primitive in header.members():
        yield at, primitive.size
    values = [number(at, primitive) for at, primitive in header.members()]
    layout = schema.at(values[3]).messages.get(values[1])
    if layout is not None:
        for item in walk(layout, header.size + values[0]):
            if not isinstance(item, int) and sum(item) <= len(message):
                yield item
