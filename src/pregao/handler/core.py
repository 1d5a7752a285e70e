"""Rows onto books by kernel: one driver for the live handler and for the lake's slices.

A kernel goes through rows until it needs somebody: memory for books, a row that is not about one instrument,
an instrument that is new. What is the same for everyone is done here; the rest is asked of the owner.
"""

from typing import Any, Final, Protocol

import numpy as np

from pregao.books import layout as t
from pregao.books.store import BookStore
from pregao.handler.kernels.core import NOT_DECIDED, NOTE_WORDS, NOTES_FULL
from pregao.kernels import Context, Kernel
from pregao.model.rows import FIRST_SPECIAL, FLAGS, KIND, LAST_BOOK_KIND, ROW_SIZE, Flag, Kind, Rows
from pregao.recovery.instruments import Sync

_NOTE_ROOM: Final = 1 << 12


class RowOwner(Protocol):
    """Who has the rows, and knows what they are for."""

    def before_rows(self, count: int) -> None:
        """A kernel will be given so many rows."""

    def on_special(self, rows: Rows, place: int) -> None:
        """The row at a place is not about one instrument, or not for kernels. It is done with then."""

    def on_unknown(self, security_id: int) -> None:
        """An instrument that has no number: it has one now, or its rows are skipped from now on."""

    def on_note(self, number: int, outcome: int, kind: int, at: int) -> None:
        """What was decided about a row changed what is known of its instrument: bits of
        `recovery.instruments.Decision`, or SUSPECTED."""

    def on_stop(self, code: int, rows: Rows, first: int) -> None:
        """Another code of the kernel; `first` is the row that it goes on with."""


class RowCore:
    """`take_rows` is a kernel made with `kernels.core.run`, `fields` are those of its context."""

    def __init__(
        self, take_rows: Kernel, fields: tuple[str, ...], store: BookStore, sync: Sync | int, owner: RowOwner
    ) -> None:
        self._take_rows, self._store, self._owner = take_rows, store, owner
        self._notes = np.zeros((_NOTE_ROOM, NOTE_WORDS), np.int64)
        self.context = Context(fields)
        self.context.set(
            books=store.context, sync=sync, notes=self._notes, note_room=_NOTE_ROOM, decided=NOT_DECIDED
        )

    def apply(self, rows: Rows) -> None:
        """Rows in the order of the stream."""
        count, base, first, owner = len(rows), rows.ctypes.data, 0, self._owner
        while first < count:
            owner.before_rows(count - first)
            code, first = self._take_rows(self.context.address, base, first, count)
            if self.context["note_count"]:
                self._tell_notes()
            if code == t.SPECIAL:
                owner.on_special(rows, first)
                first += 1
            elif code == t.UNKNOWN_INSTRUMENT:
                owner.on_unknown(int(rows["security_id"][first]))
            elif code == t.NEEDS_MEMORY:
                self._store.make_room(code)
            elif code not in (t.DONE, NOTES_FULL):
                owner.on_stop(code, rows, first)

    def _tell_notes(self) -> None:
        count = self.context["note_count"]
        self.context.set(note_count=0)
        for number, outcome, kind, at in self._notes[:count].tolist():
            self._owner.on_note(number, outcome, kind, at)


# Of sessions, whose snapshots and history are part of the stream.


RETOLD_NS: Final = 760_000_000  # two ticks of 380 ms: so long after 269=J its orders have come
_RECOVERY: Final = np.uint8(Flag.RECOVERY)


def kept_apart(rows: Rows) -> Any:
    """Rows of snapshots and of history, and what is not about books."""
    heads = rows.view(np.uint8).reshape(-1, ROW_SIZE)[:, : FLAGS + 1].copy()  # one walk over the rows
    kinds, flags = heads[:, KIND], heads[:, FLAGS]
    history = (kinds > LAST_BOOK_KIND) & (kinds < FIRST_SPECIAL) & (flags & _RECOVERY != 0)
    apart = history | (kinds == Kind.OTHER)
    starts = kinds == Kind.SNAPSHOT
    if starts.any():
        apart |= np.isin(rows["packet"], np.unique(rows["packet"][starts]))
    return apart
