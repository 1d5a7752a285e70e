"""Many FIX messages at once: from their places in a buffer to rows of numbers and slices.

`read_messages` walks each message once. Tags find their member in the block that is being read (header, body,
an entry of a group); a member says its column and its kind. Nothing is compiled for a dictionary: the tables
of `columns` say what is where. The plain parser is `parser`; tests hold both equal, faults and problems
included.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fix import kernel_tables as t
from pregao.kernels import inlined, kernel, load_i32, load_i64, load_u8, store_32, store_64

_SECOND = 1_000_000_000
_LIMIT = (2**63 - 1) // 10  # a number below this takes any digit more, this one takes up to 7


@inlined
def _digit(base, at):
    """A digit's value; what is none is above 9."""
    value = load_u8(base, at) - 48
    return value if 0 <= value <= 9 else 99


@inlined
def _store(table, row, column, value, extra):
    place = row * load_i64(table, t.TABLE_COLUMNS) + column
    store_64(load_i64(table, t.TABLE_VALUES), place * 8, value)
    store_32(load_i64(table, t.TABLE_EXTRAS), place * 4, extra)


@inlined
def _is_set(table, row, column):
    place = row * load_i64(table, t.TABLE_COLUMNS) + column
    return load_i32(load_i64(table, t.TABLE_EXTRAS), place * 4) != t.ABSENT


@kernel
def _new_row(table, parent):
    """An empty row; -1 where the table is full."""
    row = load_i64(table, t.TABLE_ROWS)
    if row >= load_i64(table, t.TABLE_CAPACITY):
        return -1
    columns = load_i64(table, t.TABLE_COLUMNS)
    values = load_i64(table, t.TABLE_VALUES) + row * columns * 8
    extras = load_i64(table, t.TABLE_EXTRAS) + row * columns * 4
    for i in range(columns):
        store_64(values, i * 8, 0)
    for i in range(columns):
        store_32(extras, i * 4, t.ABSENT)
    store_64(load_i64(table, t.TABLE_PARENTS), row * 8, parent)
    store_64(table, t.TABLE_ROWS, row + 1)
    return row


@kernel
def _read_integer(base, at, end, table, row, column):
    """Digits, with a minus sign before them if the kind allows: what does not fit 64 bits is malformed."""
    value, negative, start = 0, 0, at
    if at < end and load_u8(base, at) == 45:
        negative, at = 1, at + 1
    good = at < end and end - at <= 19
    while at < end and good:
        digit = _digit(base, at)
        good = digit <= 9 and (value < _LIMIT or (value == _LIMIT and digit <= 7))
        value = value * 10 + digit
        at += 1
    if good:
        _store(table, row, column, -value if negative else value, 0)
    else:
        _store(table, row, column, start, t.MALFORMED)


@kernel
def _read_decimal(base, at, end, table, row, column):
    """Sign, digits, point, digits: a mantissa and its decimals."""
    value, decimals, digits, start = 0, -1, 0, at
    negative = at < end and load_u8(base, at) == 45
    good = end - at <= 40
    if negative:
        at += 1
    while at < end and good:
        byte = load_u8(base, at)
        if byte == 46:
            good = decimals < 0
            decimals = 0
        else:
            digit = byte - 48
            good = 0 <= digit <= 9 and (value < _LIMIT or (value == _LIMIT and digit <= 7))
            value = value * 10 + digit
            digits += 1
            if decimals >= 0:
                decimals += 1
        at += 1
    if good and digits > 0:
        _store(table, row, column, -value if negative else value, max(decimals, 0))
    else:
        _store(table, row, column, start, t.MALFORMED)


@inlined
def _two(base, at):
    """A number of two digits, or more than 99."""
    return _digit(base, at) * 10 + _digit(base, at + 1) if _digit(base, at) <= 9 else 999


@kernel
def days_since_1970(base, at):
    """The days of YYYYMMDD, or a number below what any date has."""
    for i in range(8):
        if _digit(base, at + i) > 9:
            return -(1 << 40)
    year = _two(base, at) * 100 + _two(base, at + 2)
    month, day = _two(base, at + 4), _two(base, at + 6)
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    last = 31
    if month == 2:
        last = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        last = 30
    if year < 1 or month < 1 or month > 12 or day < 1 or day > last:
        return -(1 << 40)
    # Days of the years before, then of the months before with March as the first.
    shifted = year - (1 if month <= 2 else 0)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (9 if month <= 2 else -3)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@kernel
def nanoseconds_of_day(base, at, end):
    """HH:MM:SS with 0, 3, 6 or 9 decimals, or -1."""
    size = end - at
    if size != 8 and size != 12 and size != 15 and size != 18:
        return -1
    if load_u8(base, at + 2) != 58 or load_u8(base, at + 5) != 58:
        return -1
    hour, minute, second = _two(base, at), _two(base, at + 3), _two(base, at + 6)
    if hour > 23 or minute > 59 or second > 60:
        return -1
    fraction = 0
    if size > 8:
        if load_u8(base, at + 8) != 46:
            return -1
        for i in range(9):
            digit = _digit(base, at + 9 + i) if at + 9 + i < end else 0
            if digit > 9:
                return -1
            fraction = fraction * 10 + digit
    return (hour * 3600 + minute * 60 + second) * _SECOND + fraction


@kernel
def _read_time(base, at, end, kind, table, row, column):
    """A date, a time or both."""
    value, good = 0, False
    if kind == t.DATE:
        if end - at == 8:
            value = days_since_1970(base, at)
            good = value > -(1 << 40)
    elif kind == t.TIMESTAMP:
        if end - at > 9 and load_u8(base, at + 8) == 45:
            days, rest = days_since_1970(base, at), nanoseconds_of_day(base, at + 9, end)
            good = rest >= 0 and -106_751 <= days <= 106_750  # what 64 bits hold: 1677 to 2262
            value = days * 86_400 * _SECOND + rest if good else 0
    elif end - at == 9:  # hhmmssSSS, as B3's text has it
        value, good = _short_time(base, at)
    else:
        value = nanoseconds_of_day(base, at, end)
        good = value >= 0
    if good:
        _store(table, row, column, value, 0)
    else:
        _store(table, row, column, at, t.MALFORMED)


@kernel
def _short_time(base, at):
    for i in range(9):
        if _digit(base, at + i) > 9:
            return 0, False
    hour, minute, second = _two(base, at), _two(base, at + 2), _two(base, at + 4)
    thousandths = _digit(base, at + 6) * 100 + _two(base, at + 7)
    good = hour <= 23 and minute <= 59 and second <= 60
    return (hour * 3600 + minute * 60 + second) * _SECOND + thousandths * 1_000_000, good


@inlined
def _read_value(base, at, end, kind, table, row, column):
    if kind == t.SLICE:
        _store(table, row, column, at, end - at)
    elif kind == t.INTEGER:
        _read_integer(base, at, end, table, row, column)
    elif kind == t.DECIMAL:
        _read_decimal(base, at, end, table, row, column)
    elif kind == t.COUNT or kind == t.GROUP:
        if at < end and load_u8(base, at) == 45:
            _store(table, row, column, at, t.MALFORMED)
        else:
            _read_integer(base, at, end, table, row, column)
    else:
        _read_time(base, at, end, kind, table, row, column)


@inlined
def _table_of(context, block):
    return load_i64(context, t.TABLES) + block * t.TABLE_SIZE


@inlined
def _member(context, block, field):
    if field < 0:
        return t.NO_MEMBER
    return load_i32(load_i64(context, t.MEMBERS), (block * load_i64(context, t.FIELDS) + field) * 4)


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


@inlined
def _wrong(outcome, reason, tag):
    if load_i64(outcome, t.OUT_REASON) == t.NO_PROBLEM:
        store_64(outcome, t.OUT_REASON, reason)
        store_64(outcome, t.OUT_TAG, tag)


@inlined
def _count_unknown(outcome):
    store_64(outcome, t.OUT_UNKNOWN, load_i64(outcome, t.OUT_UNKNOWN) + 1)


@kernel
def _close_group(level, outcome):
    """The end of a group: its count must be that of its entries."""
    if load_i64(level, t.LEVEL_ENTRIES) != load_i64(level, t.LEVEL_COUNT):
        _wrong(outcome, t.GROUP_COUNT, load_i64(level, t.LEVEL_TAG))


@kernel
def _open_group(base, at, end, tag, block, parent, context, depth):
    """Begin to read a group; the new depth, or the same where the count is no number."""
    size = end - at
    if size < 1 or size > 9 or depth >= t.MAX_DEPTH:
        return depth
    count = 0
    for i in range(at, end):
        digit = _digit(base, i)
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
def _is_of_outer(context, field, body, depth):
    """Whether a field belongs to a block around the innermost group."""
    if _member(context, t.HEADER_BLOCK, field) >= 0 or _member(context, t.TRAILER_BLOCK, field) >= 0:
        return True
    if _member(context, body, field) >= 0:
        return True
    for i in range(depth - 1):
        level = load_i64(context, t.STACK) + i * t.LEVEL_SIZE
        if _member(context, load_i64(level, t.LEVEL_BLOCK), field) >= 0:
            return True
    return False


# What became of a field that stands in a group.
_TAKEN, _ENDS_GROUP, _FULL = 0, 1, 2


@inlined
def _take_in_group(base, tag, field, at, end, context, outcome, body, depth):
    """A field within the innermost group. Gives what became of it, and the depth after it."""
    level = load_i64(context, t.STACK) + (depth - 1) * t.LEVEL_SIZE
    block, lead = load_i64(level, t.LEVEL_BLOCK), load_i64(level, t.LEVEL_LEAD)
    member = _member(context, block, field)
    if member < 0:
        if lead < 0 or _is_of_outer(context, field, body, depth):
            return _ENDS_GROUP, depth
        _count_unknown(outcome)
        return _TAKEN, depth
    table = _table_of(context, block)
    row = load_i64(level, t.LEVEL_ROW)
    if tag == lead or lead < 0:
        row = _new_row(table, load_i64(level, t.LEVEL_PARENT))
        if row < 0:
            return _FULL, depth
        store_64(level, t.LEVEL_ROW, row)
        store_64(level, t.LEVEL_LEAD, tag)
        store_64(level, t.LEVEL_ENTRIES, load_i64(level, t.LEVEL_ENTRIES) + 1)
    column, kind = member & t.COLUMN_MASK, (member >> t.KIND_SHIFT) & t.KIND_MASK
    if _is_set(table, row, column):
        _wrong(outcome, t.GROUP_ORDER, tag)
        return _TAKEN, depth
    _read_value(base, at, end, kind, table, row, column)
    if kind == t.GROUP:
        return _TAKEN, _open_group(base, at, end, tag, (member >> t.CHILD_SHIFT) - 1, row, context, depth)
    return _TAKEN, depth


@inlined
def _take_outside(base, tag, field, at, end, context, outcome, rows, phase):
    """A field of header, body or trailer. Gives the phase and the depth after it. `rows` are the block of the
    body and the row of each part."""
    body, header_row, body_row, trailer_row = rows
    place, block, row = 1, body, body_row
    member = _member(context, t.HEADER_BLOCK, field)
    if member >= 0:
        place, block, row = 0, t.HEADER_BLOCK, header_row
    else:
        member = _member(context, t.TRAILER_BLOCK, field)
        if member >= 0:
            place, block, row = 2, t.TRAILER_BLOCK, trailer_row
        else:
            member = _member(context, body, field)
    if place < phase:
        _wrong(outcome, t.OUT_OF_ORDER, tag)
    phase = max(phase, place)
    if member < 0:
        _count_unknown(outcome)
        return phase, 0
    table = _table_of(context, block)
    column, kind = member & t.COLUMN_MASK, (member >> t.KIND_SHIFT) & t.KIND_MASK
    if _is_set(table, row, column):
        _wrong(outcome, t.TWICE, tag)
        return phase, 0
    _read_value(base, at, end, kind, table, row, column)
    if kind == t.GROUP:
        return phase, _open_group(base, at, end, tag, (member >> t.CHILD_SHIFT) - 1, row, context, 0)
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
        digit = _digit(base, i)
        if digit > 9:
            return -1
        wanted = wanted * 10 + digit
    if at + wanted >= end or load_u8(base, at + wanted) != 1:
        return -1
    return at + wanted


@kernel
def _read_message(base, at, end, context, outcome, rows):
    """All fields of one message. A fault, or -1 where a table is full."""
    if end <= at or load_u8(base, end - 1) != 1:
        return t.BAD_FIELD
    field_of_tag, data_of_field = load_i64(context, t.FIELD_OF_TAG), load_i64(context, t.DATA_OF_FIELD)
    body, depth, phase = rows[0], 0, 0
    awaited, length_at, length_end = -1, 0, 0  # the data field that the last length measures
    while at < end:
        first, negative, tag = at, 0, 0
        if load_u8(base, at) == 45:
            negative, at, first = 1, at + 1, at + 1
        digit = _digit(base, at)
        while digit <= 9:
            tag = tag * 10 + digit
            at += 1
            if at - first > 9:
                return t.BAD_FIELD
            digit = _digit(base, at)
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
            while load_u8(base, at) != 1:
                at += 1
        awaited = load_i32(data_of_field, field * 4) if field >= 0 else -1
        length_at, length_end = start, at
        told = _ENDS_GROUP
        while depth > 0 and told == _ENDS_GROUP:
            told, depth = _take_in_group(base, tag, field, start, at, context, outcome, body, depth)
            if told == _FULL:
                return -1
            if told == _ENDS_GROUP:
                depth -= 1
                _close_group(load_i64(context, t.STACK) + depth * t.LEVEL_SIZE, outcome)
        if told == _ENDS_GROUP:
            phase, depth = _take_outside(base, tag, field, start, at, context, outcome, rows, phase)
        at += 1
    while depth > 0:
        depth -= 1
        _close_group(load_i64(context, t.STACK) + depth * t.LEVEL_SIZE, outcome)
    return t.NONE


@kernel
def _take_back(context):
    """Forget the rows of the message under way."""
    for block in range(load_i64(context, t.TABLE_COUNT)):
        table = _table_of(context, block)
        store_64(table, t.TABLE_ROWS, load_i64(table, t.TABLE_SAVED))


@kernel
def _begin_message(context, outcome):
    for block in range(load_i64(context, t.TABLE_COUNT)):
        table = _table_of(context, block)
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
        header_row = _new_row(_table_of(context, t.HEADER_BLOCK), index)
        trailer_row = _new_row(_table_of(context, t.TRAILER_BLOCK), index)
        body_row = _new_row(_table_of(context, body), index)
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
        size, digits, digit = 0, 0, _digit(base, place)
        while digit <= 9 and digits < 9:
            size, digits, place = size * 10 + digit, digits + 1, place + 1
            digit = _digit(base, place) if place < end else 99
        body_end = place + 1 + size
        if not same or digits < 1 or place >= end or load_u8(base, place) != 1 or body_end + 7 - at > longest:
            break
        if body_end + 7 > end or size < 4 or load_u8(base, body_end - 1) != 1:
            break
        total = 0
        for i in range(at, body_end):
            total += load_u8(base, i)
        given = _digit(base, body_end + 3) * 100 + _two(base, body_end + 4)
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
