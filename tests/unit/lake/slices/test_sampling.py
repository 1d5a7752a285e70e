"""Price levels at the end of each second, against a plain account of what changed in which second."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.books.store import BookStore
from pregao.feeds.binary.system import REPORTS_IN_A_PACKET
from pregao.lake.plan.slicing import FROM_FIRST, TO_LAST, Slice
from pregao.lake.slices import made_rows as samples_module
from pregao.lake.slices.feeds import Merged
from pregao.lake.slices.kernels.merging import MERGED_FIELDS
from pregao.lake.slices.kernels.sampling import note_change
from pregao.lake.slices.known import KnownInstruments
from pregao.lake.slices.made_rows import SECOND_NS, Samples
from pregao.model.rows import ROW, Kind

INSTRUMENTS = 4
# A packet: nanoseconds after the one before it, numbers skipped before it, and whose books it changes.
STEP = st.sampled_from([0, 1, SECOND_NS - 1, SECOND_NS, SECOND_NS // 2, 3 * SECOND_NS, -1])
PACKET = st.tuples(STEP, st.integers(0, 2), st.sets(st.integers(0, INSTRUMENTS - 1), max_size=3))
PACKETS = st.lists(PACKET, max_size=25)
FIRST_NS = 10**18  # a whole second


def _merged(packets: list[Any]) -> Merged:
    count = len(packets)
    columns = {name: np.zeros(count, np.int64) for name in MERGED_FIELDS}
    columns["sent"] = np.cumsum([FIRST_NS, *(step for step, _, _ in packets)], dtype=np.int64)[1:]
    columns["place"] = np.cumsum([skipped + 1 for _, skipped, _ in packets], dtype=np.int64)
    return Merged(**columns, version=np.zeros(count, np.uint16), owners=[])


def _slice(start: int, stop: int) -> Slice:
    return Slice(84, "2026-11-16", 0, start, stop, -1, [1], {}, [], None, stop == TO_LAST)


def _plain(packets: list[Any], merged: Merged, slice_: Slice) -> list[tuple[int, int]]:
    """(packet, instrument): after the last packet of a second all that changed in it, once."""
    found, changed, latest = list[tuple[int, int]](), set[int](), 0
    for number, (_, _, books) in enumerate(packets):
        second = int(merged.sent[number]) // SECOND_NS
        if number and second > latest:
            found += [(number - 1, each) for each in sorted(changed)]
            changed = set()
        latest = max(latest, second)
        changed |= books
    if slice_.is_last and packets:
        found += [(len(packets) - 1, each) for each in sorted(changed)]
    return [each for each in found if slice_.start <= int(merged.place[each[0]]) < slice_.stop]


def _by_kernel(packets: list[Any], merged: Merged, slice_: Slice) -> list[list[int]]:
    store, known = BookStore(), KnownInstruments(REPORTS_IN_A_PACKET)
    for number in range(INSTRUMENTS):
        assert store.add_instrument(100 + number) == number
        known.add(number)
    samples = Samples(slice_, merged, store, known)
    for place, (_, _, books) in zip(merged.place.tolist(), packets, strict=True):
        samples.until(place)
        for number in sorted(books):
            note_change(samples.address, number)
    if packets:
        samples.until(int(merged.place[-1]) + 1)
    samples.end(merged)
    found: list[list[int]] = samples.taken().tolist()
    return found


@pytest.mark.parametrize("room", [1 << 10, 1])
@given(packets=PACKETS, data=st.data())
def test_samples_at_the_ends_of_seconds(room: int, packets: list[Any], data: Any) -> None:
    """Also when there is no room for all at once."""
    merged = _merged(packets)
    last = int(merged.place[-1]) + 1 if packets else 1
    start = data.draw(st.one_of(st.just(FROM_FIRST), st.integers(0, last)))
    stop = data.draw(st.one_of(st.just(TO_LAST), st.integers(max(start, 0), last)))
    slice_ = _slice(start, stop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples_module, "_FIRST_ROOM", room)
        found = _by_kernel(packets, merged, slice_)
    assert sorted((each[4], each[0]) for each in found) == _plain(packets, merged, slice_)
    assert all(each[1:4] == [1, 0, 0] for each in found)  # unknown, and nothing on either side


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 14), st.integers(1, 9)), max_size=40))
def test_ten_levels_of_each_side(orders: list[tuple[int, int, int]]) -> None:
    rows = np.zeros(len(orders), ROW)
    for number, (side, price, size) in enumerate(orders):
        rows[number]["kind"], rows[number]["side"], rows[number]["version"] = Kind.SNAPSHOT_ORDER, side, 16
        rows[number]["id"], rows[number]["price"], rows[number]["size"] = number + 1, price, size
    store, known, merged = BookStore(), KnownInstruments(REPORTS_IN_A_PACKET), _merged([(0, 0, {0})])
    store.add_instrument(100)
    store.load_snapshot(0, rows, statistics=False)
    samples = Samples(_slice(FROM_FIRST, TO_LAST), merged, store, known)
    note_change(samples.address, 0)
    samples.end(merged)
    (words,) = samples.taken().tolist()
    for which in (1, 2):
        prices = sorted({price for side, price, _ in orders if side == which}, reverse=which == 1)[:10]
        sizes = [[size for side, at, size in orders if (side, at) == (which, price)] for price in prices]
        start = 5 + 30 * (which - 1)
        assert words[1 + which] == len(prices)
        assert words[start : start + len(prices)] == prices
        assert words[start + 10 : start + 10 + len(prices)] == [sum(each) for each in sizes]
        assert words[start + 20 : start + 20 + len(prices)] == [len(each) for each in sizes]
