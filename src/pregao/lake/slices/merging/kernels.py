"""Feeds A and B by sequence number, both in order: one packet of each number, with what each feed has of it.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import inlined, kernel, load_i64, load_u8, store_64
from pregao.model.rows import NULL

MERGED_FIELDS = (
    "place", "address", "length", "sent", "recv_a", "recv_b", "state_a", "state_b", "copies_a", "copies_b",
)  # fmt: skip
PLACE, TS, SENT, ADDRESS, LENGTH, STATE, COPIES = range(7)
FEED_FIELDS = 7
# States: what becomes words later.
ABSENT, LATE, CONFLICT, SECOND = 1, 2, 4, 8


@inlined
def _get(columns, field, row):
    return load_i64(load_i64(columns, field * 8), row * 8)


@inlined
def _put(out, field, row, value):
    store_64(load_i64(out, field * 8), row * 8, value)


@inlined
def _same(one, other, size):
    at = 0
    while at + 8 <= size:
        if load_i64(one, at) != load_i64(other, at):
            return False
        at += 8
    while at < size:
        if load_u8(one, at) != load_u8(other, at):
            return False
        at += 1
    return True


@inlined
def _packet(out, row, columns, at):
    _put(out, 0, row, _get(columns, PLACE, at))
    _put(out, 1, row, _get(columns, ADDRESS, at))
    _put(out, 2, row, _get(columns, LENGTH, at))
    _put(out, 3, row, _get(columns, SENT, at))


@kernel
def merge_feeds(columns, count_a, count_b, out, one_clock):
    """`columns` has the addresses of the columns of A, then of B; how many packets there are.

    Which came first is only known with one clock; otherwise it is A."""
    feed_b = columns + FEED_FIELDS * 8
    a, b, row = 0, 0, 0
    while a < count_a or b < count_b:
        place_a = _get(columns, PLACE, a) if a < count_a else (1 << 62)
        place_b = _get(feed_b, PLACE, b) if b < count_b else (1 << 62)
        has_a, has_b = place_a <= place_b, place_b <= place_a
        if has_a:
            _packet(out, row, columns, a)
        else:
            _packet(out, row, feed_b, b)
        state_a = _get(columns, STATE, a) if has_a else ABSENT
        state_b = _get(feed_b, STATE, b) if has_b else ABSENT
        if has_a and has_b:
            length = _get(columns, LENGTH, a)
            same = length == _get(feed_b, LENGTH, b)
            if not same or not _same(_get(columns, ADDRESS, a), _get(feed_b, ADDRESS, b), length):
                state_a |= CONFLICT
                state_b |= CONFLICT
            if one_clock and _get(feed_b, TS, b) < _get(columns, TS, a):
                state_a |= SECOND
            else:
                state_b |= SECOND
        _put(out, 4, row, _get(columns, TS, a) if has_a else NULL)
        _put(out, 5, row, _get(feed_b, TS, b) if has_b else NULL)
        _put(out, 6, row, state_a)
        _put(out, 7, row, state_b)
        _put(out, 8, row, _get(columns, COPIES, a) if has_a else 0)
        _put(out, 9, row, _get(feed_b, COPIES, b) if has_b else 0)
        a += has_a
        b += has_b
        row += 1
    return row
