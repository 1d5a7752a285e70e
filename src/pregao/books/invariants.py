"""What must always hold in the memory of a `BookStore`: for tests, and for whoever doubts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pregao.books import layout as t
from pregao.books.memory import BookMemory
from pregao.books.views import MAX_LEVELS, MAX_SIZE

_MASK = (1 << 64) - 1


def check_store(memory: BookMemory, count: int) -> None:
    """Every side is consistent, every block is used once or free once, and nothing is lost."""
    blocks = _free_blocks(memory)
    held = 0
    headers = memory.headers[: count * t.HEADER_SIZE].reshape(count, t.HEADER_SIZE)
    for header in headers:
        for number in range(2):
            side = header[number * t.SIDE_SIZE : (number + 1) * t.SIDE_SIZE].view(t.SIDE)[0]
            held += int(side["orders"])
            _check_side(memory, side, 1 if number == 0 else -1, bool(header[t.SUSPECT]))
            if side["orders_at"]:
                blocks.append((int(side["orders_at"]), t.ORDERS_BLOCK << int(side["orders_class"])))
            if side["levels_at"]:
                blocks.append((int(side["levels_at"]), t.LEVELS_BLOCK << int(side["levels_class"])))
        statistics = int(header[t.STATISTICS_AT : t.STATISTICS_AT + 4].view(np.uint32)[0])
        if statistics:
            blocks.append((statistics, t.STATISTICS_BLOCK))
        blocks += _stream_blocks(memory, header)
    assert held == memory.get(t.ORDERS_HELD), "orders are counted"
    at = t.LINE
    for start, size in sorted(blocks):
        assert start * t.LINE == at, "blocks lie one after the other, without a hole or an overlap"
        at += size
    assert at == memory.get(t.ARENA_USED)


def _free_blocks(memory: BookMemory) -> list[tuple[int, int]]:
    free: list[tuple[int, int]] = []
    lists = [(t.FREE_ORDERS + 8 * each, t.ORDERS_BLOCK << each) for each in range(t.CLASSES)]
    lists += [(t.FREE_LEVELS + 8 * each, t.LEVELS_BLOCK << each) for each in range(t.CLASSES)]
    lists += [(t.FREE_STATISTICS, t.STATISTICS_BLOCK), (t.FREE_STREAMS, t.STREAM_BLOCK)]
    for head, size in lists:
        at = memory.get(head)
        while at:
            free.append((at, size))
            at = int(memory.arena[at * t.LINE : at * t.LINE + 8].view(np.int64)[0])
    return free


def _stream_blocks(memory: BookMemory, header: NDArray[Any]) -> list[tuple[int, int]]:
    blocks: list[tuple[int, int]] = []
    streams: list[int] = []
    at = int(header[t.STREAMS_AT : t.STREAMS_AT + 4].view(np.uint32)[0])
    while at:
        blocks.append((at, t.STREAM_BLOCK))
        head = memory.arena[at * t.LINE : (at + 1) * t.LINE]
        streams.append(int(head[t.STREAM_NUMBER]))
        at = int(head[t.STREAM_NEXT : t.STREAM_NEXT + 4].view(np.uint32)[0])
    assert 0 not in streams
    assert len(set(streams)) == len(streams), "each stream once"
    return blocks


def _block(memory: BookMemory, at: int, kind: np.dtype[Any], count: int) -> NDArray[Any]:
    return memory.arena[at * t.LINE : at * t.LINE + count * kind.itemsize].view(kind)


def _check_side(memory: BookMemory, side: NDArray[Any], sign: int, suspect: bool) -> None:
    count, capacity = int(side["orders"]), t.FIRST_CAPACITY << int(side["orders_class"])
    levels = _block(memory, int(side["levels_at"]), t.LEVEL, int(side["levels"]))
    if side["policy"] == t.BY_LEVEL:
        assert not count
        assert not side["orders_at"]
        assert len(levels) <= (int(side["depth"]) or MAX_LEVELS)
        assert (levels["size"] >= 0).all()
        assert (levels["size"] <= MAX_SIZE).all()
        assert suspect or (np.diff(levels["key"].astype(object)) > 0).all(), "levels rise to the best"
        return
    if side["policy"] == t.BY_RATE:
        sign = -sign
    if side["policy"] in (t.BY_POSITION, t.BY_RATE):
        orders = _block(memory, int(side["orders_at"]), t.SLOT, count)
    else:
        table = _block(memory, int(side["orders_at"]), t.SLOT, capacity if side["orders_at"] else 0)
        orders = table[table["flags"] != 0]
        assert 4 * count <= 3 * capacity
        _check_table(table)
    assert len(orders) == count
    assert (orders["flags"] & t.SLOT_USED).all()
    assert (np.diff(levels["key"].astype(object)) > 0).all(), "levels rise to the best, each price once"
    keys, places = np.unique(orders["price"] * sign - 1, return_inverse=True)
    assert (keys == levels["key"]).all()
    assert (np.bincount(places, minlength=len(keys)) == levels["orders"]).all()
    sums = np.zeros(len(keys), np.int64)
    np.add.at(sums, places, orders["size"])
    assert (sums == levels["size"]).all()


def _check_table(table: NDArray[Any]) -> None:
    """Every order is found: no empty slot lies between its own place and where it is."""
    mask = len(table) - 1
    bits = mask.bit_length()
    used = table["flags"] != 0
    ids = table["id"][used]
    assert len(np.unique(ids)) == len(ids)
    for place in np.flatnonzero(used).tolist():
        home = ((int(table["id"][place]) * t.HASH_FACTOR) & _MASK) >> (64 - bits)
        while home != place:
            assert used[home]
            home = (home + 1) & mask
