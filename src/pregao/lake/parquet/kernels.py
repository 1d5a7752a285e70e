"""Values of a column to the bytes that Parquet has for them (Parquet's own document "Encodings").

All values are given as words of 64 bits, one after the other. Buffers have room: see `room`."""

import numpy as np

from pregao.kernels import inlined, kernel, load_i32, load_i64, load_u8, store_8, store_64

BLOCK, MINI = 128, 32  # values of a block of deltas, and of a part of it that has a width of its own
LONG_RUN = 16  # equal values from which on a run is told by its length
_REST = (1 << 57) - 1
_MIXER = -7046029254386353131  # 2^64 / golden ratio, as a signed number


def room(count: int) -> int:
    """Bytes that any of these encodings needs for so many values at most, and those that are touched."""
    return 9 * count + 16 * BLOCK


@inlined
def put_varint(out, at, value):
    """Seven bits a byte, the lowest first; a negative number is one of 64 bits."""
    while value < 0 or value > 127:
        store_8(out, at, value & 127 | 128)
        value = (value >> 7) & _REST
        at += 1
    store_8(out, at, value)
    return at + 1


@inlined
def put_bits(values, count, padded, base, width, out, at):
    """The lowest bits of what each value is above a base, the first value lowest; zeros up to `padded`, which
    makes whole bytes."""
    held, filled = np.uint64(0), 0
    for i in range(padded):
        value = np.uint64(load_i64(values, i * 8) - base) if i < count else np.uint64(0)
        held |= value << np.uint64(filled)
        filled += width
        if filled >= 64:
            store_64(out, at, np.int64(held))
            at += 8
            filled -= 64
            held = value >> np.uint64(width - filled) if filled else np.uint64(0)
    while filled > 0:
        store_8(out, at, np.int64(held & np.uint64(255)))
        held >>= np.uint64(8)
        at += 1
        filled -= 8
    return at


@inlined
def bits_of(value):
    """How many a number has, as one without a sign."""
    rest, width = np.uint64(value), 0
    while rest:
        rest >>= np.uint64(1)
        width += 1
    return width


@kernel
def pack_deltas(values, count, narrow, scratch, out):
    """DELTA_BINARY_PACKED. `narrow`: of numbers of 32 bits, whose differences are such numbers too. `scratch`
    has room for a block. How many bytes there are."""
    at = put_varint(out, 0, BLOCK)
    at = put_varint(out, at, BLOCK // MINI)
    at = put_varint(out, at, count)
    first = load_i64(values, 0) if count else 0
    at = put_varint(out, at, first << 1 ^ first >> 63)
    begin = 1
    while begin < count:
        size = min(BLOCK, count - begin)
        block = values + begin * 8
        for i in range(size):
            delta = load_i64(block, i * 8) - load_i64(block, i * 8 - 8)
            store_64(scratch, i * 8, delta << 32 >> 32 if narrow else delta)
        least = load_i64(scratch, 0)
        for i in range(size):
            least = min(least, load_i64(scratch, i * 8))
        at = put_varint(out, at, least << 1 ^ least >> 63)
        widths = at
        at += BLOCK // MINI
        for part in range(BLOCK // MINI):
            mine = scratch + part * MINI * 8
            inside = max(0, min(MINI, size - part * MINI))
            used = 0
            for i in range(inside):
                used |= load_i64(mine, i * 8) - least
            width = bits_of(used)
            store_8(out, widths + part, width)
            if width:
                at = put_bits(mine, inside, MINI, least, width, out, at)
        begin += size
    return at


@inlined
def put_literals(codes, first, stop, width, out, at):
    groups = (stop - first + 7) // 8
    at = put_varint(out, at, groups << 1 | 1)
    return put_bits(codes + first * 8, stop - first, groups * 8, 0, width, out, at)


@kernel
def pack_runs(codes, count, width, out):
    """The hybrid of runs and packed bits (RLE). How many bytes there are."""
    at = 0
    literals = begin = 0
    while begin < count:
        code, end = load_i64(codes, begin * 8), begin + 1
        while end < count and load_i64(codes, end * 8) == code:
            end += 1
        if end - begin >= LONG_RUN:
            whole = begin + (literals - begin) % 8  # packed bits are of eight values, or of the last ones
            if whole > literals:
                at = put_literals(codes, literals, whole, width, out, at)
            at = put_varint(out, at, end - whole << 1)
            for byte in range((width + 7) // 8):
                store_8(out, at, code >> 8 * byte & 255)
                at += 1
            literals = end
        begin = end
    return put_literals(codes, literals, count, width, out, at) if count > literals else at


@kernel
def take_valid(values, size, validity, count, out):
    """Values of 4 or 8 bytes whose bit is set. How many there are."""
    found = 0
    for i in range(count):
        store_64(out, found * 8, load_i64(values, i * 8) if size == 8 else load_i32(values, i * 4))
        found += load_u8(validity, i >> 3) >> (i & 7) & 1
    return found


@kernel
def number_values(values, count, keys, places, bits, most, codes):
    """A code for each value, in the order in which they come. `places` has 2 ** `bits` words, all -1; `keys`
    has `most`. How many different ones there are, -1: more than `most`."""
    found, mask = 0, (1 << bits) - 1
    last_code = -1
    last = np.int64(0)
    for i in range(count):
        value = load_i64(values, i * 8)
        if last_code < 0 or value != last:
            slot = value * _MIXER >> 32 & mask
            last, last_code = value, load_i64(places, slot * 8)
            while last_code >= 0 and load_i64(keys, last_code * 8) != value:
                slot = slot + 1 & mask
                last_code = load_i64(places, slot * 8)
            if last_code < 0:
                if found == most:
                    return -1
                store_64(keys, found * 8, value)
                store_64(places, slot * 8, found)
                last_code = found
                found += 1
        store_64(codes, i * 8, last_code)
    return found
