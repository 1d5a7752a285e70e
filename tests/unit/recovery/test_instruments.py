"""The rules of docs/feed-handler.md, one by one."""

from typing import Any

import numpy as np

from pregao.model.rows import Kind
from pregao.recovery.instruments import (
    NEVER,
    SYNC,
    BookStatus,
    Decision,
    Mark,
    Sync,
    decide,
    lose_units,
    new_record,
)

REPORTS_IN_A_PACKET = 35  # of Binary UMDF (6.5.4)
ORDER, TRADE, EMPTY = Kind.ORDER, Kind.TRADE, Kind.EMPTY_BOOK


def one(
    book: BookStatus = BookStatus.CLEAN, statistics: BookStatus = BookStatus.CLEAN, last: int = 500
) -> tuple[Sync, Any]:
    sync = np.zeros(1, SYNC)
    new_record(sync, 0, 0)
    record = sync[0]
    record["book"], record["statistics"], record["last"], record["bound"] = book, statistics, last, 0
    return sync, record


def parts(record: Any) -> tuple[BookStatus, BookStatus]:
    return BookStatus(int(record["book"])), BookStatus(int(record["statistics"]))


def test_what_follows_is_applied() -> None:
    _, record = one()
    assert decide(record, ORDER, 501, 10) == Decision.APPLY
    assert decide(record, TRADE, 502, 10) == Decision.APPLY
    assert decide(record, Kind.PHASE, 0, 11) == Decision.APPLY


def test_missing_reports_make_it_stale() -> None:
    _, record = one()
    assert decide(record, ORDER, 503, 10) == Decision.WENT_STALE | Decision.HOLD
    assert parts(record) == (BookStatus.STALE, BookStatus.STALE)
    assert record["missing"] == 9
    assert decide(record, TRADE, 504, 11) == Decision.HOLD
    assert decide(record, TRADE, 506, 14) == Decision.HOLD
    assert record["missing"] == 13


def test_continuity_verifies_the_book_not_the_statistics() -> None:
    sync, record = one()
    lose_units(sync, 9, REPORTS_IN_A_PACKET, 0)
    assert parts(record) == (BookStatus.UNVERIFIED, BookStatus.UNVERIFIED)
    assert decide(record, ORDER, 501, 10) == Decision.VERIFIED | Decision.APPLY
    assert parts(record) == (BookStatus.CLEAN, BookStatus.UNVERIFIED)
    assert decide(record, TRADE, 502, 10) == Decision.APPLY | Decision.HOLD


def test_statistics_do_not_verify_the_book() -> None:
    """A ChannelReset may be lost, and the book's updates wait for its EmptyBook (6.5.12)."""
    sync, record = one()
    lose_units(sync, 9, REPORTS_IN_A_PACKET, 0)
    assert decide(record, TRADE, 501, 10) == Decision.APPLY | Decision.HOLD
    assert decide(record, ORDER, 502, 11) == Decision.VERIFIED | Decision.APPLY


def test_few_reports_prove_nothing_then_or_later() -> None:
    """rptSeq may have started again and come to the same number within what was lost."""
    sync, record = one(last=REPORTS_IN_A_PACKET)
    lose_units(sync, 9, REPORTS_IN_A_PACKET, 0)
    for rpt_seq in range(REPORTS_IN_A_PACKET + 1, REPORTS_IN_A_PACKET + 100):
        decide(record, ORDER, rpt_seq, 10 + rpt_seq)
    assert record["book"] == BookStatus.UNVERIFIED


def test_losses_add_up() -> None:
    sync, record = one(last=3 * REPORTS_IN_A_PACKET)
    lose_units(sync, 9, 2 * REPORTS_IN_A_PACKET, 0)
    lose_units(sync, 12, REPORTS_IN_A_PACKET, 0)
    decide(record, ORDER, 3 * REPORTS_IN_A_PACKET + 1, 20)
    assert record["book"] == BookStatus.UNVERIFIED


def test_nobody_knows_how_many_were_lost() -> None:
    sync, record = one(last=1 << 31)
    lose_units(sync, 9, None, 0)
    decide(record, ORDER, (1 << 31) + 1, 10)
    assert record["book"] == BookStatus.UNVERIFIED
    assert record["bound"] == NEVER


def test_two_losses_of_which_nobody_knows_how_much_are_no_smaller_than_one() -> None:
    sync, record = one()
    for at in (9, 10, 11):
        lose_units(sync, at, None, 0)
        assert record["bound"] == NEVER
    assert decide(record, ORDER, 501, 12) == Decision.APPLY | Decision.HOLD
    assert parts(record)[0] is BookStatus.UNVERIFIED


def test_empty_book_heals_the_book_when_its_orders_are_told() -> None:
    """6.5.12 step 6, 6.5.13."""
    _, record = one(BookStatus.STALE, BookStatus.STALE)
    assert decide(record, EMPTY, 0, 10) == Decision.EMPTIED | Decision.APPLY | Decision.HOLD
    assert decide(record, ORDER, 1, 10, recovery=1) == Decision.APPLY
    assert parts(record) == (BookStatus.UNVERIFIED, BookStatus.STALE)
    assert decide(record, ORDER, 2, 11) == Decision.VERIFIED | Decision.HEALED | Decision.APPLY
    assert parts(record) == (BookStatus.CLEAN, BookStatus.STALE)
    assert decide(record, TRADE, 3, 11) == Decision.HOLD


def test_first_report_is_an_empty_book_that_was_lost() -> None:
    sync, record = one()
    lose_units(sync, 9, REPORTS_IN_A_PACKET, 0)
    outcome = decide(record, ORDER, 1, 10)
    assert outcome == Decision.EMPTIED | Decision.HEALED | Decision.APPLY
    assert parts(record) == (BookStatus.CLEAN, BookStatus.UNVERIFIED)


def test_a_first_report_without_a_loss_is_not_believed() -> None:
    _, record = one()
    assert decide(record, ORDER, 1, 10) & Decision.WENT_STALE


def test_after_a_channel_reset_reports_go_on_or_start_again() -> None:
    for rpt_seq in (1, 501):
        _, record = one()
        record["marks"] |= Mark.RESTART
        assert decide(record, TRADE, rpt_seq, 10) == Decision.APPLY
        assert decide(record, TRADE, rpt_seq + 1, 11) == Decision.APPLY
        assert decide(record, TRADE, 1, 12) & Decision.WENT_STALE


def test_what_a_snapshot_covers_is_skipped_and_its_loss_does_not_matter() -> None:
    sync, record = one()
    record["covered"] = 20
    assert decide(record, ORDER, 7, 20) == Decision.SKIP
    lose_units(sync, 20, 5 * REPORTS_IN_A_PACKET, 0)
    assert parts(record) == (BookStatus.CLEAN, BookStatus.CLEAN)
    lose_units(sync, 21, 5 * REPORTS_IN_A_PACKET, 0)
    assert parts(record) == (BookStatus.UNVERIFIED, BookStatus.UNVERIFIED)


def test_nobody_is_interested() -> None:
    _, record = one()
    record["marks"] |= Mark.IGNORED
    assert decide(record, ORDER, 9_999, 10) == Decision.SKIP
