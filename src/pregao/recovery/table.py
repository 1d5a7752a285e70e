"""The instruments of a channel: a record of `SYNC` for each number (`model.numbering`; an index here), and
how many of them are not clean.

That number is kept, not counted: every batch asks for it, and a channel may have 100,000 instruments. Whoever
changes the status of a record has it recounted (`recount`; `kernels.recount` in kernels). Each record knows
whether it is counted, so that it does no harm to recount one too often.
"""

from typing import Final

import numpy as np

from pregao.model.numbering import InstrumentNumbers
from pregao.model.packets import Int64s, UInt32s
from pregao.recovery.instruments import SYNC, BookStatus, Mark, Sync, new_record, not_clean
from pregao.recovery.policy import ChannelSettings

Loops = np.ndarray[tuple[int], np.dtype[np.uint32]]

NOT_FOLLOWED: Final = -1


class InstrumentTable:
    """Bounded: the array is made once, so kernels may keep its address. `numbering` is shared with whoever
    keeps the books; it may have as many as the settings say."""

    def __init__(self, settings: ChannelSettings, numbering: InstrumentNumbers | None = None) -> None:
        self._interest, most = settings.interest, settings.instruments
        self._records: Sync = np.zeros(most, SYNC)
        self.in_snapshots: Loops = np.zeros(most, np.uint32)  # the last loop it was in
        self.in_definitions: Loops = np.zeros(most, np.uint32)
        self.definition_loop = 0  # that began last: one added after its beginning may be missing in it
        self.refused = 0
        self._unclean: Int64s = np.zeros(1, np.int64)
        self.numbering = InstrumentNumbers(most) if numbering is None else numbering
        self.security_ids = self.numbering.security_ids
        self.numbering.follow(self._on_new)

    def __len__(self) -> int:
        return len(self.numbering)

    @property
    def sync(self) -> Sync:
        """The records in use."""
        return self._records[: len(self.numbering)]

    @property
    def address(self) -> int:
        return int(self._records.ctypes.data)

    @property
    def unclean_count(self) -> int:
        """How many that are followed are not clean."""
        return int(self._unclean[0])

    @property
    def count_address(self) -> int:
        """Of that number, for kernels."""
        return int(self._unclean.ctypes.data)

    @property
    def instruments(self) -> int:
        """How many there are; an instrument may have several books, which have numbers too."""
        return len(self.numbering) - len(self.numbering.other_books)

    def find(self, security_id: int) -> int:
        index = self.numbering.get(security_id)
        return NOT_FOLLOWED if index is None else index

    def add(self, security_id: int, missing: int) -> int:
        """Its index, made now if it is new; NOT_FOLLOWED where nobody is interested."""
        index = self.numbering.get(security_id)
        if index is not None:
            return index
        if self._interest is not None and security_id not in self._interest:
            return NOT_FOLLOWED
        index = self.numbering.add(security_id)
        if index is None:
            self.refused += 1
            return NOT_FOLLOWED
        self._records[index]["missing"] = missing
        return index

    def _on_new(self, index: int) -> None:
        """Nothing is known of it."""
        new_record(self._records, index, 0)
        if index in self.numbering.other_books:  # reports are counted of the instrument
            self._records[index]["marks"] |= Mark.IGNORED
            return
        self.in_definitions[index] = self.definition_loop
        self.recount(index)

    def begin_again(self, index: int, missing: int, *, clean: bool) -> None:
        """Nothing is known of it; or, `clean`, there is nothing to know: it is new. Its rptSeq may go on
        all the same: it may have been listed before, and only an EmptyBook starts it again (7.4.1)."""
        record = self._records[index]
        counted = record["marks"] & Mark.COUNTED
        new_record(self._records, index, missing)
        record["marks"] |= counted
        if clean:
            record["book"] = record["statistics"] = BookStatus.CLEAN
            record["bound"] = 0
        self.recount(index)

    def ignore(self, index: int) -> None:
        self._records[index]["marks"] |= Mark.IGNORED
        self.recount(index)

    def is_followed(self, index: int) -> bool:
        """Not deleted."""
        return not self._records[index]["marks"] & Mark.IGNORED

    def unclean(self) -> list[int]:
        """Which; looks at all of them."""
        return np.flatnonzero(not_clean(self.sync)).tolist()

    # How many are not clean

    def recount(self, index: int) -> None:
        """The status of one may have changed."""
        record = self._records[index]
        marks = int(record["marks"])
        clean = record["book"] == BookStatus.CLEAN and record["statistics"] == BookStatus.CLEAN
        unclean = not clean and not marks & Mark.IGNORED
        if unclean != bool(marks & Mark.COUNTED):
            record["marks"] = marks ^ Mark.COUNTED
            self._unclean[0] += 1 if unclean else -1

    def recount_some(self, indexes: UInt32s) -> None:
        for index in indexes.tolist():
            self.recount(index)

    def recount_all(self) -> None:
        """After something that concerned every instrument."""
        sync = self.sync
        unclean = not_clean(sync)
        sync["marks"] = sync["marks"] & ~np.uint8(Mark.COUNTED) | unclean * np.uint8(Mark.COUNTED)
        self._unclean[0] = np.count_nonzero(unclean)

    def check_invariants(self) -> None:
        """The plain twin of what is kept."""
        unclean = self.unclean()
        assert unclean == np.flatnonzero(self.sync["marks"] & int(Mark.COUNTED)).tolist()
        assert self.unclean_count == len(unclean), (self.unclean_count, unclean)
