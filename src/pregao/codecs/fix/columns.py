"""Many FIX messages as columns: the tables that drive the kernels, and what they have filled.

A batch has one table for each block of the dictionary: the header, the trailer, the body of each message
type and each repeating group. A row of a group points at the row that it belongs to (`parents`); rows of
header, trailer and body point at their message. A column is a number for each row and an int32 beside it:
the length of a slice of the buffer, the decimals of a decimal, 0 of another number; ABSENT and MALFORMED are
negative.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pregao.codecs.fix import formats as t
from pregao.codecs.fix import types
from pregao.codecs.fix.dictionary import Dictionary, FieldBlock
from pregao.codecs.fix.framing import MAX_MESSAGE, Framed, Framer, Garbled
from pregao.codecs.fix.kernels.groups import frame_messages
from pregao.codecs.fix.kernels.messages import read_messages
from pregao.codecs.fix.types import FieldType
from pregao.kernels import Array, Context

_KINDS = {
    **dict.fromkeys(types.FLOATS, t.DECIMAL),
    **dict.fromkeys(types.COUNTS, t.COUNT),
    **dict.fromkeys(types.DATES, t.DATE),
    FieldType.INT: t.INTEGER,
    FieldType.UTCTIMESTAMP: t.TIMESTAMP,
    FieldType.TIME: t.TIMESTAMP,
    FieldType.UTCTIMEONLY: t.TIME,
}
_FIRST_ROOM = 64


@dataclass(frozen=True, slots=True)
class FixTable:
    """The rows of one block. `values` and `extras` have a column for each member, by its tag in `tags`."""

    name: str
    tags: tuple[int, ...]
    values: Array
    extras: Array
    parents: Array

    def column(self, tag: int) -> tuple[Array, Array]:
        """Numbers and what stands beside them."""
        place = self.tags.index(tag)
        return self.values[:, place], self.extras[:, place]


@dataclass(frozen=True, slots=True)
class FixBatch:
    """What became of some messages. `outcomes` has a row for each: fault, reason (373) or -1 with its tag,
    unknown tags, number of its table and row in it."""

    buffer: Array
    outcomes: Array
    tables: tuple[FixTable, ...]
    bodies: dict[bytes, FixTable]

    @property
    def header(self) -> FixTable:
        return self.tables[t.HEADER_BLOCK]

    def group(self, msg_type: bytes, *counts: int) -> FixTable:
        """The entries of a group, by the counts that lead to it."""
        name = "/".join([msg_type.decode("latin-1"), *map(str, counts)])
        return next(table for table in self.tables if table.name == name)

    def slice(self, table: FixTable, row: int, tag: int) -> bytes:
        """The bytes of a text column."""
        values, extras = table.column(tag)
        at, size = int(values[row]), max(int(extras[row]), 0)
        return self.buffer[at : at + size].tobytes()


class FixColumnReader:
    """Reads messages of one dictionary. Its room grows with what comes and is used again."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._blocks: list[tuple[str, FieldBlock]] = []
        self._types: list[tuple[int, int, bytes]] = []
        self._collect()
        self._tags = [tuple(each.field.tag for each in block.members) for _, block in self._blocks]
        self._context = Context(t.CONTEXT_FIELDS)
        self._tables = np.zeros((len(self._blocks), t.TABLE_SIZE // 8), np.int64)
        self._storage: list[tuple[Array, Array, Array]] = []
        for number in range(len(self._blocks)):
            self._storage.append(self._new_storage(number, _FIRST_ROOM))
        self._set_context()

    def _collect(self) -> None:
        """All blocks: header, trailer, that of unknown types, then bodies and groups."""
        dictionary = self.dictionary
        self._blocks += [("header", dictionary.header), ("trailer", dictionary.trailer)]
        self._blocks.append(("unknown", FieldBlock("unknown", ())))
        for name, block in self._blocks[: t.EMPTY_BLOCK]:
            self._add_groups(name, block)
        for msg_type, spec in dictionary.messages.items():
            if len(msg_type) <= 8:
                number = int.from_bytes(msg_type, "big")
                self._types.append((number, len(self._blocks), msg_type))
            self._add_block(msg_type.decode("latin-1"), spec.body)

    def _add_block(self, name: str, block: FieldBlock) -> None:
        self._blocks.append((name, block))
        self._add_groups(name, block)

    def _add_groups(self, name: str, block: FieldBlock) -> None:
        for count, group in block.groups.items():
            self._add_block(f"{name}/{count}", group)

    def _new_storage(self, number: int, room: int) -> tuple[Array, Array, Array]:
        columns = len(self._blocks[number][1].members)
        values, extras = np.zeros((room, columns), np.int64), np.full((room, columns), t.ABSENT, np.int32)
        parents = np.zeros(room, np.int64)
        row = self._tables[number]
        row[t.TABLE_VALUES // 8] = values.ctypes.data
        row[t.TABLE_EXTRAS // 8] = extras.ctypes.data
        row[t.TABLE_PARENTS // 8] = parents.ctypes.data
        row[t.TABLE_COLUMNS // 8] = columns
        row[t.TABLE_CAPACITY // 8] = room
        return values, extras, parents

    def _set_context(self) -> None:
        fields = {
            tag: number for number, tag in enumerate(sorted(self.dictionary.fields)) if tag <= t.MAX_TAG
        }
        field_of_tag = np.full(t.MAX_TAG + 1, -1, np.int32)
        for tag, number in fields.items():
            field_of_tag[tag] = number
        members = np.full((len(self._blocks), len(fields)), t.NO_MEMBER, np.int32)
        numbers = {name: number for number, (name, _) in enumerate(self._blocks)}
        for number, (name, block) in enumerate(self._blocks):
            for column, member in enumerate(block.members):
                tag = member.field.tag
                kind, child = _KINDS.get(member.field.kind, t.SLICE), 0
                if member.group is not None:
                    kind, child = t.GROUP, numbers[f"{name}/{tag}"] + 1
                if tag in fields:
                    packed = column | kind << t.KIND_SHIFT | child << t.CHILD_SHIFT
                    members[number, fields[tag]] = packed
        data_of_field = np.full(len(fields), -1, np.int32)
        for length, data in self.dictionary.data_of_length.items():
            if length in fields and data in fields:
                data_of_field[fields[length]] = fields[data]
        self._context.set(
            field_of_tag=field_of_tag,
            members=members,
            fields=len(fields),
            data_of_field=data_of_field,
            types=np.array([(number, block) for number, block, _ in self._types], np.int64),
            type_count=len(self._types),
            tables=self._tables,
            table_count=len(self._blocks),
            stack=np.zeros((t.MAX_DEPTH, t.LEVEL_SIZE // 8), np.int64),
        )

    def read(self, data: bytes | Array, offsets: Array, lengths: Array) -> FixBatch:
        """The messages at these places of a buffer. The batch's arrays are valid until the next call."""
        buffer = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        offsets, lengths = (np.ascontiguousarray(each, np.int64) for each in (offsets, lengths))
        count = len(offsets)
        if count and (offsets.min() < 0 or lengths.min() < 0 or (offsets + lengths).max() > len(buffer)):
            raise ValueError("messages outside of their buffer")
        outcomes = np.zeros((max(count, 1), t.OUT_SIZE // 8), np.int64)
        self._context.set(outcomes=outcomes)
        self._tables[:, t.TABLE_ROWS // 8] = 0
        done = 0
        while True:
            places = (offsets.ctypes.data, lengths.ctypes.data)
            done = read_messages(buffer.ctypes.data, *places, done, count, self._context.address)
            if done == count:
                break
            self._grow(done, count)
        tables = tuple(self._filled())
        return FixBatch(buffer, outcomes[:count], tables, self._bodies(tables))

    def _grow(self, done: int, count: int) -> None:
        """A table is full: all that are more than half full get room for what is likely to come."""
        rows = self._tables[:, t.TABLE_ROWS // 8]
        for number in np.flatnonzero(rows * 2 >= self._tables[:, t.TABLE_CAPACITY // 8]):
            used = int(rows[number])
            likely = used * count // max(done, 1)
            room = max(2 * int(self._tables[number, t.TABLE_CAPACITY // 8]), min(likely, 64 * used + 64))
            old = self._storage[number]
            self._storage[number] = self._new_storage(int(number), room)
            for before, after in zip(old, self._storage[number], strict=True):
                after[:used] = before[:used]

    def _filled(self) -> Iterator[FixTable]:
        counts = self._tables[:, t.TABLE_ROWS // 8].tolist()
        for number, (name, _) in enumerate(self._blocks):
            rows = counts[number]
            values, extras, parents = self._storage[number]
            yield FixTable(name, self._tags[number], values[:rows], extras[:rows], parents[:rows])

    def _bodies(self, tables: tuple[FixTable, ...]) -> dict[bytes, FixTable]:
        return {msg_type: tables[block] for _, block, msg_type in self._types}


def find_messages(
    data: bytes, dictionary: Dictionary, max_message: int = MAX_MESSAGE
) -> tuple[Array, Array, list[Garbled], int]:
    """Offsets and lengths of the messages of a buffer, what was garbled, and how many bytes were used: the
    rest is the beginning of a message that is not complete."""
    begin = b"8=%b\x019=" % dictionary.begin_string
    head, buffer = np.frombuffer(begin, np.uint8), np.frombuffer(data, np.uint8)
    room = len(data) // 20 + 1
    offsets, lengths = np.empty(room, np.int64), np.empty(room, np.int64)
    count, at, garbled = 0, 0, list[Garbled]()
    while at < len(data):
        found, at = frame_messages(
            buffer.ctypes.data, at, len(data), max_message, head.ctypes.data, len(begin),
            offsets.ctypes.data + count * 8, lengths.ctypes.data + count * 8, room - count,
        )  # fmt: skip
        count += found
        step = _judge(data, at, max_message)
        if step is None:
            break
        at, items = step
        for item in items:
            if isinstance(item, Garbled):
                garbled.append(item)
            else:
                offsets[count], lengths[count] = item[0], item[1]
                count += 1
    return offsets[:count], lengths[:count], garbled, at


def _judge(data: bytes, at: int, max_message: int) -> tuple[int, list[Any]] | None:
    """The plain framer's word on what the kernel stopped at: its items up to the next that the kernel may
    take."""
    framer = Framer(max_message)
    items: list[Any] = []
    end, window = at, 4096
    while not items and end < len(data):
        end = min(len(data), end + window)
        window *= 4
        place = at + framer.offset
        for item in framer.feed(data[at + framer.offset + framer.waiting : end]):
            if isinstance(item, Framed):
                items.append((place, len(item.data)))
                place += len(item.data)
            else:
                items.append(Garbled(item.fault, at + item.offset, item.length, item.shown))
                place += item.length
    return (at + framer.offset, items) if items else None
