"""The merge of runs of packets that are each in order of time: a k-way merge that copies payloads too."""

from pregao.codecs.pcap.kernels import copy
from pregao.kernels import kernel, load_i64, load_u16, load_u32, store_16, store_32, store_64

# What the kernel knows of a file's run: int64s. Addresses of its columns, then where it is.
KEY, TS, OFFSET, LENGTH, SOURCE, BASE, POSITION, END = range(0, 64, 8)
FILE_SIZE = 64

# Why it came back.
ENDED_FULL = 0  # the batch has as many packets or bytes as it can hold
ENDED_RUN = 1  # a file's run is used up, and the batch has room
ENDED_TIME = 2  # the next packet is not due yet

_NEVER = (1 << 63) - 1


@kernel
def merge(files, count, buffer, offsets, lengths, sources, times, row, most_rows, used, most_bytes,
          before_ns):  # fmt: skip
    """Move packets from the runs of `count` files to rows from `row` on, in order of their keys.

    Of equal keys the file that comes first goes first. Only packets whose key is below `before_ns`.
    Returns (row, bytes used, why it ended, the file whose run is used up).
    """
    while True:
        best, best_key, second, second_key = -1, _NEVER, -1, _NEVER
        for file in range(count):
            at = files + file * FILE_SIZE
            key = load_i64(load_i64(at, KEY), load_i64(at, POSITION) * 8)
            if best < 0 or key < best_key:
                second, second_key = best, best_key
                best, best_key = file, key
            elif second < 0 or key < second_key:
                second, second_key = file, key
        # Until the next file has its turn, packets come from this one.
        limit = second_key if second < best else second_key + (second_key != _NEVER)
        if before_ns < limit:
            limit = before_ns
        at = files + best * FILE_SIZE
        keys, stamps, base = load_i64(at, KEY), load_i64(at, TS), load_i64(at, BASE)
        starts, sizes, origins = load_i64(at, OFFSET), load_i64(at, LENGTH), load_i64(at, SOURCE)
        position, end = load_i64(at, POSITION), load_i64(at, END)
        why = -1
        while position < end:
            if load_i64(keys, position * 8) >= limit:
                why = ENDED_TIME if load_i64(keys, position * 8) >= before_ns else -2
                break
            length = load_u32(sizes, position * 4)
            if row >= most_rows or used + length > most_bytes:
                why = ENDED_FULL
                break
            copy(buffer + used, base + load_i64(starts, position * 8), length)
            store_64(offsets, row * 8, used)
            store_32(lengths, row * 4, length)
            store_16(sources, row * 2, load_u16(origins, position * 2))
            store_64(times, row * 8, load_i64(stamps, position * 8))
            used += length
            row += 1
            position += 1
        store_64(at, POSITION, position)
        if why >= 0:
            return row, used, why, best
        if position == end:
            return row, used, ENDED_RUN, best
