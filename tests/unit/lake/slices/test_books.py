"""Whether a snapshot tells the book that is there, and what a book told in mid-event: against plain lists."""

from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.books.store import BookStore
from pregao.books.views import Level
from pregao.lake.slices.kernels.books import settle_one
from pregao.lake.slices.kernels.snapshots import same_book
from pregao.model.market import Side
from pregao.model.rows import NULL, ROW, Flag, Kind, Rows

Entry = tuple[
    int, int, int | None, int, int | None, int, bool
]  # side, id, price, size, inserted, firm, implied
ENTRY = st.tuples(
    st.integers(1, 2), st.integers(1, 6), st.one_of(st.none(), st.integers(1, 3)), st.integers(1, 3),
    st.one_of(st.none(), st.integers(1, 2)), st.integers(0, 2), st.booleans(),
)  # fmt: skip
ENTRIES = st.lists(ENTRY, max_size=8, unique_by=lambda entry: entry[1])
POLICIES = pytest.mark.parametrize("policy", [Flag.BY_POSITION, Flag(0)])


def _rows(entries: list[Entry], policy: Flag) -> Rows:
    rows = np.zeros(len(entries), ROW)
    places = {1: 0, 2: 0}
    for row, (side, order_id, price, size, inserted, firm, implied) in zip(rows, entries, strict=True):
        places[side] += 1
        row["kind"], row["side"], row["id"] = Kind.SNAPSHOT_ORDER, side, order_id
        row["price"], row["size"] = NULL if price is None else price, size
        row["inserted_ns"] = NULL if inserted is None else inserted
        row["firm"], row["position"] = firm, places[side]
        row["flags"] = policy | Flag.IMPLIED if implied else policy
    return rows


def _loaded(entries: list[Entry], policy: Flag) -> tuple[BookStore, int]:
    store = BookStore()
    number = store.add_instrument(7)
    assert number is not None
    store.load_snapshot(number, _rows(entries, policy), statistics=False)
    return store, number


def _same(held: list[Entry], told: list[Entry], policy: Flag) -> bool:
    """By price the order of a snapshot is not asked for: prices and ids have it."""
    if Flag.BY_POSITION not in policy:
        return _alike(sorted(held, key=itemgetter(1)), sorted(told, key=itemgetter(1)))
    return all(
        _alike([e for e in held if e[0] == side], [e for e in told if e[0] == side]) for side in (1, 2)
    )


def _alike(held: list[Entry], told: list[Entry]) -> bool:
    """When an order came may be known to one of them only."""
    if len(held) != len(told):
        return False
    for one, other in zip(held, told, strict=True):
        times = {one[4], other[4]} - {None}
        if (*one[:4], *one[5:]) != (*other[:4], *other[5:]) or len(times) > 1:
            return False
    return True


def _compare(held: list[Entry], told: list[Entry], policy: Flag) -> bool:
    store, number = _loaded(held, policy)
    rows = _rows(told, policy)
    found = bool(same_book(store.context, number, rows.ctypes.data, len(rows)))
    assert found == _same(held, told, policy)
    return found


@POLICIES
@given(held=ENTRIES, data=st.data())
def test_a_snapshot_that_differs_in_one_thing(policy: Flag, held: list[Entry], data: Any) -> None:
    told = list(held)
    what = data.draw(st.sampled_from(["nothing", "order", "one less", "one more", "one field"]))
    if what == "order":
        told = data.draw(st.permutations(held))
    elif what == "one less" and told:
        del told[data.draw(st.integers(0, len(told) - 1))]
    elif what == "one more":
        made = data.draw(ENTRY)
        told.append((made[0], 99, *made[2:]))
    elif what == "one field" and told:
        place, field = data.draw(st.integers(0, len(told) - 1)), data.draw(st.integers(0, 6))
        changed = list(told[place])
        changed[field] = data.draw(ENTRY)[field]
        told[place] = tuple(changed)  # type: ignore[assignment]
    if len({entry[1] for entry in told}) == len(told):
        assert _compare(held, told, policy) or what != "nothing"


@POLICIES
@given(held=ENTRIES, told=ENTRIES)
def test_any_two_books(policy: Flag, held: list[Entry], told: list[Entry]) -> None:
    _compare(held, told, policy)


LEVEL = st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))


def _levels(levels: list[tuple[int, ...]]) -> Rows:
    """Side, price, size and orders of each, best first."""
    rows = np.zeros(len(levels), ROW)
    places = {1: 0, 2: 0}
    for row, (side, price, size, orders) in zip(rows, levels, strict=True):
        places[side] += 1
        row["kind"], row["side"], row["price"], row["size"] = Kind.SNAPSHOT_LEVEL, side, price, size
        row["firm"], row["position"] = orders, places[side]
    return rows


@given(held=st.lists(LEVEL, max_size=4), told=st.lists(LEVEL, max_size=4), equal=st.booleans())
def test_any_two_books_of_levels(
    held: list[tuple[int, ...]], told: list[tuple[int, ...]], equal: bool
) -> None:
    """Orders that are not told are one: a level without orders is none."""
    told = held if equal else told
    store = BookStore(depth=5)
    number = store.add_instrument(7)
    assert number is not None
    store.load_snapshot(number, _levels(held), statistics=False)
    rows = _levels(told)
    found = bool(same_book(store.context, number, rows.ctypes.data, len(rows)))
    sides = [[[(*level[1:3], max(level[3], 1)) for level in each if level[0] == side] for side in (1, 2)]
             for each in (held, told)]  # fmt: skip
    assert found == (sides[0] == sides[1])


@pytest.mark.parametrize("side", [0, 3, 255])
def test_an_order_of_no_side_is_of_no_book(side: int) -> None:
    entry = (1, 1, 5, 1, 1, 1, False)
    store, number = _loaded([entry], 16)
    rows = _rows([entry], 16)
    rows["side"] = side
    assert not same_book(store.context, number, rows.ctypes.data, 1)


@POLICIES
@given(books=st.lists(ENTRIES, min_size=1, max_size=4))
def test_sides_whose_best_is_another(policy: Flag, books: list[list[Entry]]) -> None:
    """Each book against the one before it; asked twice, nothing has changed."""
    store, number = _loaded([], policy)
    before = store.top(number)
    for entries in books:
        store.load_snapshot(number, _rows(entries, policy), statistics=False)
        top = store.top(number)
        expected = (top.bid != before.bid) + 2 * (top.offer != before.offer)
        assert settle_one(store.context, number) == expected
        assert settle_one(store.context, number) == 0
        assert top.bid == _best(entries, Side.BUY)
        before = top


def _best(entries: list[Entry], side: Side) -> Any:
    """Orders without a price are before all others (12.1)."""
    mine = [entry for entry in entries if entry[0] == side]
    if not mine:
        return None
    prices = [entry[2] for entry in mine]
    best = None if None in prices else max(price for price in prices if price is not None)
    sizes = [entry[3] for entry in mine if entry[2] == best]
    return Level(best, sum(sizes), len(sizes))
