"""Books and statistics of many instruments in plain Python: the twin of `books.store.BookStore`, as far as
the feed handler asks for it."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from pregao.books import layout as t
from pregao.books.phases import AUCTIONS, effective, own_after
from pregao.books.statistics import Statistics, StatisticSlot
from pregao.model import events as e
from pregao.model.market import Phase, State, StateEvent
from pregao.model.rows import (
    FIRST_ENTRY_KIND,
    FIRST_TRADING_KIND,
    LAST_BOOK_KIND,
    LAST_STATISTIC_KIND,
    ROW,
    Flag,
    Kind,
    Rows,
)
from tests.twins.plain_book import ReferenceBook
from tests.twins.row_updates import update_of


def _is_auction(phase: int, own: int) -> bool:
    """One whose phase is not known may be in auction."""
    rules = effective(Phase(phase) if phase else None, State(own) if own else None)
    return rules in AUCTIONS or (not phase and rules in (None, State.OPEN))


class PlainInstrument:
    def __init__(self) -> None:
        self.book, self.statistics = ReferenceBook(), Statistics()
        self.phase = self.own = 0  # 0: not known; as its group

    def apply(self, row: Any) -> bool:
        """Whether the row told a phase of the group that was not known."""
        update = update_of(row)
        if update is None:
            return False
        if row["kind"] <= LAST_BOOK_KIND or row["kind"] >= FIRST_ENTRY_KIND:
            self.book.apply(update, Flag(int(row["flags"])))  # type: ignore[arg-type]
            return False
        rejoined = isinstance(update, e.StateChanged) and self._enter(update)
        self.statistics.apply(update)
        return rejoined

    def _enter(self, update: e.StateChanged) -> bool:
        before = self.statistics.state
        new_day = before is not None and before.trade_date != update.trade_date
        phase = Phase(self.phase) if self.phase else None
        own = own_after(State(self.own) if self.own else None, phase, update.state, update.event, new_day)
        was_auction = _is_auction(self.phase, self.own)
        told = int(update.state or 0)
        rejoined = update.event is StateEvent.REJOINS_GROUP and told not in (0, self.phase)
        if rejoined:
            self.phase = told
        self.own = int(own or 0)
        if was_auction and not _is_auction(self.phase, self.own):
            self.statistics.forget_auction()
        return rejoined


class PlainStore:
    """Instruments are known by the number that the machine gave them."""

    def __init__(self) -> None:
        self._instruments: list[PlainInstrument] = []

    def __len__(self) -> int:
        return len(self._instruments)

    def __getitem__(self, number: int) -> PlainInstrument:
        return self._instruments[number]

    def add_instrument(self, _: int) -> None:
        self._instruments.append(PlainInstrument())

    def clear(self, number: int) -> None:
        self._instruments[number].book.clear()

    def load_snapshot(self, number: int, rows: Rows, *, book: bool = True, statistics: bool = True) -> None:
        instrument = self._instruments[number]
        if book:
            instrument.book.clear()
            for row in rows[rows["kind"] == Kind.SNAPSHOT_ORDER]:
                instrument.apply(row)
        if statistics:
            instrument.statistics.latest = {}
            instrument.own = 0
            for row in rows[rows["kind"] == Kind.STATE]:
                instrument.statistics.latest[StatisticSlot.STATE] = update_of(row)
                instrument.own = int(row["type"]) if row["detail"] == StateEvent.LEAVES_GROUP else 0
            for row in rows[(rows["kind"] >= FIRST_TRADING_KIND) & (rows["kind"] <= LAST_STATISTIC_KIND)]:
                instrument.apply(row)

    def depth(self, number: int) -> int:
        """Of books that levels are told of: none here."""
        return 0

    # What `Groups` asks for

    def set_phase(self, numbers: Iterable[int], phase: int) -> None:
        for number in numbers:
            self._instruments[number].phase = phase

    def forget_phases(self) -> None:
        for instrument in self._instruments:
            instrument.phase = 0

    def forget_auction(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._instruments[number].statistics.forget_auction()

    def reset_statistics(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._instruments[number].statistics.reset_session()

    def own_state(self, number: int) -> int:
        return self._instruments[number].own

    def group_phase(self, number: int) -> int:
        return self._instruments[number].phase

    def statistics_rows(self, number: int) -> Rows:
        """Only the state, which is all that groups look at."""
        rows = np.zeros(t.STATISTICS_SLOTS, ROW)
        state = self._instruments[number].statistics.state
        rows[t.STATE]["type"] = 0 if state is None else int(state.state or 0)
        return rows
