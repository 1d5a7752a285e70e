"""Packets of a batch by what their source is to a channel. Its plain twin is in its test.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import kernel, load_i64, load_u8, load_u16, store_32, store_64

# What a source is.
NOT_OURS, FOLLOWED, STANDBY, RECOVERY = range(4)


@kernel
def sort_packets(sources, arrivals, count, roles, feeds, followed, recovery, standby):
    """Rows of incremental packets of the site that is followed, and of packets of recovery streams; how
    many there are of each. `standby` has two words for each feed of the other site: when it was last
    heard, and how often."""
    taken, others = 0, 0
    for row in range(count):
        source = load_u16(sources, row * 2)
        role = load_u8(roles, source)
        if role == FOLLOWED:
            store_32(followed, taken * 4, row)
            taken += 1
        elif role == RECOVERY:
            store_32(recovery, others * 4, row)
            others += 1
        elif role == STANDBY:
            heard = standby + load_u8(feeds, source) * 16
            store_64(heard, 0, load_i64(arrivals, row * 8))
            store_64(heard, 8, load_i64(heard, 8) + 1)
    return taken, others
