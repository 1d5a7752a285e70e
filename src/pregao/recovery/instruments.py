"""What is known of each instrument, and what is to be done with a row of it.

Book and statistics are kept apart: see docs/feed-handler.md for the rules. A row whose part is not clean
is held for the snapshot that will make it so; one whose part is not stale is applied. `decide` is the
plain twin of the kernel; both work on a record of `SYNC`, one cache line for an instrument.
"""

from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np

from pregao.model.rows import LAST_BOOK_KIND, Kind

NEVER: Final = 1 << 62  # a bound that no rptSeq exceeds: only a snapshot can tell
NO_REPORT: Final = -1  # no rptSeq of it is known
NOBODY: Final = -1  # end of a chain


class BookStatus(IntEnum):
    """How far a book, or statistics, are to be believed. The lesser of two is what holds for both."""

    STALE = 0
    UNVERIFIED = 1
    CLEAN = 2


class Mark(IntFlag):
    IGNORED = 1  # nobody is interested, or it was deleted
    RESTART = 2  # a channel reset: rptSeq goes on or starts at 1
    DEFINED = 4
    REPORTED = 8  # a message with rptSeq was seen
    AWAITED = 16  # its book is to be told again, and is withheld until then (6.5.11, 6.5.12)
    REPLENISHING = 32  # its book is being told again, and may be told by half (6.5.12 step 6, 6.5.13)
    COUNTED = 64  # among those that are not clean, by `InstrumentTable`


class VerifiedPart(IntFlag):
    BOOK = 1
    STATISTICS = 2


class Decision(IntFlag):
    SKIP = 0
    APPLY = 1
    HOLD = 2
    FORGET = 4  # first drop what is held of it
    EMPTIED = 8  # first empty the book: it was emptied before this row, or by it
    WENT_STALE = 16
    VERIFIED = 32  # the book became clean, by continuity
    HEALED = 64  # the book became clean: with EMPTIED as it is empty, with VERIFIED as it was told to its end
    UNSETTLED = 128  # the book ceased to be clean: it is being told again


NOTABLE: Final = int(Decision.EMPTIED | Decision.WENT_STALE | Decision.VERIFIED | Decision.UNSETTLED)

SYNC = np.dtype(
    [
        ("covered", "<i8"),  # rows up to here are in the snapshot that was loaded
        ("missing", "<i8"),  # a snapshot must reach this place
        ("last", "<i8"),  # rptSeq of the last row seen, or NO_REPORT
        ("last_at", "<i8"),  # where it stood
        ("bound", "<i8"),  # reports that the packets lost since the book was clean can have had
        ("head", "<i4"),  # chain of held rows
        ("tail", "<i4"),
        ("held", "<u4"),
        ("since", "<u4"),  # snapshot loops begun when it ceased to be clean
        ("book", "u1"),
        ("statistics", "u1"),
        ("marks", "u1"),
        ("spare", "u1"),
        ("absent", "<u4"),  # the last complete loop it was absent from
    ]
)
assert SYNC.itemsize == 64
SYNC_SIZE: Final = 64

Sync = np.ndarray[tuple[int], np.dtype[np.void]]
Record = Any  # one element of a Sync: fields are read and set by name

# Offsets, for kernels.
COVERED, MISSING, LAST, LAST_AT, BOUND, HEAD, TAIL, HELD, SINCE, BOOK, STATISTICS, MARKS, _, ABSENT = (
    offset for _, offset in sorted((field[1], field[1]) for field in (SYNC.fields or {}).values())
)


def part_of(kind: int) -> VerifiedPart:
    return VerifiedPart.BOOK if kind <= LAST_BOOK_KIND else VerifiedPart.STATISTICS


def new_record(sync: Sync, index: int, missing: int) -> None:
    """Nothing is known of it, and everything up to `missing` is missing."""
    sync[index] = np.zeros((), SYNC)
    record = sync[index]
    record["missing"], record["last"], record["bound"] = missing, NO_REPORT, NEVER
    record["head"] = record["tail"] = NOBODY


def decide(record: Record, kind: int, rpt_seq: int, at: int, recovery: int = 0) -> int:
    """What to do with a row, in bits of `Decision`. `rpt_seq` 0: it has none, and does not count. `recovery`:
    whether it is marked RecoveryMsg."""
    if record["marks"] & Mark.IGNORED or at <= record["covered"]:
        return 0
    outcome = 0
    is_book = kind <= LAST_BOOK_KIND
    # Only an update of the book without the mark says that the book is not being told again.
    over = recovery == 0 and is_book and kind != Kind.EMPTY_BOOK
    if kind == Kind.EMPTY_BOOK:
        outcome = _empty(record, over)
        record["last"], record["last_at"] = 0, at
    elif rpt_seq > 0:
        outcome = _report(record, rpt_seq, at, is_book, over)
    part = int(record["book"] if is_book else record["statistics"])
    if part != BookStatus.STALE:
        outcome |= Decision.APPLY
    if is_book and not over and part == BookStatus.UNVERIFIED:
        # A whole market may be told again: it is not held, and a snapshot must have all of it.
        record["missing"] = max(int(record["missing"]), at)
    elif part != BookStatus.CLEAN:
        outcome |= Decision.HOLD
    # An EmptyBook is held for the other part's sake: rptSeq starts again there.
    if kind == Kind.EMPTY_BOOK and record["statistics"] != BookStatus.CLEAN:
        outcome |= Decision.HOLD
    return outcome


def _empty(record: Record, over: bool) -> int:
    """The book is empty, whatever it was (6.5.13). Not `over`: its orders may follow."""
    outcome = Decision.EMPTIED
    if record["statistics"] == BookStatus.CLEAN and record["held"]:
        outcome |= Decision.FORGET
    record["marks"] &= ~np.uint8(Mark.RESTART | Mark.AWAITED | Mark.REPLENISHING)
    record["bound"] = 0
    if over:
        if record["book"] != BookStatus.CLEAN:
            outcome |= Decision.HEALED
        record["book"] = BookStatus.CLEAN
    else:
        outcome |= _replenish(record)
    return int(outcome)


def _replenish(record: Record) -> int:
    """Its book is being told again: nobody says how many orders there will be."""
    outcome = Decision.UNSETTLED if record["book"] == BookStatus.CLEAN else 0
    record["book"], record["bound"] = BookStatus.UNVERIFIED, 0
    record["marks"] |= Mark.REPLENISHING
    return int(outcome)


def _report(record: Record, rpt_seq: int, at: int, is_book: bool, over: bool) -> int:
    last, book = int(record["last"]), int(record["book"])
    restart = record["marks"] & Mark.RESTART
    begun = record["marks"] & Mark.REPLENISHING and last == 0 and record["bound"] == 0
    outcome = 0
    if rpt_seq == 1 and book != BookStatus.CLEAN and (is_book or not restart) and not begun:
        # The message after an EmptyBook, which was lost (6.5.13), or the very first. After a ChannelReset
        # statistics are told before the book is (6.5.12).
        outcome = _empty(record, over)
        if record["statistics"] == BookStatus.CLEAN and not restart:
            record["statistics"], record["missing"] = (
                BookStatus.UNVERIFIED,
                max(int(record["missing"]), at - 1),
            )
    elif rpt_seq == last + 1 and last >= 0:
        if book == BookStatus.UNVERIFIED:
            outcome = _continue(record, last, is_book and over)
        elif book == BookStatus.CLEAN and is_book and not over:
            outcome = _replenish(record)
    elif rpt_seq == 1 and restart:
        pass  # the first of the week: the ChannelReset emptied the book
    elif last >= 0:
        outcome = _lose(record, at)
    elif book == BookStatus.UNVERIFIED:
        record["bound"] = NEVER
    record["last"], record["last_at"] = rpt_seq, at
    done = Mark.RESTART | Mark.REPLENISHING if is_book and over else Mark.RESTART
    record["marks"] = (int(record["marks"]) & ~done) | Mark.REPORTED
    return outcome


def _continue(record: Record, last: int, tells: bool) -> int:
    """The first report after a loss follows the last before it. Had rptSeq started again in what was
    lost and come to the same number, more packets would be lost. Only an update of the book `tells`: after
    a ChannelReset that was lost, the book's updates wait for its EmptyBook, statistics do not (6.5.12); and
    one that is no recovery message comes after the last that is (6.5.12 step 6)."""
    if record["marks"] & Mark.REPLENISHING and record["bound"] == 0:
        verified = Decision.VERIFIED | Decision.HEALED  # nothing was lost since its EmptyBook
    elif last <= record["bound"]:
        record["bound"] = NEVER
        return 0
    else:
        verified = Decision.VERIFIED
    if not tells:
        return 0
    record["book"], record["bound"] = BookStatus.CLEAN, 0
    return int(verified)


def _lose(record: Record, at: int) -> int:
    """Reports are missing: all that is held comes before them and is of no use."""
    was_stale = record["book"] == BookStatus.STALE and record["statistics"] == BookStatus.STALE
    record["book"] = record["statistics"] = BookStatus.STALE
    record["missing"], record["bound"] = max(int(record["missing"]), at - 1), NEVER
    record["marks"] &= ~np.uint8(Mark.REPLENISHING)
    return int((0 if was_stale else Decision.WENT_STALE) | (Decision.FORGET if record["held"] else 0))


# What concerns all instruments at once


def lose_units(sync: Sync, last_at: int, reports: int | None, loops: int) -> list[int]:
    """Units up to a place are lost that can have had so many reports of an instrument, None: nobody knows;
    `loops` snapshot loops were begun by then. Which instruments had been clean, at least in part."""
    touched = (sync["covered"] < last_at) & (sync["marks"] & int(Mark.IGNORED) == 0)
    book = touched & (sync["book"] == BookStatus.CLEAN)
    statistics = touched & (sync["statistics"] == BookStatus.CLEAN)
    bound = NEVER if reports is None else min(NEVER, reports)
    sync["since"][touched & ~not_clean(sync)] = loops
    sync["bound"][book] = 0
    sync["bound"][touched] = np.minimum(NEVER - bound, sync["bound"][touched]) + bound  # NEVER at most
    sync["book"][book] = BookStatus.UNVERIFIED
    sync["statistics"][statistics] = BookStatus.UNVERIFIED
    sync["missing"][touched] = np.maximum(sync["missing"][touched], last_at)
    return np.flatnonzero(book | statistics).tolist()


def not_clean(sync: Sync) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    unclean = (sync["book"] != BookStatus.CLEAN) | (sync["statistics"] != BookStatus.CLEAN)
    return np.asarray(unclean & (sync["marks"] & int(Mark.IGNORED) == 0))
