"""How instruments become whole again: snapshots, complete loops, resets. Decides; the keeper does.

Nothing here looks at a book: a snapshot counts by the place it covers and by its rptSeq.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pregao.model.packets import UInt32s
from pregao.model.rows import Kind
from pregao.recovery.counters import ChannelCounters
from pregao.recovery.events import Event, QueueOverflow
from pregao.recovery.held import NO_REPORT_HELD, STARTS_AGAIN, HeldRows, Keeper, SnapshotHeader
from pregao.recovery.instrument_events import (
    DoubtReason,
    Healer,
    InstrumentHealed,
    InstrumentStale,
    InstrumentsUnverified,
)
from pregao.recovery.instruments import NEVER, NO_REPORT, BookStatus, Decision, Mark, VerifiedPart, not_clean
from pregao.recovery.kernels.instruments import first_report_after
from pregao.recovery.table import InstrumentTable

BOTH = VerifiedPart.BOOK | VerifiedPart.STATISTICS
_NEITHER = VerifiedPart(0)

_COUNTER = {
    Healer.SNAPSHOT: "healed_by_snapshot",
    Healer.EMPTY_BOOK: "healed_by_empty_book",
    Healer.FIRST_REPORT: "healed_by_first_report",
    Healer.ABSENT: "healed_by_absence",
    Healer.CONTINUITY: "healed_by_continuity",
}


@dataclass(slots=True)
class Recovery:
    """Sync of all instruments of one channel."""

    channel: int
    table: InstrumentTable
    held: HeldRows
    keeper: Keeper
    counters: ChannelCounters
    tell: list[Event]
    loops: int = 0  # snapshot loops begun so far, to say how long healing took
    missing: int = 0  # everything up to here is missing of an instrument not heard of yet

    # Rows

    def noted(self, index: int, outcome: int, kind: int, at: int) -> None:
        """A row changed what is known of its instrument: `outcome` is what `decide` said of it."""
        if outcome & Decision.WENT_STALE:
            self.counters.went_stale += 1
            self._wait(index)
            self.tell.append(InstrumentStale(self.table.security_ids[index], DoubtReason.REPORTS_MISSING, at))
        if outcome & Decision.UNSETTLED:
            self._wait(index)
            self.tell.append(InstrumentsUnverified(self.channel, (self.table.security_ids[index],), at))
        if outcome & Decision.VERIFIED:
            told_again = outcome & Decision.HEALED
            self._healed(index, VerifiedPart.BOOK, Healer.EMPTY_BOOK if told_again else Healer.CONTINUITY, at)
        elif outcome & Decision.HEALED:
            by = Healer.EMPTY_BOOK if kind == Kind.EMPTY_BOOK else Healer.FIRST_REPORT
            self._healed(index, VerifiedPart.BOOK, by, at)

    def suspected(self, index: int, at: int) -> None:
        """An update did not fit the book of an instrument, which is stale now."""
        self.counters.went_stale += 1
        self._wait(index)
        self.tell.append(InstrumentStale(self.table.security_ids[index], DoubtReason.SUSPECT, at))

    def overflow(self, at: int) -> None:
        """No room to hold a row: all rows are dropped, and what waited for them waits again. Clean
        instruments have none and stay clean."""
        dropped = self.held.forget_all(self.table.sync)
        self.counters.overflows += 1
        self.counters.dropped_rows += dropped
        sync, waiting = self.table.sync, self.table.unclean()
        self.tell.append(QueueOverflow(self.channel, dropped, len(waiting), at))
        for index in waiting:
            record = sync[index]
            shown = record["book"] == BookStatus.UNVERIFIED or record["statistics"] == BookStatus.UNVERIFIED
            for part in ("book", "statistics"):
                held = part == "statistics" or not record["marks"] & Mark.REPLENISHING
                if record[part] != BookStatus.CLEAN and held:
                    record[part] = BookStatus.STALE
            record["missing"], record["bound"] = max(int(record["missing"]), at), NEVER
            if shown:
                self.counters.went_stale += 1
                self.tell.append(
                    InstrumentStale(self.table.security_ids[index], DoubtReason.QUEUE_OVERFLOW, at)
                )

    # Snapshots

    def wanted(self, index: int, header: SnapshotHeader, at: int, position: int) -> VerifiedPart:
        """Which parts a snapshot that covers `at` would make whole; `position`: where the channel is."""
        record = self.table.sync[index]
        parts = self._unclean_parts(record)
        if not parts or record["marks"] & Mark.IGNORED:
            self.counters.snapshots_not_needed += 1
            return _NEITHER
        if at < record["missing"]:
            self.counters.snapshots_too_old += 1
            return _NEITHER
        if parts == BOTH and not self._connects(record, header, at):
            self.counters.snapshots_unconnected += 1
            return _NEITHER
        if at > position and not header.alone:
            # Rows up to there will be skipped, so both parts must come from it.
            return BOTH
        if header.alone:
            # A book that is to be told again is withheld, not empty.
            withheld = at > position or record["marks"] & (Mark.AWAITED | Mark.REPLENISHING)
            return _NEITHER if withheld else parts & VerifiedPart.BOOK
        return parts

    def load(self, index: int, header: SnapshotHeader, at: int, parts: VerifiedPart) -> None:
        """The snapshot is there as a whole."""
        record = self.table.sync[index]
        self.keeper.load_snapshot(index, parts)
        self.keeper.apply_held(index, at, parts)
        if record["last_at"] <= at:
            record["last"], record["last_at"] = header.rpt_seq, at
            if header.rpt_seq:
                record["marks"] |= Mark.REPORTED
            record["marks"] &= ~np.uint8(Mark.RESTART)
        record["covered"] = max(int(record["covered"]), at)
        self.counters.snapshots_used += 1
        self._clean(index, parts, Healer.SNAPSHOT, at)

    def _connects(self, record: Any, header: SnapshotHeader, at: int) -> bool:
        """The first report held after the snapshot is the one that follows it (7.4.1)."""
        found = first_report_after(self.held.address, int(record["head"]), at)
        return found in (NO_REPORT_HELD, STARTS_AGAIN, header.rpt_seq + 1)

    # Absence

    def absent(self, loop: int, begun_at: int) -> None:
        """A complete loop, begun at a place: what was not in it has nothing (6.3).

        An instrument that has told something before may only be withdrawn until its book is told again
        (6.5.12), so it must be absent twice.
        """
        table = self.table
        for index in table.unclean():
            record = table.sync[index]
            if table.in_snapshots[index] >= loop or record["missing"] > begun_at:
                continue
            again = record["absent"] == loop - 1
            record["absent"] = loop
            if record["marks"] & Mark.REPORTED and not again:
                continue
            parts = self._unclean_parts(record)
            if parts & VerifiedPart.BOOK:
                self.keeper.clear_book(index)
            if parts & VerifiedPart.STATISTICS:
                self.keeper.clear_statistics(index)
            self.keeper.apply_held(index, begun_at, parts)
            if record["last"] == NO_REPORT:
                record["last"] = 0
            self._clean(index, parts, Healer.ABSENT, begun_at)

    # Resets

    def clear(self, at: int, parts: VerifiedPart) -> None:
        """ChannelReset: what the system says is empty (6.5.12: all books; statistics are kept)."""
        if VerifiedPart.BOOK in parts:
            self._clear_books(at)
        if VerifiedPart.STATISTICS in parts:
            self._clear_statistics(at)

    def _clear_books(self, at: int) -> None:
        sync = self.table.sync
        concerned = (sync["covered"] < at) & (sync["marks"] & int(Mark.IGNORED) == 0)
        for index in np.flatnonzero(concerned).tolist():
            record = sync[index]
            self.keeper.clear_book(index)
            if record["book"] != BookStatus.CLEAN and record["statistics"] != BookStatus.CLEAN:
                record["last"] = NO_REPORT  # what was lost may have had reports
            record["marks"] |= Mark.RESTART
        self.unsettle_books(at)
        sync["book"][concerned] = BookStatus.UNVERIFIED  # also what was stale: now it is known to be empty
        self.table.recount_all()

    def _clear_statistics(self, at: int) -> None:
        sync = self.table.sync
        concerned = (sync["covered"] < at) & (sync["marks"] & int(Mark.IGNORED) == 0)
        for index in np.flatnonzero(concerned).tolist():
            self.keeper.clear_statistics(index)

    def unsettle_books(self, at: int) -> None:
        """Books will be told again, one by one; until its turn no update of a book is told (6.5.11,
        6.5.12), so none is known to be the exchange's. Its EmptyBook makes it so, or a snapshot."""
        sync = self.table.sync
        concerned = (sync["covered"] < at) & (sync["marks"] & int(Mark.IGNORED) == 0)
        sync["since"][concerned & ~not_clean(sync)] = self.loops
        sync["book"][concerned & (sync["book"] == BookStatus.CLEAN)] = BookStatus.UNVERIFIED
        sync["marks"][concerned] &= ~np.uint8(Mark.REPLENISHING)
        sync["marks"][concerned] |= np.uint8(Mark.AWAITED)
        sync["bound"][concerned] = NEVER
        sync["missing"][concerned] = np.maximum(sync["missing"][concerned], at)
        self.table.recount_all()

    def unsettle_statistics(self, indexes: UInt32s, at: int) -> None:
        """A phase that may have reset them or ended an auction."""
        sync = self.table.sync
        theirs = sync[indexes]
        followed = (theirs["covered"] < at) & (theirs["marks"] & int(Mark.IGNORED) == 0)
        clean = indexes[followed & (theirs["statistics"] == BookStatus.CLEAN)]
        sync["since"][clean[sync["book"][clean] == BookStatus.CLEAN]] = self.loops
        sync["statistics"][clean] = BookStatus.UNVERIFIED
        sync["missing"][clean] = np.maximum(sync["missing"][clean], at)
        self.table.recount_some(clean)

    def forget_everything(self, reason: DoubtReason) -> None:
        """Another site: its sequence and its rptSeq are its own."""
        self.held.forget_all(self.table.sync)
        sync = self.table.sync
        followed = np.flatnonzero(sync["marks"] & int(Mark.IGNORED) == 0).tolist()
        for index in followed:
            record = sync[index]
            if self._unclean_parts(record) != BOTH:
                self._wait(index)
                security_id, at = self.table.security_ids[index], int(record["missing"])
                self.tell.append(InstrumentStale(security_id, reason, at))
            record["book"] = record["statistics"] = BookStatus.STALE
            record["last"], record["bound"] = NO_REPORT, NEVER
            record["marks"] &= ~np.uint8(Mark.RESTART | Mark.REPLENISHING)
        self.table.recount_all()
        self.counters.went_stale += len(followed)

    # Definitions

    def begin_again(self, index: int, missing: int, *, clean: bool) -> None:
        """An instrument that is new, or here again after it was deleted."""
        self.held.forget(self.table.sync[index])
        self.keeper.clear_book(index)
        self.keeper.clear_statistics(index)
        self.table.begin_again(index, missing, clean=clean)
        self._wait(index)

    def ignore(self, index: int) -> None:
        """It was deleted."""
        self.held.forget(self.table.sync[index])
        self.table.ignore(index)

    # What is common to all

    def _unclean_parts(self, record: Any) -> VerifiedPart:
        parts = _NEITHER
        if record["book"] != BookStatus.CLEAN:
            parts |= VerifiedPart.BOOK
        if record["statistics"] != BookStatus.CLEAN:
            parts |= VerifiedPart.STATISTICS
        return parts

    def _clean(self, index: int, parts: VerifiedPart, by: Healer, at: int) -> None:
        record = self.table.sync[index]
        if parts & VerifiedPart.BOOK:
            record["book"], record["bound"] = BookStatus.CLEAN, 0
            record["marks"] &= ~np.uint8(Mark.AWAITED | Mark.REPLENISHING)
        if parts & VerifiedPart.STATISTICS:
            record["statistics"] = BookStatus.CLEAN
        if not self._unclean_parts(record):
            self.held.forget(record)
        self.table.recount(index)
        self._healed(index, parts, by, at)

    def _wait(self, index: int) -> None:
        self.table.sync[index]["since"] = self.loops

    def _healed(self, index: int, parts: VerifiedPart, by: Healer, at: int) -> None:
        name = _COUNTER[by]
        setattr(self.counters, name, getattr(self.counters, name) + 1)
        waited = self.loops - int(self.table.sync[index]["since"])
        self.tell.append(
            InstrumentHealed(
                self.table.security_ids[index], by, at,
                bool(parts & VerifiedPart.BOOK), bool(parts & VerifiedPart.STATISTICS), waited,
            )
        )  # fmt: skip
