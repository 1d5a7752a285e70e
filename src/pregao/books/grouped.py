"""`apply_grouped`: rows onto a store, one instrument after the other."""

import numpy as np

from pregao.books import layout as t
from pregao.books.grouping import kernels
from pregao.books.memory import address
from pregao.books.store import BookStore
from pregao.model.rows import ROW, Flag, Rows

BATCH = 1 << 16  # rows that stay near while they are gone through in another order (8 MB)


def apply_grouped(store: BookStore, rows: Rows, first: int = 0) -> tuple[int, int]:
    """As `store.apply`: the same books, and the same quotes with those of an instrument together (sort
    them by `at`, `packet`, `index` for the order of the stream). A group's phase that a row tells (14) is
    not reported, for it would not be in order."""
    assert rows.dtype == ROW
    assert rows.flags.c_contiguous
    while True:
        code, first = _apply_batch(store, rows[: first + BATCH], first)
        if code == t.SPECIAL or first == len(rows):
            return code, first


def _apply_batch(store: BookStore, rows: Rows, first: int) -> tuple[int, int]:
    if store.has_touched:  # an event that began before: to its end in the order of the stream
        ends = np.flatnonzero(rows["flags"][first:] & Flag.END_OF_EVENT)
        until = first + int(ends[0]) + 1 if len(ends) else len(rows)
        code, first = store.apply(rows[:until], first)
        if code == t.SPECIAL or first == len(rows):
            return code, first
    found, order, ends_of = (np.empty(len(rows), np.uint32) for _ in range(3))
    code, until, counts = _find(store, rows, first, found)
    kernels.order_rows(
        address(rows), first, until, address(found), address(counts), len(store), address(order),
        address(ends_of),
    )  # fmt: skip
    done, count = 0, until - first
    while done < count:
        said, done = kernels.apply_grouped(
            store.context, address(rows), address(order), address(found), address(ends_of), done, count
        )
        store.make_room(said)
    return code, until


def _find(store: BookStore, rows: Rows, first: int, found: np.ndarray) -> tuple[int, int, np.ndarray]:
    """The instrument of each row up to a special one; those that are not known are added."""
    counts = np.zeros(len(store) + 2, np.uint32)
    while True:
        code, at = kernels.find_rows(
            store.context, address(rows), first, len(rows), address(found), address(counts)
        )
        if code != t.UNKNOWN_INSTRUMENT:
            return code, at, counts
        store.add_or_skip(int(rows[at]["security_id"]))
        counts = np.append(counts, np.zeros(len(store) + 2 - len(counts), np.uint32))
        first = at
