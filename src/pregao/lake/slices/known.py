"""What is known of the instruments of a slice (`recovery.instruments`), by number of the book store.

Number 0 is nobody: it stands for all that have not been heard of yet, and whoever is new begins as it is.
After an anchor every record is as the anchor says, whatever it was before: so slices can begin there.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from pregao.lake.slices.kernels.sampling import BOOK_ONCE, STATISTICS_ONCE
from pregao.lake.tables.analytics import Quality
from pregao.model.rows import ROW, ROW_SIZE, Rows
from pregao.recovery.instruments import (
    NEVER,
    NO_REPORT,
    NOBODY,
    SYNC,
    BookStatus,
    Mark,
    lose_units,
    new_record,
)

MOST_INSTRUMENTS: Final = 1 << 17
UNHEARD: Final = 0

Array = np.ndarray[Any, np.dtype[Any]]


class KnownInstruments:
    def __init__(self, reports_in_a_unit: int) -> None:
        self._reports_in_a_unit = reports_in_a_unit
        self.sync: Array = np.zeros(MOST_INSTRUMENTS, SYNC)
        self.count = 1
        self.others: list[int] = []  # numbers that are another book of an instrument
        new_record(self.sync, UNHEARD, 0)
        # Views by field: to read a record by name takes longer than to compare a book.
        self.book, self.statistics, self.once = (self.sync[name] for name in ("book", "statistics", "spare"))
        self.covered, self.last, self.marks = (self.sync[name] for name in ("covered", "last", "marks"))
        self.last_at = self.sync["last_at"]

    @property
    def used(self) -> Array:
        return self.sync[: self.count]

    def add(self, number: int) -> None:
        """A new instrument: as nobody is."""
        self.sync[number] = self.sync[UNHEARD]
        self.count = max(self.count, number + 1)

    def add_other_book(self, number: int) -> None:
        """What is known of it is known of its instrument: see `model.numbering`."""
        self.add(number)
        self.others.append(number)

    def instruments(self, numbers: Array) -> Array:
        """Without those that are another book of an instrument."""
        return numbers[~np.isin(numbers, self.others)] if self.others else numbers

    def doubt(self, number: int) -> int:
        """What is to be said of its book, as `Quality`."""
        if self.book[number] == BookStatus.CLEAN:
            return int(Quality.GOOD)
        return int(Quality.AFTER_GAP if self.once[number] & BOOK_ONCE else Quality.BOOK_UNKNOWN)

    def doubts(self) -> Array:
        """Of each as of its book, with INCOMPLETE where its statistics are in doubt."""
        sync = self.used
        known_once = sync["spare"] & BOOK_ONCE != 0
        book = np.where(known_once, int(Quality.AFTER_GAP), int(Quality.BOOK_UNKNOWN))
        book[sync["book"] == BookStatus.CLEAN] = int(Quality.GOOD)
        statistics = np.where(sync["statistics"] == BookStatus.CLEAN, 0, int(Quality.INCOMPLETE))
        found: Array = book | statistics
        return found

    def begin(self, number: int, place: int, rpt_seq: int, doubts: int) -> None:
        """As it was when the day before ended, with `doubts` as above. A book in doubt is to be told again:
        nobody knows any more what might prove it."""
        record = self.sync[number]
        in_doubt = doubts & Quality.AFTER_GAP
        record["book"], record["bound"] = (BookStatus.STALE, NEVER) if in_doubt else (BookStatus.CLEAN, 0)
        record["marks"] = Mark.AWAITED if in_doubt else Mark.REPORTED if rpt_seq > 0 else 0
        record["statistics"], record["spare"] = BookStatus.STALE, BOOK_ONCE
        if not doubts & Quality.INCOMPLETE:
            record["statistics"], record["spare"] = BookStatus.CLEAN, BOOK_ONCE | STATISTICS_ONCE
        record["last"], record["last_at"], record["covered"] = rpt_seq, place, place

    def lose(self, place: int, packets: int | None) -> None:
        """Packets up to a place are lost; None: or not what they should be."""
        reports = None if packets is None else packets * self._reports_in_a_unit
        lose_units(self.used, place, reports, 0)

    def clear_all(self, place: int) -> Array:
        """ChannelReset: the numbers of those whose books are empty now (6.5.12)."""
        sync = self.used
        concerned = sync["covered"] < place
        lost = concerned & (sync["book"] != BookStatus.CLEAN) & (sync["statistics"] != BookStatus.CLEAN)
        sync["last"][lost] = NO_REPORT  # what was lost may have had reports
        sync["marks"][concerned] |= np.uint8(Mark.RESTART)
        self.unsettle(place)
        sync["book"][concerned] = BookStatus.UNVERIFIED
        sync["spare"][concerned] |= np.uint8(BOOK_ONCE)
        return self.instruments(np.flatnonzero(concerned))

    def forget(self, place: int) -> None:
        """A session has ended, or messages of it are missing: nothing is known until it is told anew."""
        sync = self.used
        sync["book"] = sync["statistics"] = BookStatus.STALE
        sync["marks"] &= ~np.uint8(Mark.REPLENISHING)
        sync["bound"], sync["missing"] = NEVER, np.maximum(sync["missing"], place)

    def unsettle(self, place: int) -> None:
        """A new sequence: books are told again, one by one (6.5.11)."""
        sync = self.used
        concerned = sync["covered"] < place
        sync["book"][concerned & (sync["book"] == BookStatus.CLEAN)] = BookStatus.UNVERIFIED
        sync["marks"][concerned] &= ~np.uint8(Mark.REPLENISHING)
        sync["marks"][concerned] |= np.uint8(Mark.AWAITED)
        sync["bound"][concerned] = NEVER

    def settle(self, number: int, place: int, rpt_seq: int, *, statistics: bool) -> None:
        """As a snapshot of that place says."""
        record = self.sync[number]
        record["book"], record["bound"] = BookStatus.CLEAN, 0
        record["spare"] |= BOOK_ONCE
        if statistics:
            record["statistics"] = BookStatus.CLEAN
            record["spare"] |= STATISTICS_ONCE
        record["last"], record["last_at"], record["covered"] = rpt_seq, place, place
        record["marks"] = Mark.REPORTED if rpt_seq else 0

    def settle_all(self, numbers: Array, places: Array, rpt_seqs: Array) -> None:
        """Several, with their statistics."""
        sync = self.sync
        sync["book"][numbers], sync["bound"][numbers] = BookStatus.CLEAN, 0
        sync["statistics"][numbers] = BookStatus.CLEAN
        sync["spare"][numbers] |= np.uint8(BOOK_ONCE | STATISTICS_ONCE)
        for name, values in (("last", rpt_seqs), ("last_at", places), ("covered", places)):
            sync[name][numbers] = values
        sync["marks"][numbers] = np.where(rpt_seqs != 0, np.uint8(Mark.REPORTED), np.uint8(0))

    def begin_again(self, number: int) -> None:
        """It was deleted: should its id come again, it is somebody new, whose rptSeq goes on (7.4.1)."""
        self.sync[number] = self.sync[UNHEARD]
        self.last[number] = NO_REPORT

    def empty(self, numbers: Array, place: int) -> None:
        """Absent from an anchor: there is nothing to know (6.3)."""
        sync = self.sync
        for name, value in (
            ("book", BookStatus.CLEAN), ("statistics", BookStatus.CLEAN), ("bound", 0), ("last", 0),
            ("last_at", place), ("covered", place), ("marks", 0), ("spare", BOOK_ONCE | STATISTICS_ONCE),
            ("missing", 0), ("head", NOBODY), ("tail", NOBODY),
        ):  # fmt: skip
            sync[name][numbers] = value


# Rows of `model.rows` as a slice keeps them: with what is known of them instead of what a place tells.


NO_PACKET: Final = 0xFFFFFFFF
NO_INDEX: Final = 0xFFFF
SNAPSHOT_INDEX: Final = 0x8000  # what a snapshot tells stands behind all messages of the packet of its place


def _lake_row() -> "np.dtype[Any]":
    fields = {name: kind[:2] for name, kind in (ROW.fields or {}).items()}
    where = fields.pop("sequence_version")[1]
    del fields["spare_2"]
    fields["quality"] = fields.pop("spare")
    fields["number"] = (np.dtype("<u4"), where)  # of the instrument in its slice + 1; 0: none
    names = sorted(fields, key=lambda name: fields[name][1])
    return np.dtype(
        {
            "names": names, "formats": [fields[name][0] for name in names],
            "offsets": [fields[name][1] for name in names], "itemsize": ROW_SIZE,
        }
    )  # fmt: skip


LAKE_ROW: Final = _lake_row()


def joined(parts: Iterable[Rows]) -> Rows:
    """One after the other; as bytes, for numpy compares the types of structured arrays field by field."""
    whole = np.concatenate([np.zeros(0, np.uint8), *(part.view(np.uint8) for part in parts)])
    rows: Rows = whole.view(ROW)
    return rows
