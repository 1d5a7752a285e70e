"""Messages to rows of `model.rows`, one at a time: what the plain readers of several systems have alike. How
one is read a system has: `_rows`."""

from collections.abc import Sequence
from ctypes import string_at
from typing import Any, Final

import numpy as np

from pregao.feeds.port import Array, Reading, RowFault
from pregao.model.errors import DecodeError, Fault
from pregao.model.rows import NO_ACTION, NULL, ROW, Kind, Rows

WIDE_FIELDS: Final = (
    "security_id", "id", "price", "size", "other", "time_ns", "inserted_ns", "fine", "low", "high",
)  # fmt: skip


def blank(count: int) -> Rows:
    """Rows that tell nothing yet. The kernels' is `feeds.kernels.blank_row`."""
    rows: Rows = np.zeros(count, ROW)
    for name in WIDE_FIELDS:
        rows[name] = NULL
    rows["action"] = NO_ACTION
    return rows


def joined(parts: Sequence[Rows]) -> Rows:
    """One after the other; as bytes, for numpy compares the types of structured arrays field by field."""
    pieces = [np.ascontiguousarray(part).view(np.uint8) for part in parts]
    rows: Rows = np.concatenate([np.zeros(0, np.uint8), *pieces]).view(ROW)
    return rows


class OneByOneReader:
    """`beyond_scale` is the fault of a number that its field of the row cannot hold; rows of the kinds
    `pointing` say where their message is."""

    beyond_scale: Fault
    pointing: tuple[Kind, ...] = (Kind.DEFINITION, Kind.NEWS)

    def __init__(self) -> None:
        self._places: Array = np.zeros(0, np.int64)  # of the messages of the last reading
        self._sizes: Array = np.zeros(0, np.uint32)
        self._unit: Any = None  # the bytes of one that was read by itself

    # What a system has of its own

    def _rows(self, text: bytes, unit: int, faults: list[RowFault]) -> Rows:
        raise NotImplementedError

    def _unreadable(self, text: bytes) -> Rows:
        """What is known of a message that cannot be read."""
        return blank(0)

    # The port

    def read(
        self, address: int, offsets: Array, lengths: Array, at: Array, epochs: Array, count: int | None = None
    ) -> Reading:
        count = len(offsets) if count is None else count
        self._places, self._sizes = address + offsets[:count], lengths[:count]
        faults: list[RowFault] = []
        found = [self._read_one(index, offsets, at, epochs, faults) for index in range(count)]
        return Reading(joined(found), faults, whole=True)

    def _read_one(self, index: int, offsets: Array, at: Array, epochs: Array, faults: list[RowFault]) -> Rows:
        text = self._text(index)
        try:
            rows = self._rows(text, index, faults)
        except DecodeError as error:
            faults.append(RowFault(error.fault, index, error.offset, 0, detail=error.detail))
            rows = self._unreadable(text)
        except OverflowError:
            faults.append(RowFault(self.beyond_scale, index, 0, 0))
            rows = self._unreadable(text)
        rows["packet"], rows["at"], rows["sequence_version"] = index, at[index], epochs[index]
        for kind in self.pointing:
            rows["price"][rows["kind"] == kind] = int(offsets[index])
        return rows

    def _text(self, index: int) -> bytes:
        return string_at(int(self._places[index]), int(self._sizes[index]))

    def go_on(self) -> Reading:
        raise AssertionError("every reading is whole")

    def read_unit(self, payload: bytes) -> Reading:
        one = self._unit = np.frombuffer(payload or b"\0", np.uint8)
        zero = np.zeros(1, np.int64)
        return self.read(one.ctypes.data, zero, np.array([len(payload)], np.uint32), zero, zero)

    def message(self, row: np.void) -> bytes:
        return self._text(int(row["packet"]))
