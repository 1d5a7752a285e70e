"""Many FAST messages at once: an interpreter of the program that `plan` makes of templates, to columns.

Nothing here is compiled for a template file. A message that is at fault leaves no rows; one that does not fit
the tables is decoded again when there is room.
"""

from pregao.codecs.fast import kernel_tables as t
from pregao.codecs.fast.kernels.fields import decimal_field, integer_field, string_field
from pregao.codecs.fast.kernels.wire import report, slow_integer
from pregao.kernels import inlined, kernel, load_i32, load_i64, load_u8, store_8, store_64


@kernel
def _long_map(base, at, end):
    """A presence map of more than a byte: (word, bits left in it, where more are, offset behind, fault). The
    next bit is the sign of the word."""
    stop = at
    while stop < end and load_u8(base, stop) & 0x80 == 0:
        stop += 1
    if stop >= end:
        return 0, 0, 0, at, t.MAP_WITHOUT_END
    word, left, more = _map_word(base, at)
    return word, left, more, stop + 1, 0


@kernel
def _map_word(base, at):
    """Up to nine bytes of a map, which is known to end."""
    word, size = 0, 0
    while size < 9:
        byte = load_u8(base, at + size)
        word = (word << 7) | (byte & 0x7F)
        size += 1
        if byte & 0x80:
            return word << (64 - 7 * size), t.WHOLE_MAP, 0
    return word << 1, 63, at + 9


@inlined
def read_map(base, at, end):
    if at < end:
        byte = load_u8(base, at)
        if byte & 0x80:
            return (byte & 0x7F) << 57, t.WHOLE_MAP, 0, at + 1, 0
    return _long_map(base, at, end)


@kernel
def _has_more_bits(base, more):
    """Whether a bit is set in what is left of a long map."""
    while True:
        byte = load_u8(base, more)
        if byte & 0x7F:
            return True
        if byte & 0x80:
            return False
        more += 1


@inlined
def is_overlong(base, at, behind):
    return behind - at > 1 and load_u8(base, behind - 1) == 0x80


@inlined
def new_row(table, origin, site, context):
    """A row of a table, or -1 where it is full."""
    row = load_i64(table, t.TABLE_ROWS)
    if row == load_i64(table, t.TABLE_ROOM):
        store_64(context, t.FULL_TABLE, table)
        return -1
    message = load_i64(context, t.MESSAGE)
    if load_i64(table, t.TABLE_STAMP) != message:
        store_64(table, t.TABLE_STAMP, message)
        store_64(table, t.TABLE_BEFORE, row)
    store_64(table, t.TABLE_ROWS, row + 1)
    store_64(load_i64(table, t.TABLE_ORIGINS), row * 8, origin)
    if site >= 0:
        store_64(load_i64(table, t.TABLE_SITES), row * 8, site)
    return row


@kernel
def find_template(number, context):
    """Index of a template + 1; 0: there is none."""
    if 0 <= number < t.LOW_TEMPLATES:
        return load_i32(load_i64(context, t.LOW), number * 4)
    for index in range(load_i64(context, t.TEMPLATE_COUNT)):
        if load_i64(load_i64(context, t.TEMPLATES), index * t.TEMPLATE_ROW * 8) == number:
            return index + 1
    return 0


@kernel
def segment_template(base, map_at, at, end, has_id, context):
    """The template of a segment: (row of `templates`, offset behind its id, fault)."""
    index = load_i64(context, t.TEMPLATE)
    if not has_id:
        if index == 0:
            return 0, map_at, t.NO_TEMPLATE
    else:
        start = at
        low, high, at, fault = slow_integer(base, at, end, 0, 0, context, 0)
        if fault:
            return 0, at, fault
        if high != 0 or low < 0 or low > 0xFFFFFFFF:
            return 0, start, t.INTEGER_OUT_OF_RANGE
        index = find_template(low, context)
        if index == 0:
            return 0, start, t.UNKNOWN_TEMPLATE
        store_64(context, t.TEMPLATE, index)
    return load_i64(context, t.TEMPLATES) + (index - 1) * t.TEMPLATE_ROW * 8, at, 0


@kernel
def decode_message(base, at, end, context):
    """One message to rows: (fault or NEEDS_ROOM, its offset, its instruction)."""
    bottom = load_i64(context, t.STACK)
    frame, depth = bottom, 0
    row, pc, start = load_i64(context, t.MESSAGE), 0, at
    word, left, more, map_start = 0, t.WHOLE_MAP, 0, at
    value, present, site = 0, False, -1
    while True:
        if pc == 0:  # a segment begins: a message, or one that is referred to
            map_start = at
            word, left, more, at, fault = read_map(base, at, end)
            if fault:
                return fault, at, 0
            behind = at
            template, at, fault = segment_template(base, map_start, at, end, word < 0, context)
            if fault:
                return fault, at, 0
            word, left = word << 1, left - 1
            begin = t.REFERRED_PC if site >= 0 else t.ROOT_PC
            pc = load_i64(context, t.PROGRAM) + load_i64(template, begin) * t.STEP
            table = load_i64(context, t.TABLES) + load_i64(template, begin + 8) * t.TABLE_SIZE * 8
            row = new_row(table, row, site, context)
            if row < 0:
                return t.NEEDS_ROOM, at, pc
            if is_overlong(base, map_start, behind):
                fault = report(context, t.OVERLONG_MAP, map_start, pc)
                if fault:
                    return fault, map_start, pc
        op = load_i64(pc, t.OP)
        has_bit = load_i64(pc, t.HAS_BIT)
        bit = False
        if has_bit:
            bit = word < 0
            word, left = word << 1, left - 1
            if left == 0:
                word, left, more = _map_word(base, more)
            if has_bit > 1 and not bit:
                pc += has_bit
                continue
        null_skip = load_i64(pc, t.NULL_SKIP)
        if null_skip and (bit or not has_bit) and at < end and load_u8(base, at) == 0x80:
            at += 1
            pc += null_skip
            continue
        if op < t.CONTROL:
            start = at
            kind = op & ~7
            if kind == t.STRINGS:
                present, at, fault = string_field(base, at, end, op & 7, bit, row, context, pc)
            elif kind == t.DECIMALS:
                present, at, fault = decimal_field(base, at, end, op & 7, bit, row, context, pc)
            else:
                value, present, at, fault = integer_field(base, at, end, op & 7, bit, row, context, pc)
                if kind == t.EXPONENTS and fault == 0:
                    if not present:
                        pc += t.STEP  # the mantissa is absent with it
                    elif value < -t.MAX_EXPONENT or value > t.MAX_EXPONENT:
                        fault = report(context, t.EXPONENT_OUT_OF_RANGE, start, pc)
                        if fault:
                            at = start
            if fault:
                return fault, at, pc
            pc += t.STEP
            continue
        if op == t.NULL_RUN:
            pc += t.STEP
            word_8 = load_i64(base, at) if at + 8 <= end else 0
            if word_8 & load_i64(pc, t.PATTERN_MASK - t.STEP) == load_i64(pc, t.PATTERN - t.STEP):
                at += load_i64(pc, t.COUNT - t.STEP)
                pc += load_i64(pc, t.SKIP - t.STEP)
            continue
        if op == t.ABSENT_RUN:
            pc += t.STEP
            count = load_i64(pc, t.COUNT - t.STEP)
            if word >> (64 - count) == 0 and left > count:
                word, left = word << count, left - count
                pc += load_i64(pc, t.SKIP - t.STEP)
            continue
        if op == t.SEQUENCE:
            if not present or value == 0:
                pc = load_i64(context, t.PROGRAM) + load_i64(pc, t.BEHIND) * t.STEP
                continue
            least = load_i64(pc, t.LEAST)
            if value > ((end - at) // least if least else t.MAX_EMPTY_ELEMENTS):
                return t.SEQUENCE_PAST_MESSAGE, start, pc - t.STEP
            store_64(frame, t.ELEMENTS, value)
        if op == t.ELEMENT_END or op == t.SEQUENCE:
            if op == t.SEQUENCE:
                _save(frame, row, word, left, more, map_start)
                frame += t.FRAME * 8
            else:
                if load_i64(pc, t.HAS_MAP) and (word != 0 or (left < 64 and _has_more_bits(base, more))):
                    fault = report(context, t.UNUSED_MAP_BITS, map_start, pc)
                    if fault:
                        return fault, map_start, pc
                value = load_i64(frame, t.ELEMENTS - t.FRAME * 8) - 1
                store_64(frame, t.ELEMENTS - t.FRAME * 8, value)
                if value == 0:
                    frame -= t.FRAME * 8
                    row, word, left = load_i64(frame, 0), load_i64(frame, t.SAVED_WORD), load_i64(frame, 16)
                    more, map_start = load_i64(frame, t.SAVED_MORE), load_i64(frame, t.SAVED_MAP)
                    pc += t.STEP
                    continue
                pc = load_i64(context, t.PROGRAM) + load_i64(pc, t.BEHIND) * t.STEP
            table = load_i64(context, t.TABLES) + load_i64(pc, t.TABLE) * t.TABLE_SIZE * 8
            row = new_row(table, load_i64(frame, t.SAVED_ROW - t.FRAME * 8), -1, context)
            if row < 0:
                return t.NEEDS_ROOM, at, pc
        if op == t.GROUP:
            if load_i64(pc, t.HAS_BIT):
                if not bit:
                    pc = load_i64(context, t.PROGRAM) + load_i64(pc, t.BEHIND) * t.STEP
                    continue
                store_8(load_i64(pc, t.VALID), row, 1)
            if load_i64(pc, t.HAS_MAP):
                _save(frame, row, word, left, more, map_start)
                frame += t.FRAME * 8
        if op <= t.GROUP:  # an element or a group begins
            if load_i64(pc, t.HAS_MAP):
                map_start = at
                word, left, more, at, fault = read_map(base, at, end)
                if fault:
                    return fault, at, pc
                if is_overlong(base, map_start, at):
                    fault = report(context, t.OVERLONG_MAP, map_start, pc)
                    if fault:
                        return fault, map_start, pc
            # Without a map of its own it has no bits at all: that around it stays as it is.
            pc += t.STEP
            continue
        if op == t.REFERENCE:
            depth += 1
            if depth > t.MAX_REFERENCES:
                return t.TOO_DEEP, at, pc
            _save(frame, row, word, left, more, map_start)
            store_64(frame, t.SAVED_PC, pc + t.STEP)
            frame += t.FRAME * 8
            site, pc = load_i64(pc, t.BEHIND), 0
            continue
        # The end of a group or of a template.
        if load_i64(pc, t.HAS_MAP):
            if word != 0 or (left < 64 and _has_more_bits(base, more)):
                fault = report(context, t.UNUSED_MAP_BITS, map_start, pc)
                if fault:
                    return fault, map_start, pc
            if op == t.END and frame == bottom:
                return (t.BYTES_LEFT_OVER if at != end else 0), at, pc
            frame -= t.FRAME * 8
            word, left = load_i64(frame, t.SAVED_WORD), load_i64(frame, t.SAVED_LEFT)
            more, map_start = load_i64(frame, t.SAVED_MORE), load_i64(frame, t.SAVED_MAP)
        if op == t.END:
            depth -= 1
            row, pc = load_i64(frame, t.SAVED_ROW), load_i64(frame, t.SAVED_PC)
        else:
            pc += t.STEP


@inlined
def _save(frame, row, word, left, more, map_start):
    store_64(frame, t.SAVED_ROW, row)
    store_64(frame, t.SAVED_WORD, word)
    store_64(frame, t.SAVED_LEFT, left)
    store_64(frame, t.SAVED_MORE, more)
    store_64(frame, t.SAVED_MAP, map_start)


@kernel
def forget_rows(context):
    """All tables are empty again."""
    columns = load_i64(context, t.COLUMNS)
    for index in range(load_i64(context, t.TABLE_COUNT)):
        table = load_i64(context, t.TABLES) + index * t.TABLE_SIZE * 8
        rows = load_i64(table, t.TABLE_ROWS)
        if rows:
            for column in range(load_i64(table, t.TABLE_FIRST_COLUMN), load_i64(table, t.TABLE_LAST_COLUMN)):
                valid = load_i64(columns, column * 16 + 8)
                for row in range(rows):
                    store_8(valid, row, 0)
        store_64(table, t.TABLE_ROWS, 0)
        store_64(table, t.TABLE_STAMP, -1)


@kernel
def take_back(context):
    """Remove the rows of the message that is being decoded."""
    message = load_i64(context, t.MESSAGE)
    for index in range(load_i64(context, t.TABLE_COUNT)):
        table = load_i64(context, t.TABLES) + index * t.TABLE_SIZE * 8
        if load_i64(table, t.TABLE_STAMP) != message:
            continue
        before, rows = load_i64(table, t.TABLE_BEFORE), load_i64(table, t.TABLE_ROWS)
        for column in range(load_i64(table, t.TABLE_FIRST_COLUMN), load_i64(table, t.TABLE_LAST_COLUMN)):
            valid = load_i64(load_i64(context, t.COLUMNS), column * 16 + 8)
            for row in range(before, rows):
                store_8(valid, row, 0)
        store_64(table, t.TABLE_ROWS, before)
        store_64(table, t.TABLE_STAMP, -1)


@kernel
def copy_slots(source, target, context):
    for index in range(load_i64(context, t.SLOT_COUNT) * t.ENTRY):
        store_64(target, index * 8, load_i64(source, index * 8))


@kernel
def decode_messages(base, offsets, lengths, first, count, context):
    """Messages `first` to `count`: the next one to decode, which is not `count` where there was no room."""
    for index in range(first, count):
        if load_i64(context, t.HEAP_USED) + t.MAX_MADE > load_i64(context, t.HEAP_ROOM):
            return index
        heap_used, findings = load_i64(context, t.HEAP_USED), load_i64(context, t.FINDING_COUNT)
        store_64(context, t.MESSAGE, index)
        store_64(context, t.MADE, 0)
        if load_i64(context, t.RESETS):
            store_64(context, t.EPOCH, load_i64(context, t.EPOCH) + t.STATES)
            store_64(context, t.TEMPLATE, 0)
        else:
            copy_slots(load_i64(context, t.SLOTS), load_i64(context, t.SLOTS_BEFORE), context)
        template = load_i64(context, t.TEMPLATE)
        at, length = load_i64(offsets, index * 8), load_i64(lengths, index * 8)
        fault, where, pc = decode_message(base, at, at + length, context)
        if fault:
            take_back(context)
            store_64(context, t.HEAP_USED, heap_used)
            store_64(context, t.FINDING_COUNT, findings)
            if fault == t.NEEDS_ROOM:
                store_64(context, t.TEMPLATE, template)
                if not load_i64(context, t.RESETS):
                    copy_slots(load_i64(context, t.SLOTS_BEFORE), load_i64(context, t.SLOTS), context)
                return index
        outcome = load_i64(context, t.OUTCOMES) + index * t.OUTCOME * 8
        store_64(outcome, 0, fault)
        store_64(outcome, 8, where)
        store_64(outcome, 16, pc)
    return count
