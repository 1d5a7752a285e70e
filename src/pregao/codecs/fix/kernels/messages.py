"""Many FIX messages at once: from their places in a buffer to rows of numbers and slices.

`read_messages` walks each message once. Tags find their member in the block that is being read (header, body,
an entry of a group); a member says its column and its kind. Nothing is compiled for a dictionary: the tables
of `columns` say what is where. The plain parser is `parser`; tests hold both equal, faults and problems
included.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fix import formats as t
from pregao.codecs.fix.kernels.groups import (
    begin_entry,
    close_group,
    close_groups,
    count_unknown,
    enter_group,
    extras_of,
    member_of,
    new_row,
    note_problem,
    open_group,
    row_of,
    table_of,
    values_of,
)
from pregao.codecs.fix.kernels.values import digit_of, put_cell, read_number
from pregao.kernels import inlined, kernel, load_i32, load_i64, load_u8, store_64

_ONES, _TOPS = 0x0101010101010101, -0x7F7F7F7F7F7F7F80  # 1 in every byte; the top bit of every byte


@kernel
def _body_block(base, at, end, context):
    """The block of a message type: the bytes of 35 as a number, looked up."""
    if end - at > 8 or end <= at:
        return t.EMPTY_BLOCK
    name = 0
    for i in range(at, end):
        name = (name << 8) | load_u8(base, i)
    types = load_i64(context, t.TYPES)
    for i in range(load_i64(context, t.TYPE_COUNT)):
        if load_i64(types, i * 16) == name:
            return load_i64(types, i * 16 + 8)
    return t.EMPTY_BLOCK


@kernel
def _take_outside(base, tag, field, at, end, context, outcome, rows, phase):
    """A field of header, body or trailer. Gives the phase and the depth after it. `rows` are the block of the
    body and the row of each part."""
    body, header_row, body_row, trailer_row = rows
    place, block, row = 1, body, body_row
    member = member_of(context, t.HEADER_BLOCK, field)
    if member >= 0:
        place, block, row = 0, t.HEADER_BLOCK, header_row
    else:
        member = member_of(context, t.TRAILER_BLOCK, field)
        if member >= 0:
            place, block, row = 2, t.TRAILER_BLOCK, trailer_row
        else:
            member = member_of(context, body, field)
    if place < phase:
        note_problem(outcome, t.OUT_OF_ORDER, tag)
    phase = max(phase, place)
    if member < 0:
        count_unknown(outcome)
        return phase, 0
    table = table_of(context, block)
    column, kind = member & t.COLUMN_MASK, (member >> t.KIND_SHIFT) & t.KIND_MASK
    value_at, extra_at = values_of(table, row) + column * 8, extras_of(table, row) + column * 4
    if load_i32(extra_at, 0) != t.ABSENT:
        note_problem(outcome, t.TWICE, tag)
        return phase, 0
    if kind == t.SLICE:
        put_cell(value_at, extra_at, at, end - at)
        return phase, 0
    read_number(base, at, end, kind, context, value_at, extra_at)
    if kind == t.GROUP:
        return phase, open_group(base, at, end, tag, (member >> t.CHILD_SHIFT) - 1, row, context, 0)
    return phase, 0


@kernel
def _find_type(base, at, end, context):
    """The body's block, by 35 among the first three fields."""
    for _ in range(3):
        is_type = at + 3 <= end and load_u8(base, at) == 51 and load_u8(base, at + 1) == 53
        is_type = is_type and load_u8(base, at + 2) == 61
        start = at
        while at < end and load_u8(base, at) != 1:
            at += 1
        if is_type:
            return _body_block(base, start + 3, at, context)
        at += 1
    return t.EMPTY_BLOCK


@kernel
def _data_end(base, at, end, length_at, length_end):
    """Where the data ends that a length measures, or -1 where it does not end with a delimiter there."""
    size = length_end - length_at
    if size < 1 or size > 9:
        return -1
    wanted = 0
    for i in range(length_at, length_end):
        digit = digit_of(base, i)
        if digit > 9:
            return -1
        wanted = wanted * 10 + digit
    if at + wanted >= end or load_u8(base, at + wanted) != 1:
        return -1
    return at + wanted


@inlined
def _value_end(base, at, end):
    """Where the next delimiter is, which there is: eight bytes at a time. A byte that was 1 is 0 after the
    exclusive or, and is then the lowest one whose top bit is set."""
    while at + 8 <= end:
        word = load_i64(base, at) ^ _ONES
        found = (word - _ONES) & ~word & _TOPS
        if found != 0:
            return at + (((((found & -found) - 1) & _ONES) * _ONES) >> 56) - 1
        at += 8
    while load_u8(base, at) != 1:
        at += 1
    return at


@kernel
def _read_message(base, at, end, context, outcome, rows):
    """All fields of one message. A fault, or -1 where a table is full."""
    if end <= at or load_u8(base, end - 1) != 1:
        return t.BAD_FIELD
    field_of_tag, data_of_field = load_i64(context, t.FIELD_OF_TAG), load_i64(context, t.DATA_OF_FIELD)
    body, depth, phase = rows[0], 0, 0
    awaited, length_at, length_end = -1, 0, 0  # the data field that the last length measures
    members, lead, level, values, extras = 0, 0, 0, 0, 0  # of the innermost group
    while at < end:
        first, negative, tag = at, 0, 0
        if load_u8(base, at) == 45:
            negative, at, first = 1, at + 1, at + 1
        digit = digit_of(base, at)
        while digit <= 9:
            tag = tag * 10 + digit
            at += 1
            if at - first > 9:
                return t.BAD_FIELD
            digit = digit_of(base, at)
        if at == first or load_u8(base, at) != 61:
            return t.BAD_FIELD
        at += 1
        if negative:
            tag = -tag
        field = load_i32(field_of_tag, tag * 4) if 0 <= tag <= t.MAX_TAG else -1
        start = at
        if awaited >= 0 and field == awaited and load_u8(base, first) != 48:
            at = _data_end(base, at, end, length_at, length_end)
            if at < 0:
                return t.BAD_DATA_LENGTH
        else:
            at = _value_end(base, at, end)
        awaited = load_i32(data_of_field, field * 4) if field >= 0 else -1
        length_at, length_end = start, at
        member = load_i32(members, field * 4) if depth > 0 and field >= 0 else t.NO_MEMBER
        if member < 0:
            if depth > 0:
                inner = close_groups(context, outcome, field, body, depth)
                if inner == depth:
                    count_unknown(outcome)
                    at += 1
                    continue
                depth = inner
            if depth == 0:
                phase, depth = _take_outside(base, tag, field, start, at, context, outcome, rows, phase)
                if depth > 0:
                    members, lead, level = enter_group(context, depth)
                at += 1
                continue
            members, lead, level = enter_group(context, depth)
            values, extras = row_of(context, level)
            member = load_i32(members, field * 4)
            if member < 0:
                count_unknown(outcome)
                at += 1
                continue
        if tag == lead or lead < 0:
            lead = tag
            if begin_entry(context, level, tag) < 0:
                return -1
            values, extras = row_of(context, level)
        column, kind = member & t.COLUMN_MASK, (member >> t.KIND_SHIFT) & t.KIND_MASK
        if load_i32(extras, column * 4) != t.ABSENT:
            note_problem(outcome, t.GROUP_ORDER, tag)
        elif kind == t.SLICE:
            put_cell(values + column * 8, extras + column * 4, start, at - start)
        else:
            read_number(base, start, at, kind, context, values + column * 8, extras + column * 4)
            if kind == t.GROUP:
                child, row = (member >> t.CHILD_SHIFT) - 1, load_i64(level, t.LEVEL_ROW)
                deeper = open_group(base, start, at, tag, child, row, context, depth)
                if deeper > depth:
                    depth = deeper
                    members, lead, level = enter_group(context, depth)
        at += 1
    while depth > 0:
        depth -= 1
        close_group(load_i64(context, t.STACK) + depth * t.LEVEL_SIZE, outcome)
    return t.NONE


@kernel
def _take_back(context):
    """Forget the rows of the message under way."""
    for block in range(load_i64(context, t.TABLE_COUNT)):
        table = table_of(context, block)
        store_64(table, t.TABLE_ROWS, load_i64(table, t.TABLE_SAVED))


@kernel
def _begin_message(context, outcome):
    for block in range(load_i64(context, t.TABLE_COUNT)):
        table = table_of(context, block)
        store_64(table, t.TABLE_SAVED, load_i64(table, t.TABLE_ROWS))
    store_64(outcome, t.OUT_FAULT, t.NONE)
    store_64(outcome, t.OUT_REASON, t.NO_PROBLEM)
    store_64(outcome, t.OUT_TAG, 0)
    store_64(outcome, t.OUT_UNKNOWN, 0)
    store_64(outcome, t.OUT_BLOCK, t.EMPTY_BLOCK)
    store_64(outcome, t.OUT_ROW, -1)


@kernel
def read_messages(base, offsets, lengths, first, count, context):
    """Messages `first` to `count` by their offsets and lengths (int64s). How many are read: fewer where a
    table is full, which then needs more room."""
    for index in range(first, count):
        outcome = load_i64(context, t.OUTCOMES) + index * t.OUT_SIZE
        _begin_message(context, outcome)
        at = load_i64(offsets, index * 8)
        end = at + load_i64(lengths, index * 8)
        body = _find_type(base, at, end, context)
        header_row = new_row(table_of(context, t.HEADER_BLOCK), index)
        trailer_row = new_row(table_of(context, t.TRAILER_BLOCK), index)
        body_row = new_row(table_of(context, body), index)
        fault = -1
        if header_row >= 0 and trailer_row >= 0 and body_row >= 0:
            fault = _read_message(base, at, end, context, outcome, (body, header_row, body_row, trailer_row))
        if fault < 0:
            _take_back(context)
            return index
        if fault != t.NONE:
            _take_back(context)
            _begin_message(context, outcome)
            store_64(outcome, t.OUT_FAULT, fault)
        else:
            store_64(outcome, t.OUT_BLOCK, body)
            store_64(outcome, t.OUT_ROW, body_row)
    return count
