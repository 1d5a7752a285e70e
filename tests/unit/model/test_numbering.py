"""One table numbers instruments; whoever keeps something of each follows it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.books.store import BookStore
from pregao.model.numbering import HASH_FACTOR, InstrumentNumbers
from pregao.recovery.policy import ChannelSettings
from pregao.recovery.table import InstrumentTable


def found_by_hash(numbering: InstrumentNumbers, security_id: int) -> int:
    """As kernels look, step by step."""
    mask = (1 << numbering.bits) - 1
    place = ((security_id * HASH_FACTOR) % (1 << 64)) >> (64 - numbering.bits)
    while numbering.lookup[place, 1] != 0:
        if numbering.lookup[place, 0] == security_id:
            return int(numbering.lookup[place, 1]) - 1
        place = (place + 1) & mask
    return -1


@given(st.lists(st.integers(-1, 1 << 62), max_size=400), st.integers(1, 300))
def test_every_way_to_look_finds_the_same(ids: list[int], most: int) -> None:
    numbering, told = InstrumentNumbers(most), []
    numbering.follow(told.append)
    for security_id in ids:
        numbering.add(security_id)
    kept = list(dict.fromkeys(ids))[:most]
    assert numbering.security_ids == kept
    assert told == list(range(len(kept)))
    expected = [kept.index(each) if each in kept else -1 for each in ids]
    assert [-1 if (number := numbering.get(each)) is None else number for each in ids] == expected
    assert [found_by_hash(numbering, each) for each in ids] == expected
    assert numbering.get_many(np.array(ids, np.int64)).tolist() == expected


def test_who_follows_late_is_told_of_those_before() -> None:
    numbering, told = InstrumentNumbers(5), []
    for security_id in (7, 8):
        numbering.add(security_id)
    numbering.follow(told.append)
    numbering.add(9)
    assert told == [0, 1, 2]


def test_books_and_what_is_known_of_them_have_the_same_numbers() -> None:
    numbering = InstrumentNumbers(200)
    table, store = InstrumentTable(ChannelSettings(instruments=200), numbering), BookStore(numbering)
    for security_id in range(1_000, 1_150):  # more than either has room for at first
        if security_id % 3:
            table.add(security_id, missing=5)
        else:
            store.add_instrument(security_id)
    assert len(table) == len(store) == 150
    for number, security_id in enumerate(table.security_ids):
        assert table.find(security_id) == store.number(security_id) == number
        assert store.security_id(number) == security_id
    assert table.unclean_count == 150
    table.check_invariants()
    store.check_invariants()
