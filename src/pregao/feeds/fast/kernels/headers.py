"""Datagrams of whole messages to the columns of `model.packets`. The plain twin is
`headers.FastHeaders.split`.

What is not ordinary is left to it: chunks, damage, resets, templates of an unusual shape, and messages that
may be of another epoch than their feed is in. All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.feeds.fast.epochs import BEGIN_NS, EPOCH, FEED_SIZE, FEEDS, HIGHEST, HIGHEST_NS, IS_HEARD
from pregao.feeds.fast.heads import HEARTBEAT, LOW_TEMPLATES, MARK, NUMBERS, RESET
from pregao.feeds.fast.identity import UNKNOWN_MARK
from pregao.feeds.fast.kernels.times import NO_TIME, ns_of
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_32, store_64
from pregao.model.packets import NO_NEXT

CONTEXT_FIELDS = (
    "shapes",  # of templates: see `heads`
    "epochs",  # of feeds: see `epochs`
    "channel",
    "day",  # a date as YYYYMMDD, and its first nanosecond
    "day_ns",
)
SHAPES, EPOCHS, CHANNEL, DAY, DAY_NS = range(0, 8 * len(CONTEXT_FIELDS), 8)

HEADER_SIZE = 10
_WHOLE = 0x01000100  # NoChunks 1, CurrentChunk 1, as they lie in memory
ODD = -1
RESETS_TEMPLATE = 81  # of 35=X, for resets alone


@inlined
def _big_32(at):
    value = load_u32(at, 0)
    return (value & 0xFF) << 24 | (value & 0xFF00) << 8 | value >> 8 & 0xFF00 | value >> 24


@inlined
def _integer(at, end):
    """A stop bit integer of up to nine bytes: (value, behind it); behind is 0 where there is none."""
    value, last = 0, min(end, at + 9)
    while at < last:
        byte = load_u8(at, 0)
        value = value << 7 | byte & 0x7F
        at += 1
        if byte & 0x80:
            return value, at
    return 0, 0


@inlined
def _template(at, end):
    """The template that a message begins with; ODD: it says none."""
    if at >= end or load_u8(at, 0) & 0x40 == 0:
        return ODD
    while load_u8(at, 0) & 0x80 == 0:
        at += 1
        if at >= end:
            return ODD
    template, at = _integer(at + 1, end)
    return template if at != 0 else ODD


@inlined
def _head(context, at, end):
    """(shape or ODD, MsgSeqNum, SendingTime in nanoseconds) of a message."""
    if load_u8(at, 0) & 0x40 == 0:
        return ODD, 0, 0
    while load_u8(at, 0) & 0x80 == 0:
        at += 1
        if at >= end:
            return ODD, 0, 0
    template, at = _integer(at + 1, end)
    if at == 0 or template >= LOW_TEMPLATES:
        return ODD, 0, 0
    shape = load_i64(load_i64(context, SHAPES), template * 8)
    if shape & ~MARK != NUMBERS or shape & MARK == RESET:
        return ODD, 0, 0
    number, at = _integer(at, end)
    if at == 0:
        return ODD, 0, 0
    time, at = _integer(at, end)
    if at == 0:
        return ODD, 0, 0
    return shape, number, ns_of(context + DAY, time)


@inlined
def _is_ordinary(epochs, feed, number, sent_ns):
    """Whether a message is of the epoch that its feed is in, for certain."""
    own = epochs + feed * FEED_SIZE
    if load_i64(own, IS_HEARD) == 0 or load_i64(own, EPOCH) != load_i64(epochs, FEEDS * FEED_SIZE + EPOCH):
        return False
    if sent_ns <= load_i64(own, BEGIN_NS):
        return False
    if number > load_i64(own, HIGHEST):
        store_64(own, HIGHEST, number)
        store_64(own, HIGHEST_NS, sent_ns)
        return True
    return sent_ns <= load_i64(own, HIGHEST_NS)


@kernel
def read_datagrams(
    context, base, packets_at, sizes, chosen, sources, feeds, first, count, made,
    rows, channels, epochs, numbers, offsets, lengths, sent, nexts,
):  # fmt: skip
    """Datagrams `first` to `count` of those that `chosen` lists (0: of all), as units from `made` on:
    (datagram that is not ordinary, or `count`; units made before it)."""
    states = load_i64(context, EPOCHS)
    for i in range(first, count):
        row = load_u32(chosen, i * 4) if chosen else i
        at = base + load_i64(packets_at, row * 8)
        end = at + load_u32(sizes, row * 4)
        feed = load_u8(feeds, load_u16(sources, row * 2)) if feeds else 1
        before = made
        if at == end:
            return i, before
        while at < end:
            if end - at <= HEADER_SIZE or load_u32(at, 4) != _WHOLE:
                return i, before
            number, size = _big_32(at), load_u8(at, 8) << 8 | load_u8(at, 9)
            message = at + HEADER_SIZE
            at = message + size
            if size == 0 or at > end:
                return i, before
            shape, inside, sent_ns = _head(context, message, at)
            if shape == ODD or inside != number or sent_ns == NO_TIME:
                return i, before
            if not _is_ordinary(states, feed, number, sent_ns):
                return i, before
            store_32(rows, made * 4, row)
            store_64(channels, made * 8, load_i64(context, CHANNEL))
            store_64(epochs, made * 8, load_i64(states, feed * FEED_SIZE + EPOCH))
            store_64(numbers, made * 8, number)
            store_64(offsets, made * 8, message - base)
            store_32(lengths, made * 4, size)
            store_64(sent, made * 8, sent_ns)
            store_64(nexts, made * 8, number + 1 if shape & MARK == HEARTBEAT else NO_NEXT)
            made += 1
    return count, made


@kernel
def look_at_messages(shapes, concerns_all, base, places, sizes, count, seen, noted):
    """What messages are: `seen` gets a 1 for each of their marks; those that concern a whole day (by mark, or
    by the template of resets) are listed in `noted`: how many."""
    found = 0
    for i in range(count):
        at = base + load_i64(places, i * 8)
        mark, template = UNKNOWN_MARK, _template(at, at + load_u32(sizes, i * 4))
        if 0 <= template < LOW_TEMPLATES:
            shape = load_i64(shapes, template * 8)
            if shape != 0:
                mark = shape & MARK
        store_8(seen, mark, 1)
        if load_u8(concerns_all, mark) != 0 or template == RESETS_TEMPLATE:
            store_64(noted, found * 8, i)
            found += 1
    return found


@kernel
def most_units(sizes, chosen, count):
    """How many messages so many datagrams can have."""
    most = 0
    for i in range(count):
        most += load_u32(sizes, (load_u32(chosen, i * 4) if chosen else i) * 4) // (HEADER_SIZE + 1) + 1
    return most
