"""How long packets are on their way, noted while they pass. The twin is `plain_times` of the tests."""

from pregao.kernels import kernel, load_i64, load_u16, load_u32, store_64

KEPT = 4096  # durations that a ring holds: the last ones
SLOTS = 1 << 14  # packets of a feed whose arrivals are remembered
# What is known of a source of packets: int64s. Rings of its delays and of its channel's leads, and its side.
DELAY_RING, LEAD_RING, SIDE = range(0, 24, 8)
SOURCE_SIZE = 24
NO_RING = -1  # not an incremental stream
SIDE_A, SIDE_B, NO_SIDE = 0, 1, -1

_ARRIVAL_SIZE = 16  # a word for channel (by its ring of leads), epoch and number, and a time


@kernel
def note_times(
    known_sources, rings, ring_counts, remembered,
    rows, _channels, epochs, numbers, _offsets, _lengths, sent, _nexts, sources, arrivals, count,
):  # fmt: skip
    """Note the delay of every numbered unit of an incremental stream, and how much later B is than A. From
    `rows` to `_nexts` the columns of `model.packets`.

    Units are looked at in the order of their arrival, so each pair counts once: when its second comes.
    """
    for unit in range(count):
        row, number = load_u32(rows, unit * 4), load_i64(numbers, unit * 8)
        source = known_sources + load_u16(sources, row * 2) * SOURCE_SIZE
        ring = load_i64(source, DELAY_RING)
        if ring == NO_RING or number <= 0:  # a heartbeat, or nothing of ours
            continue
        arrival_ns = load_i64(arrivals, row * 8)
        _append(rings, ring_counts, ring, arrival_ns - load_i64(sent, unit * 8))
        side = load_i64(source, SIDE)
        if side == NO_SIDE:
            continue
        leads = load_i64(source, LEAD_RING)
        word = leads & 0xFFFF | (load_i64(epochs, unit * 8) & 0xFFFF) << 16 | number << 32
        slot = (number + leads * 1021) & (SLOTS - 1)
        other = remembered + ((1 - side) * SLOTS + slot) * _ARRIVAL_SIZE
        if load_i64(other, 0) == word:
            later_ns = arrival_ns - load_i64(other, 8)
            lead_ns = later_ns if side == SIDE_B else -later_ns
            _append(rings, ring_counts, leads, lead_ns)
        mine = remembered + (side * SLOTS + slot) * _ARRIVAL_SIZE
        store_64(mine, 0, word)
        store_64(mine, 8, arrival_ns)


@kernel
def _append(rings, ring_counts, ring, value):
    count = load_i64(ring_counts, ring * 8)
    store_64(rings, (ring * KEPT + count % KEPT) * 8, value)
    store_64(ring_counts, ring * 8, count + 1)
