"""One block to one row, by the tables of `plan`.

A row begins as a copy of its layout's initial row, which has the constants and nulls; then come the
fields in runs of one kind of copy, so that there is nothing to decide for each. All arguments are
numbers and addresses: see `pregao.kernels`.
"""

from pregao.feeds.binary.reading import tables as t
from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_8,
    store_16,
    store_32,
    store_64,
)
from pregao.model.rows import AT, FLAGS, NULL, ROW_SIZE, SEQUENCE_VERSION, SIDE, VERSION, Flag

BEFORE_BID = ord("0") - 1  # '0' is a bid and 1 is to buy
# Bits of matchEventIndicator (10): 7 ends the event, 4 is implied, 5 recovery. Shifted they are our flags.
_END_SHIFT, _SHIFT, _SHIFTED = 7, 3, int(Flag.IMPLIED | Flag.RECOVERY)
assert (1 << 7 >> _END_SHIFT, 1 << 4 >> _SHIFT, 1 << 5 >> _SHIFT) == (
    Flag.END_OF_EVENT, Flag.IMPLIED, Flag.RECOVERY,
)  # fmt: skip


@kernel
def _name(source, width):
    """The characters of a name as a number, up to the first NUL."""
    value = 0
    for i in range(width):
        character = load_u8(source, i)
        if character == 0:
            break
        value |= character << (8 * i)
    return value


@kernel
def _change(source, change, target):
    """One field that is not just copied."""
    place, width = load_i64(change, t.SOURCE), load_i64(change, t.WIDTH)
    if width == 1:
        value = load_u8(source, place)
    elif width == 2:
        value = load_u16(source, place)
    elif width == 4:
        value = load_u32(source, place)
    elif width == 8:
        value = load_i64(source, place)
    else:
        value = _name(source + place, width)
    spread, most = load_i64(change, t.SPREAD), load_i64(change, t.MOST)
    value = (value << spread) >> spread
    if value == load_i64(change, t.VALUE_NULL) or value > most or value < -most:
        value = load_i64(change, t.FILL)
    else:
        value = (value >> load_i64(change, t.SHIFT)) & load_i64(change, t.MASK)
        value = value * load_i64(change, t.FACTOR) + load_i64(change, t.ADD)
    place, width = load_i64(change, t.TARGET), load_i64(change, t.TARGET_WIDTH)
    if width == 8:
        store_64(target, place, value)
    elif width == 4:
        store_32(target, place, value)
    elif width == 2:
        store_16(target, place, value)
    else:
        store_8(target, place, value)


@inlined
def _flags(source, place, layout):
    """The flags of a matchEventIndicator."""
    bits = load_u8(source, place)
    flags = (bits >> _END_SHIFT) | ((bits >> _SHIFT) & _SHIFTED)
    return (flags & load_i64(layout, t.FLAGS_MASK)) | load_i64(layout, t.FLAGS_BASE)


@inlined
def _side(source, place):
    code = load_u8(source, place)
    return code - BEFORE_BID if code else 0


@inlined
def _fill(source, layout, target):
    """All fields of a block that holds them all."""
    words = load_i64(layout, t.COPY_WORDS)
    word = words
    end = words + load_i64(layout, t.END_64)
    while word < end:
        copy = load_u32(word, 0)
        store_64(target, copy & 0xFF, load_i64(source, copy >> 8))
        word += 4
    end = words + load_i64(layout, t.END_64_ZERO)
    while word < end:
        copy = load_u32(word, 0)
        value = load_i64(source, copy >> 8)
        store_64(target, copy & 0xFF, value if value else NULL)
        word += 4
    end = words + load_i64(layout, t.END_32)
    while word < end:
        copy = load_u32(word, 0)
        store_32(target, copy & 0xFF, load_u32(source, copy >> 8))
        word += 4
    end = words + load_i64(layout, t.END_16)
    while word < end:
        copy = load_u32(word, 0)
        store_16(target, copy & 0xFF, load_u16(source, copy >> 8))
        word += 4
    end = words + load_i64(layout, t.END_8)
    while word < end:
        copy = load_u32(word, 0)
        store_8(target, copy & 0xFF, load_u8(source, copy >> 8))
        word += 4
    place = load_i64(layout, t.FLAGS_AT)
    if place >= 0:
        store_8(target, FLAGS, _flags(source, place, layout))
    place = load_i64(layout, t.SIDE_AT)
    if place >= 0:
        store_8(target, SIDE, _side(source, place))
    change, end = load_i64(layout, t.CHANGES), load_i64(layout, t.CHANGES_END)
    while change < end:
        _change(source, change, target)
        change += t.CHANGE_BYTES


@kernel
def _fill_short(source, layout, block_length, target):
    """The fields that a short block holds; the others stay as the initial row has them."""
    words = load_i64(layout, t.COPY_WORDS)
    for at in range(0, load_i64(layout, t.END_8), 4):
        place, to = load_u32(words, at) >> 8, load_u32(words, at) & 0xFF
        if at < load_i64(layout, t.END_64_ZERO):
            if place + 8 <= block_length:
                value = load_i64(source, place)
                zero = at >= load_i64(layout, t.END_64) and value == 0
                store_64(target, to, NULL if zero else value)
        elif at < load_i64(layout, t.END_32):
            if place + 4 <= block_length:
                store_32(target, to, load_u32(source, place))
        elif at < load_i64(layout, t.END_16):
            if place + 2 <= block_length:
                store_16(target, to, load_u16(source, place))
        elif place < block_length:
            store_8(target, to, load_u8(source, place))
    place = load_i64(layout, t.FLAGS_AT)
    if 0 <= place < block_length:
        store_8(target, FLAGS, _flags(source, place, layout))
    place = load_i64(layout, t.SIDE_AT)
    if 0 <= place < block_length:
        store_8(target, SIDE, _side(source, place))
    change, end = load_i64(layout, t.CHANGES), load_i64(layout, t.CHANGES_END)
    while change < end:
        if load_i64(change, t.SOURCE) + load_i64(change, t.WIDTH) <= block_length:
            _change(source, change, target)
        change += t.CHANGE_BYTES


@inlined
def write_row(source, layout, block_length, target, origin, at, sequence_version):
    """A whole row. `origin` is wire version, index in the packet and packet, as the row has them."""
    initial = load_i64(layout, t.INITIAL)
    for word in range(0, ROW_SIZE, 8):
        store_64(target, word, load_i64(initial, word))
    store_64(target, VERSION, origin)
    store_64(target, AT, at)
    store_16(target, SEQUENCE_VERSION, sequence_version)
    if block_length >= load_i64(layout, t.FULL_LENGTH):
        _fill(source, layout, target)
    else:
        _fill_short(source, layout, block_length, target)
