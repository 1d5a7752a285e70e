"""Rows, samples and what is known of packets to columns, in one pass over memory and not one for each."""

from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    prefetch,
    store_8,
    store_16,
    store_32,
    store_64,
)
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK
from pregao.lake.slices.kernels.sampling import HEAD_WORDS, LEVELS, SAMPLE_SIZE, SIDE_WORDS
from pregao.lake.slices.known import NO_PACKET
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.ledger import EVENT_TIME_KINDS
from pregao.lake.tables.types import DECIMAL_DIGITS
from pregao.model.rows import NULL

AHEAD = 12  # rows that are asked for before they are needed
LIMIT = 10**DECIMAL_DIGITS
FIELD_SIZE = 24  # of a plan: offset in the row, width, address of the column

# What `trace` is given for each row, and what it makes: addresses of columns.
TRACE_FIELDS = (
    "packet", "at", "time_ns", "kind", "version",  # of the rows
    "sent", "recv_a", "recv_b", "differs",  # by packet
    "versions", "times",  # sequenceVersions by appearance; by kind, whose time it tells: see below
    "ts_send", "ts_recv_a", "ts_recv_b", "ts_event", "time", "ts_event_kind", "seq_version", "seq_num",
    "quality",
    "transacts_from",  # version of messages from which orders and trades tell transactTime
)  # fmt: skip
(
    PACKET, AT, TIME, KIND, VERSION, SENT, RECV_A, RECV_B, DIFFERS, VERSIONS, TIMES, TS_SEND, TS_RECV_A,
    TS_RECV_B, TS_EVENT, MOMENT, TS_KIND, SEQ_VERSION, SEQ_NUM, QUALITY, TRANSACTS_FROM,
) = range(0, 8 * len(TRACE_FIELDS), 8)  # fmt: skip
ENTRY, TRANSACT, SEND = map(EVENT_TIME_KINDS.index, ("ENTRY", "TRANSACT", "SEND"))
BY_VERSION = 255  # in `times`: TRANSACT from the wire version on that tells it, ENTRY before
FEEDS_DIFFER = int(Quality.FEEDS_DIFFER)


@kernel
def sort_by_rank(numbers, number_step, times, time_step, count, ranks, rank_count, starts, order):
    """The order of rows by the rank of their number; what has the same rank stays as it is. Numbers (the
    lowest 32 bits) and times lie so many bytes apart. `starts` has a word for each rank and one more, all 0,
    then a word for the last time of each. Whether what has one rank is in the order of time, too, as far as
    it tells one."""
    lasts = starts + 8 * (rank_count + 1)
    for i in range(count):
        rank = load_i64(ranks, load_u32(numbers, i * number_step) * 8)
        store_64(starts, (rank + 1) * 8, load_i64(starts, (rank + 1) * 8) + 1)
    for rank in range(rank_count):
        store_64(starts, (rank + 1) * 8, load_i64(starts, (rank + 1) * 8) + load_i64(starts, rank * 8))
        store_64(lasts, rank * 8, NULL)
    in_time = True
    for i in range(count):
        rank = load_i64(ranks, load_u32(numbers, i * number_step) * 8)
        place, time = load_i64(starts, rank * 8), load_i64(times, i * time_step)
        if time != NULL:
            in_time &= load_i64(lasts, rank * 8) <= time
            store_64(lasts, rank * 8, time)
        store_64(order, place * 8, i)
        store_64(starts, rank * 8, place + 1)
    return in_time


@inlined
def _ask_for(rows, size, order, i, count):
    """Have a row brought near that comes soon."""
    if i + AHEAD < count:
        ahead = rows + load_i64(order, (i + AHEAD) * 8) * size
        for line in range(0, size, 64):
            prefetch(ahead + line)


@kernel
def take_fields(rows, size, order, count, plan, fields):
    """Fields of rows of a size in an order, each to its column as wide as it is."""
    for i in range(count):
        _ask_for(rows, size, order, i, count)
        row = rows + load_i64(order, i * 8) * size
        for field in range(fields):
            each = plan + field * FIELD_SIZE
            at, width, column = row + load_i64(each, 0), load_i64(each, 8), load_i64(each, 16)
            if width == 8:
                store_64(column, i * 8, load_i64(at, 0))
            elif width == 4:
                store_32(column, i * 4, load_u32(at, 0))
            elif width == 2:
                store_16(column, i * 2, load_u16(at, 0))
            else:
                store_8(column, i, load_u8(at, 0))


@kernel
def trace(context, count):
    """Where rows came from. `quality` has what is known of them already; what tells no time has that of its
    packet."""
    sent, recv_a, recv_b = load_i64(context, SENT), load_i64(context, RECV_A), load_i64(context, RECV_B)
    differs, times = load_i64(context, DIFFERS), load_i64(context, TIMES)
    for i in range(count):
        packet, at = load_u32(load_i64(context, PACKET), i * 4), load_i64(load_i64(context, AT), i * 8)
        known = packet != NO_PACKET
        sent_ns = load_i64(sent, packet * 8) if known else NULL
        store_64(load_i64(context, TS_SEND), i * 8, sent_ns)
        store_64(load_i64(context, TS_RECV_A), i * 8, load_i64(recv_a, packet * 8) if known else NULL)
        store_64(load_i64(context, TS_RECV_B), i * 8, load_i64(recv_b, packet * 8) if known else NULL)
        time_ns = load_i64(load_i64(context, TIME), i * 8)
        whose = load_u8(times, load_u8(load_i64(context, KIND), i))
        if whose == BY_VERSION:
            new = load_u16(load_i64(context, VERSION), i * 2) >= load_i64(context, TRANSACTS_FROM)
            whose = TRANSACT if new else ENTRY
        if time_ns == NULL:
            time_ns, whose = sent_ns, SEND
        store_64(load_i64(context, TS_EVENT), i * 8, time_ns)
        store_64(load_i64(context, MOMENT), i * 8, time_ns // 1000 if time_ns != NULL else NULL)
        store_8(load_i64(context, TS_KIND), i, whose)
        version = load_i64(load_i64(context, VERSIONS), (at >> NUMBER_BITS) * 8)
        store_32(load_i64(context, SEQ_VERSION), i * 4, version)
        store_64(load_i64(context, SEQ_NUM), i * 8, at & NUMBER_MASK)
        if known and load_u8(differs, packet):
            quality = load_i64(context, QUALITY) + i * 2
            store_16(quality, 0, load_u16(quality, 0) | FEEDS_DIFFER)


@kernel
def scale_values(values, codes, factors, count, exact, coarse, step):
    """Values times the factor of their code, as `exact`; as `coarse` how many steps that is, NULL where it is
    no whole number of them. The first whose product a column cannot hold, -1: none."""
    for i in range(count):
        value = load_i64(values, i * 8)
        made = whole = NULL
        if value != NULL:
            factor = load_i64(factors, load_i64(codes, i * 8) * 8)
            most = (LIMIT - 1) // factor
            if value > most or value < -most:
                return i
            made = value * factor
            if made % step == 0:
                whole = made // step
        store_64(exact, i * 8, made)
        store_64(coarse, i * 8, whole)
    return -1


@kernel
def spread_levels(samples, order, count, side, columns):
    """The levels of one side of samples, each to its columns: all prices, then sizes, then orders; NULL where
    there is none."""
    for i in range(count):
        _ask_for(samples, SAMPLE_SIZE, order, i, count)
        sample = samples + load_i64(order, i * 8) * SAMPLE_SIZE
        shown = load_i64(sample, (2 + side) * 8)
        levels = sample + (HEAD_WORDS + side * SIDE_WORDS) * 8
        for word in range(SIDE_WORDS):
            value = load_i64(levels, word * 8) if word % LEVELS < shown else NULL
            store_64(load_i64(columns, word * 8), i * 8, value)
