"""Latencies of packets counted in slots, for `lake.latency_histograms`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import inlined, kernel, load_i64, store_64
from pregao.model.rows import NULL

WAYS = 3  # event to send, send to receive, behind the other feed
KEPT_BITS = 10
MOST_DROPPED = 10  # a microsecond: clocks that differ by seconds must not hide how long the way is
SLOTS = 2 << KEPT_BITS  # values of so many bits, and their negatives
ROOM = (MOST_DROPPED + 1) * SLOTS  # for each number of bits that can be dropped
FAR = (1 << 63) - 1

COLUMNS = ("ts_send", "ts_event", "received", "other", "seq_version", "seq_num", "quality")
SENT, EVENT, RECEIVED, OTHER, VERSION, NUMBER, QUALITY_OF = range(0, 8 * len(COLUMNS), 8)
# What is found beside the counts: words of 64 bits, the last three a word for each way.
FIGURES = ("packets", "quality", "shortest", "other_shortest", "last")
PACKETS, QUALITY, SHORTEST, OTHER_SHORTEST, LAST = range(len(FIGURES))
MOST = len(FIGURES)
USED = MOST + WAYS  # how many slots
LARGE = USED + WAYS  # how many values that have no slot
FIGURE_WORDS = LARGE + WAYS


@inlined
def _bits(value):
    """How many a number without sign has."""
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> step:
            bits += step
            value >>= step
    return bits + (value > 0)


@inlined
def _count(slots, used, figures, large, room, way, value):
    """One more of the slot of a value; a slot that is used for the first time is noted, and so are values
    that are too large to have one. There is `room` for as many as there are packets."""
    if value > load_i64(figures, (MOST + way) * 8):
        store_64(figures, (MOST + way) * 8, value)
    dropped = max(_bits(abs(value)) - KEPT_BITS, 0)
    if dropped > MOST_DROPPED:
        noted = load_i64(figures, (LARGE + way) * 8)
        store_64(large, (way * room + noted) * 8, value)
        store_64(figures, (LARGE + way) * 8, noted + 1)
        return
    slot = dropped * SLOTS + (value >> dropped) + SLOTS // 2
    counter = slots + (way * ROOM + slot) * 8
    count = load_i64(counter, 0)
    if count == 0:
        noted = load_i64(figures, (USED + way) * 8)
        store_64(used, (way * ROOM + noted) * 8, slot)
        store_64(figures, (USED + way) * 8, noted + 1)
    store_64(counter, 0, count + 1)


@inlined
def _at(columns, column, row):
    return load_i64(load_i64(columns, column), row * 8)


@inlined
def _is_later(columns, row, other):
    for column in (SENT, VERSION, NUMBER):
        mine, theirs = _at(columns, column, row), _at(columns, column, other)
        if mine != theirs:
            return mine > theirs
    return True


@kernel
def count_latencies(columns, first, stop, slots, used, figures, large):
    """Packets from `first` to before `stop`, as one feed received them; those that it did not are left out.
    `last` is the one that was sent last, of equal ones the later."""
    room = stop - first
    packets, quality, shortest, other_shortest, last = 0, 0, FAR, FAR, -1
    for row in range(first, stop):
        received = _at(columns, RECEIVED, row)
        if received == NULL:
            continue
        sent, event, other = _at(columns, SENT, row), _at(columns, EVENT, row), _at(columns, OTHER, row)
        if event != NULL:
            _count(slots, used, figures, large, room, 0, sent - event)
        _count(slots, used, figures, large, room, 1, received - sent)
        if other != NULL:
            _count(slots, used, figures, large, room, 2, received - other)
            shortest = min(shortest, received - sent)
            other_shortest = min(other_shortest, other - sent)
        packets += 1
        quality |= _at(columns, QUALITY_OF, row)
        if last < 0 or _is_later(columns, row, last):
            last = row
    store_64(figures, PACKETS * 8, packets)
    store_64(figures, QUALITY * 8, quality)
    store_64(figures, SHORTEST * 8, shortest)
    store_64(figures, OTHER_SHORTEST * 8, other_shortest)
    store_64(figures, LAST * 8, last)
