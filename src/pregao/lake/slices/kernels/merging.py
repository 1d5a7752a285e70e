"""Units of a stream to their places; feeds A and B by sequence number, both in order: one unit of each
number, with what each feed has of it. Of headers only what a system has read is known: `model.packets`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_64
from pregao.lake.plan.index import NUMBER_BITS
from pregao.model.rows import NULL

# What `place_units` makes of a unit: a column each.
PLACED_FIELDS = ("place", "ts", "sent", "address", "length", "state")
# What it knows of the stream: words of 64 bits, then its sequenceVersions and where each appears in the unit.
STREAM_FIELDS = ("flow", "channel", "first", "end", "after", "before", "versions", "reach")
FLOW, CHANNEL, FIRST, END, AFTER, BEFORE, VERSIONS, REACH, KNOWN = range(0, 8 * len(STREAM_FIELDS) + 8, 8)

MERGED_FIELDS = (
    "place", "address", "length", "sent", "recv_a", "recv_b", "state_a", "state_b", "copies_a", "copies_b",
)  # fmt: skip
PLACE, TS, SENT, ADDRESS, LENGTH, STATE, COPIES = range(7)
FEED_FIELDS = 7
# States: what becomes words later.
ABSENT, LATE, CONFLICT, SECOND = 1, 2, 4, 8


@inlined
def _version_number(stream, version):
    """Which of the stream's it is; -1: none."""
    for number in range(load_i64(stream, VERSIONS)):
        if load_i64(stream, KNOWN + number * 16) == version:
            return number
    return -1


@kernel
def place_units(
    ts, flows, rows, channels, epochs, numbers, addresses, lengths, sent, count, stream, out, done
):  # fmt: skip
    """Units of a piece that are of the stream, with keys from `first` to before `end` and places above
    `after` and below `before`: written to columns from row `done` on; how many rows there are then.

    `ts` and `flows` are of packets, which `rows` number; the others are of units. A number below 1 is no part
    of a sequence."""
    wanted_flow, channel = load_i64(stream, FLOW), load_i64(stream, CHANNEL)
    first, end = load_i64(stream, FIRST), load_i64(stream, END)
    after, before = load_i64(stream, AFTER), load_i64(stream, BEFORE)
    reach, known, number_of_known = load_i64(stream, REACH), -1, -1
    for i in range(count):
        number, packet = load_i64(numbers, i * 8), load_u32(rows, i * 4)
        if number < 1 or load_i64(flows, packet * 8) != wanted_flow or load_i64(channels, i * 8) != channel:
            continue
        version = load_i64(epochs, i * 8)
        if version != known:
            known, number_of_known = version, _version_number(stream, version)
        key = number_of_known << NUMBER_BITS | number
        if number_of_known < 0 or key < first or key >= end:
            continue
        place = load_i64(stream, KNOWN + number_of_known * 16 + 8) << NUMBER_BITS | number
        is_late = place < reach
        reach = max(reach, place)
        if place <= after or place >= before:
            continue
        _put(out, 0, done, place)
        _put(out, 1, done, load_i64(ts, packet * 8))
        _put(out, 2, done, load_i64(sent, i * 8))
        _put(out, 3, done, load_i64(addresses, i * 8))
        _put(out, 4, done, load_u32(lengths, i * 4))
        _put(out, 5, done, LATE if is_late else 0)
        done += 1
    store_64(stream, REACH, reach)
    return done


@inlined
def _get(columns, field, row):
    return load_i64(load_i64(columns, field * 8), row * 8)


@inlined
def _put(out, field, row, value):
    store_64(load_i64(out, field * 8), row * 8, value)


@inlined
def _same_messages(one, other, size, own_bytes):
    """Two units of one size. A and B promise the same messages; of the first bytes some may be each feed's
    own, and all else of them is what they were found by (`recovery.policy`)."""
    at = own_bytes
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
def _copies(columns, row):
    return 1 if load_i64(columns, COPIES * 8) == 0 else _get(columns, COPIES, row)


@inlined
def _packet(out, row, columns, at):
    _put(out, 0, row, _get(columns, PLACE, at))
    _put(out, 1, row, _get(columns, ADDRESS, at))
    _put(out, 2, row, _get(columns, LENGTH, at))
    _put(out, 3, row, _get(columns, SENT, at))


@kernel
def merge_feeds(columns, count_a, count_b, out, one_clock, own_bytes):
    """`columns` has the addresses of the columns of A, then of B; how many units there are. Where there
    is no column of copies each came once.

    Which came first is only known with one clock; otherwise it is A. The packet itself, with its
    SendingTime, is always that of A where A has it: so it does not depend on clocks."""
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
            one, other = _get(columns, ADDRESS, a), _get(feed_b, ADDRESS, b)
            if not same or not _same_messages(one, other, length, own_bytes):
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
        _put(out, 8, row, _copies(columns, a) if has_a else 0)
        _put(out, 9, row, _copies(feed_b, b) if has_b else 0)
        a += has_a
        b += has_b
        row += 1
    return row
