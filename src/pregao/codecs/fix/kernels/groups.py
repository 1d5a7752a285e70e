"""Rows of tables, members of blocks, and the groups that are being read: a stack of levels."""

from pregao.codecs.fix import formats as t
from pregao.codecs.fix.kernels.values import digit_of
from pregao.kernels import inlined, kernel, load_i32, load_i64, load_u8, store_32, store_64

# Where the messages of a stream are. The plain framer judges all that is not ordinary.


@kernel
def frame_messages(base, at, end, longest, begin, begin_size, offsets, lengths, room):
    """Places of messages that stand one behind the other and are as they should be: `begin` (8=…|9=),
    length, 35=, sum. Stops before what is not whole or not ordinary, which the plain framer judges. How
    many, and where it stopped."""
    count = 0
    while count < room:
        place = at + begin_size
        if place + 12 > end:
            break
        same = True
        for i in range(begin_size):
            same = same and load_u8(base, at + i) == load_u8(begin, i)
        size, digits, digit = 0, 0, digit_of(base, place)
        while digit <= 9 and digits < 9:
            size, digits, place = size * 10 + digit, digits + 1, place + 1
            digit = digit_of(base, place) if place < end else 99
        body_end = place + 1 + size
        if not same or digits < 1 or place >= end or load_u8(base, place) != 1 or body_end + 7 - at > longest:
            break
        if body_end + 7 > end or size < 4 or load_u8(base, body_end - 1) != 1:
            break
        total = 0
        for i in range(at, body_end):
            total += load_u8(base, i)
        given = digit_of(base, body_end + 3) * 10 + digit_of(base, body_end + 4)
        given = given * 10 + digit_of(base, body_end + 5)
        good = load_u8(base, body_end) == 49 and load_u8(base, body_end + 1) == 48
        good = good and load_u8(base, body_end + 2) == 61 and load_u8(base, body_end + 6) == 1
        good = good and load_u8(base, place + 1) == 51 and load_u8(base, place + 2) == 53
        good = good and load_u8(base, place + 3) == 61 and given == total % 256
        if not good:
            break
        store_64(offsets, count * 8, at)
        store_64(lengths, count * 8, body_end + 7 - at)
        count += 1
        at = body_end + 7
    return count, at


@kernel
def new_row(table, parent):
    """An empty row; -1 where the table is full."""
    row = load_i64(table, t.TABLE_ROWS)
    if row >= load_i64(table, t.TABLE_CAPACITY):
        return -1
    columns = load_i64(table, t.TABLE_COLUMNS)
    extras = load_i64(table, t.TABLE_EXTRAS) + row * columns * 4
    at = 0
    while at + 2 <= columns:  # two at a time: ABSENT is all ones
        store_64(extras, at * 4, -1)
        at += 2
    if at < columns:
        store_32(extras, at * 4, t.ABSENT)
    store_64(load_i64(table, t.TABLE_PARENTS), row * 8, parent)
    store_64(table, t.TABLE_ROWS, row + 1)
    return row


@inlined
def table_of(context, block):
    return load_i64(context, t.TABLES) + block * t.TABLE_SIZE


@inlined
def members_of(context, block):
    """The row of a block in the matrix of members."""
    return load_i64(context, t.MEMBERS) + block * load_i64(context, t.FIELDS) * 4


@inlined
def member_of(context, block, field):
    return load_i32(members_of(context, block), field * 4) if field >= 0 else t.NO_MEMBER


@inlined
def values_of(table, row):
    return load_i64(table, t.TABLE_VALUES) + row * load_i64(table, t.TABLE_COLUMNS) * 8


@inlined
def extras_of(table, row):
    return load_i64(table, t.TABLE_EXTRAS) + row * load_i64(table, t.TABLE_COLUMNS) * 4


@inlined
def note_problem(outcome, reason, tag):
    if load_i64(outcome, t.OUT_REASON) == t.NO_PROBLEM:
        store_64(outcome, t.OUT_REASON, reason)
        store_64(outcome, t.OUT_TAG, tag)


@inlined
def count_unknown(outcome):
    store_64(outcome, t.OUT_UNKNOWN, load_i64(outcome, t.OUT_UNKNOWN) + 1)


@kernel
def close_group(level, outcome):
    """The end of a group: its count must be that of its entries."""
    if load_i64(level, t.LEVEL_ENTRIES) != load_i64(level, t.LEVEL_COUNT):
        note_problem(outcome, t.GROUP_COUNT, load_i64(level, t.LEVEL_TAG))


@kernel
def open_group(base, at, end, tag, block, parent, context, depth):
    """Begin to read a group; the new depth, or the same where the count is no number."""
    size = end - at
    if size < 1 or size > 9 or depth >= t.MAX_DEPTH:
        return depth
    count = 0
    for i in range(at, end):
        digit = digit_of(base, i)
        if digit > 9:
            return depth
        count = count * 10 + digit
    level = load_i64(context, t.STACK) + depth * t.LEVEL_SIZE
    store_64(level, t.LEVEL_BLOCK, block)
    store_64(level, t.LEVEL_LEAD, -1)
    store_64(level, t.LEVEL_ROW, -1)
    store_64(level, t.LEVEL_ENTRIES, 0)
    store_64(level, t.LEVEL_COUNT, count)
    store_64(level, t.LEVEL_TAG, tag)
    store_64(level, t.LEVEL_PARENT, parent)
    return depth + 1


@kernel
def is_of_outer(context, field, body, depth):
    """Whether a field belongs to a block around the innermost group."""
    if member_of(context, t.HEADER_BLOCK, field) >= 0 or member_of(context, t.TRAILER_BLOCK, field) >= 0:
        return True
    if member_of(context, body, field) >= 0:
        return True
    for i in range(depth - 1):
        level = load_i64(context, t.STACK) + i * t.LEVEL_SIZE
        if member_of(context, load_i64(level, t.LEVEL_BLOCK), field) >= 0:
            return True
    return False


@kernel
def close_groups(context, outcome, field, body, depth):
    """End the groups that a field does not belong to; the depth of the one that takes it, as a member or
    unknown."""
    while depth > 0:
        level = load_i64(context, t.STACK) + (depth - 1) * t.LEVEL_SIZE
        if member_of(context, load_i64(level, t.LEVEL_BLOCK), field) >= 0:
            return depth
        if load_i64(level, t.LEVEL_LEAD) >= 0 and not is_of_outer(context, field, body, depth):
            return depth
        depth -= 1
        close_group(level, outcome)
    return 0


@kernel
def begin_entry(context, level, tag):
    """A new row of a group that begins with this tag; -1 where its table is full."""
    table = table_of(context, load_i64(level, t.LEVEL_BLOCK))
    row = new_row(table, load_i64(level, t.LEVEL_PARENT))
    store_64(level, t.LEVEL_ROW, row)
    store_64(level, t.LEVEL_LEAD, tag)
    store_64(level, t.LEVEL_ENTRIES, load_i64(level, t.LEVEL_ENTRIES) + 1)
    return row


@inlined
def enter_group(context, depth):
    """The members, the leading tag and the level of the innermost group."""
    level = load_i64(context, t.STACK) + (depth - 1) * t.LEVEL_SIZE
    return members_of(context, load_i64(level, t.LEVEL_BLOCK)), load_i64(level, t.LEVEL_LEAD), level


@inlined
def row_of(context, level):
    """Where the values of a group's entry are, and what stands beside them."""
    table, row = table_of(context, load_i64(level, t.LEVEL_BLOCK)), load_i64(level, t.LEVEL_ROW)
    return values_of(table, row), extras_of(table, row)
