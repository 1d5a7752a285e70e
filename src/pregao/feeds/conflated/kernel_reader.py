"""Messages to rows by kernel: to columns first, then the entries of 35=X to rows. All else, and every message
that has anything unusual, is read by the plain reader: so one set of rules is enough for those."""

from ctypes import c_uint8, string_at
from typing import Final

import numpy as np

from pregao.codecs.fix import Dictionary, FieldType, types
from pregao.codecs.fix.columns import FixBatch, FixColumnReader
from pregao.feeds.conflated.kernels.entries import fill_rows
from pregao.feeds.conflated.kernels.values import CONTEXT_FIELDS, ENTRY_TAGS
from pregao.feeds.conflated.reader import ConflatedReader
from pregao.feeds.port import Array, Reading, RowFault
from pregao.kernels import Context
from pregao.model.rows import ROW, Rows

FEW: Final = 4  # messages: so few are sooner read one by one
_BODY: Final = b"X"
_ENTRIES: Final = 268
_TRADE_DATE, _BOOK_TYPE = 75, 1021
# What the kernel takes for a slice of text, as dictionaries may say otherwise.
_TEXTS: Final = frozenset({
    279, 269, 48, 22, 207, 37, 276, 277, 274, 286, 288, 289, 336, 1003, 1500, 15,
})  # fmt: skip
_NUMBERS: Final = frozenset({
    *types.FLOATS, *types.COUNTS, *types.DATES, FieldType.INT, FieldType.UTCTIMESTAMP, FieldType.TIME,
    FieldType.UTCTIMEONLY,
})  # fmt: skip


class KernelReader(ConflatedReader):
    """Its rows are its own memory: the next reading overwrites them."""

    def __init__(self, channel: int, dictionary: Dictionary) -> None:
        super().__init__(channel, dictionary)
        self._columns = FixColumnReader(dictionary)
        self._context = Context(CONTEXT_FIELDS)
        self._kept: Rows = np.empty(0, ROW)
        self._number = -1
        self._fits = self._look_at(dictionary)

    def _look_at(self, dictionary: Dictionary) -> bool:
        """Where the columns are; whether they are what the kernel takes them for."""
        spec = dictionary.message(_BODY)
        group = None if spec is None else spec.body.groups.get(_ENTRIES)
        if spec is None or group is None:
            return False
        tags = [member.field.tag for member in group.members]
        columns = [tags.index(tag) if tag in tags else -1 for tag in ENTRY_TAGS]
        body = [member.field.tag for member in spec.body.members]
        if _TRADE_DATE not in body or not {279, 269, 48, 272, 273} <= set(tags):
            return False
        self._context.set(
            columns=np.array(columns, np.int64), width=len(tags), body_width=len(body),
            body_date=body.index(_TRADE_DATE),
            body_depth=body.index(_BOOK_TYPE) if _BOOK_TYPE in body else -1,
        )  # fmt: skip
        texts = {member.field.tag for member in group.members if member.field.kind not in _NUMBERS}
        return all((tag in texts) is (tag in _TEXTS) for tag in ENTRY_TAGS if tag in tags)

    def read(
        self, address: int, offsets: Array, lengths: Array, at: Array, epochs: Array, count: int | None = None
    ) -> Reading:
        count = len(offsets) if count is None else count
        if count < FEW or not self._fits:
            return super().read(address, offsets, lengths, at, epochs, count)
        self._places, self._sizes = address + offsets[:count], lengths[:count]
        buffer, places = _bytes_of(address, offsets[:count], lengths[:count])
        batch = self._columns.read(buffer, places, lengths[:count])
        self._context.set(at=at, epochs=epochs, cursor=0, buffer=buffer)
        self._use(batch)
        return self._fill(offsets, at, epochs, count)

    def _use(self, batch: FixBatch) -> None:
        entries, body = batch.group(_BODY, _ENTRIES), batch.bodies[_BODY]
        if len(entries.parents) > len(self._kept):
            self._kept = np.empty(2 * len(entries.parents), ROW)
            self._context.set(rows=self._kept)
        self._context.set(
            values=entries.values, extras=entries.extras, parents=entries.parents,
            entries=len(entries.parents), outcomes=batch.outcomes, block=self._block(batch),
            body_values=body.values, body_extras=body.extras,
        )  # fmt: skip

    def _block(self, batch: FixBatch) -> int:
        """The number of the table of 35=X, which does not change."""
        if self._number < 0:
            self._number = [table.name for table in batch.tables].index(_BODY.decode())
        return self._number

    def _fill(self, offsets: Array, at: Array, epochs: Array, count: int) -> Reading:
        """Rows of all messages, in order."""
        found: list[Rows] = []
        faults: list[RowFault] = []
        done = made = first = 0
        while done < count:
            done, made = fill_rows(self._context.address, done, count, made)
            if made > first:
                found.append(self._kept[first:made])
                first = made
            if done < count:
                found.append(self._read_one(done, offsets, at, epochs, faults))
                done += 1
        rows = found[0] if len(found) == 1 else np.concatenate(found or [self._kept[:0]])
        return Reading(rows, faults, whole=True)


def _array_at(address: int, size: int) -> Array:
    """The bytes at an address as they are, valid as long as the caller's buffer."""
    return np.ctypeslib.as_array((c_uint8 * size).from_address(address))


def _bytes_of(address: int, offsets: Array, lengths: Array) -> tuple[Array, Array]:
    """The messages, which may lie anywhere, as one array, and where each begins in it."""
    first, end = int(offsets.min()), int((offsets + lengths).max())
    if end - first <= 2 * int(lengths.sum(dtype=np.int64)) + 4_096:
        return _array_at(address + first, end - first), offsets - first
    pieces = [string_at(address + int(o), int(n)) for o, n in zip(offsets, lengths, strict=True)]
    starts = np.concatenate([[0], np.cumsum(lengths[:-1], dtype=np.int64)])
    return np.frombuffer(b"".join(pieces), np.uint8), starts
