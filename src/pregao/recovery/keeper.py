"""What a channel's machine asks of whoever keeps the books, and what it is told of a snapshot.

`index` is the instrument's number in the machine's table, from 0 without holes: books and statistics
may be kept in arrays by it.
"""

from typing import Protocol

from pregao.model.records import record
from pregao.recovery.instruments import Part


@record
class SnapshotHeader:
    """SnapshotFullRefresh_Header (7.2). `version` is None below wire version 15; `rpt_seq` 0: there is
    none (7.4.1)."""

    security_id: int
    number: int  # lastMsgSeqNumProcessed
    version: int | None  # lastSequenceVersion
    rpt_seq: int
    reports: int  # totNumReports
    counted: int  # orders and statistics that follow

    @property
    def alone(self) -> bool:
        """Of an instrument just emptied or deleted (7.2): it tells of the book, and leaves out statistics."""
        return self.counted == 0 and self.rpt_seq == 0


class Keeper(Protocol):
    """Keeps books and statistics by the machine's orders."""

    def clear_book(self, index: int) -> None:
        """The book is empty. Statistics stay."""

    def clear_statistics(self, index: int) -> None:
        """There are none: no prices, bands, imbalance, state of its own."""

    def load_snapshot(self, index: int, parts: Part) -> None:
        """The snapshot that was just received whole replaces these parts."""

    def apply_held(self, index: int, after_at: int, parts: Part) -> None:
        """Apply the rows of these parts that `machine.held` has of it and that stand after a place.

        A book row is of `Part.BOOK`, all others of `Part.STATISTICS` (`instruments.part_of`).
        """

    def catch_up(self) -> None:
        """Apply what was put off, rows that wait for the end of their event: what comes next concerns
        everything."""

    def lost(self, at: int) -> None:
        """Some packets up to this place are lost, or nobody knows."""

    @property
    def phases_sought(self) -> int:
        """Groups of instruments whose phase the snapshot stream has yet to tell: it belongs to no instrument,
        and is told at the beginning of a loop (7.4)."""
