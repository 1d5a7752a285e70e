"""Books and statistics by the machine's orders (`recovery.held.Keeper`)."""

from collections.abc import Callable

import numpy as np

from pregao.books import layout as t
from pregao.books.store import BookStore
from pregao.handler.groups import SecurityGroups
from pregao.handler.kernels.live import apply_held
from pregao.model.events import News
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.rows import ROW, Kind, Rows
from pregao.recovery.held import HeldRows
from pregao.recovery.instruments import VerifiedPart

# What one may be told while packets are handled. Subclass and override what is of interest.


class Observer:
    """Called in the order of the stream; rows are only valid during the call."""

    def on_rows(self, rows: Rows) -> None:
        """Rows of the incremental stream after they were taken to the books: of whole events, unless the
        handler was told not to wait for their ends."""

    def on_definition(self, instrument: Instrument, action: DefinitionAction) -> None: ...

    def on_news(self, news: News) -> None: ...


_NO_ROWS: Rows = np.zeros(0, ROW)
_FOLLOWS_ITS_GROUP: Rows = np.zeros(1, ROW)
_FOLLOWS_ITS_GROUP["kind"] = Kind.STATE
_FROM_FIRST = -1


class StoreKeeper:
    """`snapshot` is the one that was just received whole. `catch_up` applies the rows that wait for the end
    of their event."""

    def __init__(self, store: BookStore, groups: SecurityGroups, catch_up: Callable[[], None]) -> None:
        self._store, self._groups, self._catch_up = store, groups, catch_up
        self.snapshot: Rows = _NO_ROWS
        self.depth = 0  # of the book that it has, where levels are told
        self.lost_at = 0  # packets up to this place were lost, some of them
        self._context = 0  # of the handler's kernels
        self._held: HeldRows | None = None

    def attach(self, context: int, held: HeldRows) -> None:
        self._context, self._held = context, held

    def catch_up(self) -> None:
        self._catch_up()

    def clear_book(self, index: int) -> None:
        self._store.clear(index)

    def clear_statistics(self, index: int) -> None:
        self._store.load_snapshot(index, _FOLLOWS_ITS_GROUP, book=False)
        self._groups.bring_up_to_date(index)

    def load_snapshot(self, index: int, parts: VerifiedPart) -> None:
        if self.depth != self._store.depth(index):
            self._store.set_depth(index, self.depth)
        self._store.load_snapshot(
            index, self.snapshot, book=VerifiedPart.BOOK in parts, statistics=VerifiedPart.STATISTICS in parts
        )

    def apply_held(self, index: int, after_at: int, parts: VerifiedPart) -> None:
        store, held = self._store, self._held
        assert held is not None
        with_book, with_statistics = int(VerifiedPart.BOOK in parts), int(VerifiedPart.STATISTICS in parts)
        self._groups.go_back(index, after_at)
        slot = _FROM_FIRST
        while True:
            code, slot = apply_held(self._context, index, slot, after_at, with_book, with_statistics)
            if code == t.SPECIAL:
                self._groups.affect(index, held.rows[slot])
                slot = int(held.nexts[slot])
                if slot < 0:
                    break
            elif not store.make_room(code):
                break
        self._groups.bring_up_to_date(index)

    def lost(self, at: int) -> None:
        """Packets up to a place are lost: what has no rptSeq may be among them."""
        self.lost_at = at
        self._groups.lost(at)

    @property
    def phases_sought(self) -> int:
        return self._groups.sought
