"""Many messages at once: from their places in a buffer to typed columns.

`route` sends a message to the bucket of its layout (template and version), after walking its
groups and data with every length checked, and gives it a row; `fill` copies one field of all
messages of a bucket after the other. Nothing here is compiled for a schema: the tables made by
`plan` say what lies where.

All arguments are numbers and addresses: see `pregao.kernels`. The way of one message from its place to its
columns is here as a whole, so the file is longer than others: its parts are never read apart.
"""

from pregao.codecs.sbe import kernel_tables as t
from pregao.kernels import (
    inlined,
    kernel,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_8,
    store_16,
    store_32,
    store_64,
)


@inlined
def add_to(address, offset, amount):
    """Add to a counter; what it was."""
    value = load_i64(address, offset)
    store_64(address, offset, value + amount)
    return value


@kernel
def unsigned(base, at, width, swapped):
    """A counter of any width. One that does not fit 62 bits is past every buffer anyway."""
    if not swapped:
        if width == 2:
            return load_u16(base, at)
        if width == 1:
            return load_u8(base, at)
        if width == 4:
            return load_u32(base, at)
    value = 0
    for i in range(width):
        value = (value << 8) | load_u8(base, at + (i if swapped else width - 1 - i))
    return value if 0 <= value < (1 << 62) else 1 << 62


@kernel
def _counter(base, at, place, swapped):
    """A counter whose offset and width stand at `place`."""
    return unsigned(base, at + load_i64(place, 0), load_i64(place, 8), swapped)


@kernel
def copy_bytes(source, target, count):
    done = 0
    while done + 8 <= count:
        store_64(target, done, load_i64(source, done))
        done += 8
    while done < count:
        store_8(target, done, load_u8(source, done))
        done += 1


@kernel
def patched(base, layout, body, block_length, context):
    """A copy of a short block in which the fields it does not hold are null; its offset from base."""
    at = add_to(context, t.SCRATCH_USED, load_i64(layout, t.LAYOUT_FULL_LENGTH))
    target = load_i64(context, t.SCRATCH) + at
    copy_bytes(base + body, target, block_length)
    swapped = load_i64(context, t.SWAPPED)
    for entry in range(load_i64(layout, t.LAYOUT_ENTRY), load_i64(layout, t.LAYOUT_ENTRY_END)):
        row = load_i64(context, t.ENTRIES) + entry * t.ENTRY_SIZE * 8
        offset, width = load_i64(row, t.ENTRY_OFFSET), load_i64(row, t.ENTRY_WIDTH)
        null = load_i64(row, t.ENTRY_NULL)
        if offset + width > block_length:
            for i in range(width):
                place = width - 1 - i if swapped else i
                store_8(target, offset + place, (null >> (8 * min(i, 7))) & 0xFF)
    return target - base


@kernel
def begin_data(table, row, context):
    """A row has no data until some is kept: a version may lack the field."""
    for column in range(load_i64(table, t.TABLE_DATA), load_i64(table, t.TABLE_DATA_END)):
        data = load_i64(context, t.DATA) + column * t.DATA_SIZE * 8
        store_32(load_i64(data, t.DATA_ENDS), (row + 1) * 4, load_i64(data, t.DATA_USED))


@inlined
def add_block(base, layout, body, block_length, origin, place, version, flags, context):
    """Put a block in the bucket of its layout; the row it gets in its table."""
    table = load_i64(context, t.TABLES) + load_i64(layout, t.LAYOUT_TABLE) * t.TABLE_SIZE * 8
    row = add_to(table, t.TABLE_ROWS, 1)
    at = load_i64(layout, t.LAYOUT_BUCKET) + add_to(layout, t.LAYOUT_FILLED, 1)
    if block_length < load_i64(layout, t.LAYOUT_FULL_LENGTH):
        body = patched(base, layout, body, block_length, context)
        flags |= t.FLAG_SHORT_BLOCK
    store_64(load_i64(context, t.BODY), at * 8, body)
    store_64(load_i64(context, t.ROW), at * 8, row)
    head = load_i64(table, t.TABLE_HEADS) + row * t.HEAD_SIZE
    store_64(head, 0, origin | (place << 32) | (version << 48))
    store_32(head, 8, block_length | (flags << 16))
    if load_i64(table, t.TABLE_DATA) != load_i64(table, t.TABLE_DATA_END):
        begin_data(table, row, context)
    return row


@kernel
def keep_data(base, at, length, column, row, context):
    """The bytes of a data field, behind those of the rows before."""
    data = load_i64(context, t.DATA) + column * t.DATA_SIZE * 8
    used = add_to(data, t.DATA_USED, length)
    copy_bytes(base + at, load_i64(data, t.DATA_BYTES) + used, length)
    store_32(load_i64(data, t.DATA_ENDS), (row + 1) * 4, used + length)


@kernel
def keep_entries(base, layout, at, length, count, row, version, context):
    """The entries of a group that has no groups or data of its own."""
    for place in range(count):
        add_block(base, layout, at + place * length, length, row, place, version, 0, context)


@kernel
def _open_group(level, layout, start, length, count):
    """Go down a level, to entries that have groups or data of their own; the new level."""
    parent = load_i64(level, t.LEVEL_ROW)
    level += t.LEVEL_SIZE * 8
    store_64(level, t.LEVEL_LAYOUT, layout)
    store_64(level, t.LEVEL_STEP, load_i64(layout, t.LAYOUT_STEP_END))  # the first entry is due
    store_64(level, t.LEVEL_LEFT, count)
    store_64(level, t.LEVEL_LENGTH, length)
    store_64(level, t.LEVEL_START, start)
    store_64(level, t.LEVEL_PARENT, parent)
    store_64(level, t.LEVEL_PLACE, 0)
    return level


@kernel
def _next_entry(base, level, at, version, emit, context):
    """Begin the next entry of the group that is open at a level."""
    layout, length = load_i64(level, t.LEVEL_LAYOUT), load_i64(level, t.LEVEL_LENGTH)
    add_to(level, t.LEVEL_LEFT, -1)
    store_64(level, t.LEVEL_STEP, load_i64(layout, t.LAYOUT_STEP))
    if emit:
        parent, place = load_i64(level, t.LEVEL_PARENT), add_to(level, t.LEVEL_PLACE, 1)
        entry = add_block(base, layout, at, length, parent, place, version, 0, context)
        store_64(level, t.LEVEL_ROW, entry)


@kernel
def walk(base, layout, row, at, end, version, emit, context):
    """Walk groups and data behind a block of `layout`; (fault, its offset, end of the walk).

    Walked twice: first only to check every length, then with `emit` to keep entries and data under
    `row`. A stack instead of recursion: numba cannot load a recursive kernel from its disk cache.
    """
    bottom, swapped = load_i64(context, t.STACK), load_i64(context, t.SWAPPED)
    level = bottom
    store_64(level, t.LEVEL_LAYOUT, layout)
    store_64(level, t.LEVEL_STEP, load_i64(layout, t.LAYOUT_STEP))
    store_64(level, t.LEVEL_ROW, row)
    while True:
        layout, number = load_i64(level, t.LEVEL_LAYOUT), load_i64(level, t.LEVEL_STEP)
        if number == load_i64(layout, t.LAYOUT_STEP_END):  # a block is done, or the first entry is due
            if level == bottom:
                return t.NONE, at, at
            left, length = load_i64(level, t.LEVEL_LEFT), load_i64(level, t.LEVEL_LENGTH)
            if left == 0:
                level -= t.LEVEL_SIZE * 8
                continue
            if at + length > end:
                return t.GROUP_PAST_MESSAGE, load_i64(level, t.LEVEL_START), at
            _next_entry(base, level, at, version, emit, context)
            at += length
            continue
        store_64(level, t.LEVEL_STEP, number + 1)
        step, start = load_i64(context, t.STEPS) + number * t.STEP_SIZE * 8, at
        header, is_data = load_i64(step, t.STEP_HEADER), load_i64(step, t.STEP_IS_DATA)
        target = load_i64(step, t.STEP_TARGET)
        if at + header > end:
            return t.DATA_HEADER_TRUNCATED if is_data else t.GROUP_HEADER_TRUNCATED, at, at
        length = _counter(base, at, step + t.STEP_LENGTH_AT, swapped)
        at += header
        if is_data:
            if at + length > end:
                return t.DATA_PAST_MESSAGE, start, at
            if emit:
                keep_data(base, at, length, target, load_i64(level, t.LEVEL_ROW), context)
            at += length
            continue
        count = _counter(base, start, step + t.STEP_COUNT_AT, swapped)
        child = load_i64(context, t.LAYOUTS) + target * t.LAYOUT_SIZE * 8
        if load_i64(child, t.LAYOUT_STEP) != load_i64(child, t.LAYOUT_STEP_END):
            level = _open_group(level, child, start, length, count)
            continue
        if count > 0 and length == 0:
            return t.GROUP_WITHOUT_BYTES, start, at
        if count > 0 and count > (end - at) // length:
            return t.GROUP_PAST_MESSAGE, start, at
        if emit:
            keep_entries(base, child, at, length, count, load_i64(level, t.LEVEL_ROW), version, context)
        at += count * length


@inlined
def layout_for(template, version, context):
    """Address of the layout of a template at a version; that of the unknown where there is none."""
    table = load_i32(load_i64(context, t.ROOT_OF_TEMPLATE), template * 4)
    epoch = load_u8(load_i64(context, t.EPOCH_OF_VERSION), version)
    number = load_i32(load_i64(context, t.LAYOUT_OF), (table * load_i64(context, t.EPOCHS) + epoch) * 4)
    # The layout of the unknown is the first.
    return load_i64(context, t.LAYOUTS) + max(number, 0) * t.LAYOUT_SIZE * 8


@inlined
def route(base, body, block_length, end, template, version, packet, place, context):
    """Send a message to its bucket, with all that belongs to it; (fault, its offset)."""
    layout = layout_for(template, version, context)
    flags = 0 if load_u8(load_i64(context, t.VERSION_KNOWN), version) else t.FLAG_VERSION_INFERRED
    if load_i64(layout, t.LAYOUT_STEP) != load_i64(layout, t.LAYOUT_STEP_END):
        return _route_nested(base, layout, body, block_length, end, version, packet, place, flags, context)
    if body + block_length != end and layout != load_i64(context, t.LAYOUTS):
        flags |= t.FLAG_LEFTOVER
    add_block(base, layout, body, block_length, packet, place, version, flags, context)
    return t.NONE, 0


@kernel
def _route_nested(base, layout, body, block_length, end, version, packet, place, flags, context):
    fault, where, stop = walk(base, layout, 0, body + block_length, end, version, False, context)
    if fault != t.NONE:
        return fault, where
    if stop != end:
        flags |= t.FLAG_LEFTOVER
    row = add_block(base, layout, body, block_length, packet, place, version, flags, context)
    walk(base, layout, row, body + block_length, end, version, True, context)
    return t.NONE, 0


@kernel
def _fill_straight(base, bodies, width, count, target):
    """One field of a bucket whose rows follow each other; `base` is that of the field."""
    if width == 8:
        for k in range(count):
            store_64(target, k * 8, load_i64(base, load_i64(bodies, k * 8)))
    elif width == 4:
        for k in range(count):
            store_32(target, k * 4, load_u32(base, load_i64(bodies, k * 8)))
    elif width == 1:
        for k in range(count):
            store_8(target, k, load_u8(base, load_i64(bodies, k * 8)))
    elif width == 2:
        for k in range(count):
            store_16(target, k * 2, load_u16(base, load_i64(bodies, k * 8)))
    else:
        for k in range(count):
            copy_bytes(base + load_i64(bodies, k * 8), target + k * width, width)


@kernel
def _fill_scattered(base, bodies, rows, width, element, count, target):
    """One field of a bucket whose rows lie between those of another version, or that is big-endian:
    then `element` is the width of the numbers whose bytes are turned round, else 0."""
    for k in range(count):
        source, place = base + load_i64(bodies, k * 8), target + load_i64(rows, k * 8) * width
        if element == 0:
            copy_bytes(source, place, width)
            continue
        for first in range(0, width, element):
            for i in range(element):
                store_8(place, first + i, load_u8(source, first + element - 1 - i))


@kernel
def fill(base, layout, context):
    """All fields of all blocks of a bucket, which is then empty."""
    count = load_i64(layout, t.LAYOUT_FILLED)
    store_64(layout, t.LAYOUT_FILLED, 0)
    bodies = load_i64(context, t.BODY) + load_i64(layout, t.LAYOUT_BUCKET) * 8
    rows = load_i64(context, t.ROW) + load_i64(layout, t.LAYOUT_BUCKET) * 8
    first_row = load_i64(rows, 0)
    swapped = load_i64(context, t.SWAPPED)
    straight = load_i64(rows, (count - 1) * 8) - first_row == count - 1 and not swapped
    for entry in range(load_i64(layout, t.LAYOUT_ENTRY), load_i64(layout, t.LAYOUT_ENTRY_END)):
        field = load_i64(context, t.ENTRIES) + entry * t.ENTRY_SIZE * 8
        source, width = base + load_i64(field, t.ENTRY_OFFSET), load_i64(field, t.ENTRY_WIDTH)
        target = load_i64(load_i64(context, t.COLUMNS), load_i64(field, t.ENTRY_COLUMN) * 8)
        if straight:
            _fill_straight(source, bodies, width, count, target + first_row * width)
        else:
            element = load_i64(field, t.ENTRY_ELEMENT) if swapped else 0
            _fill_scattered(source, bodies, rows, width, element, count, target)


@kernel
def drain(base, context):
    """Write all buckets to their columns, and empty them."""
    for number in range(load_i64(context, t.LAYOUT_COUNT)):
        layout = load_i64(context, t.LAYOUTS) + number * t.LAYOUT_SIZE * 8
        if load_i64(layout, t.LAYOUT_FILLED) > 0:
            fill(base, layout, context)
    store_64(context, t.SCRATCH_USED, 0)
