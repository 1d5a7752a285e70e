"""Fields after their operators, written to their columns: the twins are in `operators`."""

from pregao.codecs.fast import kernel_tables as t
from pregao.codecs.fast.kernels.strings import check_utf8, delta_of, sent_string, tail_of
from pregao.codecs.fast.kernels.wire import NULL_STATE, added, report, sent_ascii, sent_integer, wide_integer
from pregao.kernels import inlined, kernel, load_i64, store_8, store_64


@inlined
def entry_of(context, pc):
    return load_i64(context, t.SLOTS) + load_i64(pc, t.SLOT) * t.ENTRY * 8


@inlined
def entry_state(entry, context):
    """0: undefined in this message."""
    state = load_i64(entry, t.ENTRY_STATE) - load_i64(context, t.EPOCH)
    return state if 0 < state < t.STATES else 0


@inlined
def remember(entry, present, value, context, pc):
    state = t.ASSIGNED + load_i64(pc, t.TYPE) if present else t.EMPTY
    store_64(entry, t.ENTRY_STATE, load_i64(context, t.EPOCH) + state)
    store_64(entry, t.ENTRY_VALUE, value)


@inlined
def store_value(row, value, pc):
    store_64(load_i64(pc, t.VALUES), row * 8, value)
    store_8(load_i64(pc, t.VALID), row, 1)


@inlined
def left_out(entry, operator, context, pc):
    """Copy, increment or tail without its bit: (value, present, fault)."""
    state = entry_state(entry, context)
    value, present = load_i64(entry, t.ENTRY_VALUE), state >= t.ASSIGNED
    if state == 0:
        value, present = load_i64(pc, t.INITIAL), load_i64(pc, t.HAS_INITIAL) != 0
        if not present and not load_i64(pc, t.NULLABLE):
            return value, present, t.NO_PREVIOUS
    elif present:
        if state != t.ASSIGNED + load_i64(pc, t.TYPE):
            return value, present, t.WRONG_PREVIOUS
        if operator == t.OP_INCREMENT:
            value = load_i64(pc, t.MINIMUM) if value == load_i64(pc, t.MAXIMUM) else value + 1
    elif not load_i64(pc, t.NULLABLE):
        return value, present, t.NULL_IN_MANDATORY
    remember(entry, present, value, context, pc)
    return value, present, 0


@kernel
def delta_base(entry, context, pc):
    """What a delta is added to: (value, fault)."""
    state = entry_state(entry, context)
    if state == 0:
        return load_i64(pc, t.INITIAL), 0  # 0 or an empty slice where there is none
    if state == t.EMPTY:
        return 0, t.NULL_IN_MANDATORY
    if state != t.ASSIGNED + load_i64(pc, t.TYPE):
        return 0, t.WRONG_PREVIOUS
    return load_i64(entry, t.ENTRY_VALUE), 0


@inlined
def integer_delta(base, at, end, context, pc):
    """(value, present, offset behind it, fault)."""
    start = at
    low, high, at, state = wide_integer(base, at, end, load_i64(pc, t.NULLABLE), context, pc)
    if state:
        return 0, False, at, 0 if state == NULL_STATE else state
    entry = entry_of(context, pc)
    old, fault = delta_base(entry, context, pc)
    if fault:
        return 0, False, start, fault
    value, fits = added(old, low, high, load_i64(pc, t.TYPE))
    if not fits or value < load_i64(pc, t.MINIMUM) or value > load_i64(pc, t.MAXIMUM):
        return 0, False, start, t.VALUE_OUT_OF_RANGE
    remember(entry, True, value, context, pc)
    return value, True, at, 0


@inlined
def integer_field(base, at, end, operator, bit, row, context, pc):
    """(value, present, offset behind it, fault)."""
    if operator == t.OP_DELTA:
        value, present, at, fault = integer_delta(base, at, end, context, pc)
        if fault:
            return value, present, at, fault
    elif operator == t.OP_NONE or (bit and operator != t.OP_CONSTANT):
        value, at, state = sent_integer(base, at, end, context, pc)
        if state > NULL_STATE:
            return value, False, at, state
        present = state == 0
        if operator >= t.OP_COPY:
            remember(entry_of(context, pc), present, value, context, pc)
    elif operator <= t.OP_DEFAULT:
        value = load_i64(pc, t.INITIAL)
        present = load_i64(pc, t.HAS_INITIAL) != 0
        if operator == t.OP_CONSTANT and load_i64(pc, t.HAS_BIT) and not bit:
            present = False
    else:
        value, present, fault = left_out(entry_of(context, pc), operator, context, pc)
        if fault:
            return value, False, at, fault
    if present:
        store_value(row, value, pc)
    return value, present, at, 0


@kernel
def _sent_decimal(base, at, end, context, pc):
    """(mantissa, exponent, offset behind it, state)."""
    exponent, at, state = sent_integer(base, at, end, context, pc)
    if state:
        return 0, 0, at, state
    start = at
    low, high, at, state = wide_integer(base, at, end, 0, context, pc)
    if state:
        return 0, 0, at, state
    if high != low >> 63:
        return 0, 0, start, t.INTEGER_OUT_OF_RANGE
    return low, exponent, at, 0


@kernel
def _decimal_delta(base, start, end, context, pc):
    """(mantissa, exponent, offset behind it, state)."""
    low, high, at, state = wide_integer(base, start, end, load_i64(pc, t.NULLABLE), context, pc)
    if state:
        return 0, 0, at, state
    entry = entry_of(context, pc)
    old, fault = delta_base(entry, context, pc)
    if fault:
        return 0, 0, start, fault
    old_exponent = load_i64(pc, t.INITIAL_EXPONENT)
    if entry_state(entry, context):
        old_exponent = load_i64(entry, t.ENTRY_EXPONENT)
    more, above, at, state = wide_integer(base, at, end, 0, context, pc)
    if state:
        return 0, 0, at, state
    exponent, fits = added(old_exponent, low, high, t.DECIMAL)
    if not fits or exponent < load_i64(pc, t.MINIMUM) or exponent > load_i64(pc, t.MAXIMUM):
        return 0, 0, start, t.VALUE_OUT_OF_RANGE
    mantissa, fits = added(old, more, above, t.DECIMAL)
    if not fits:
        return 0, 0, start, t.VALUE_OUT_OF_RANGE
    remember(entry, True, mantissa, context, pc)
    store_64(entry, t.ENTRY_EXPONENT, exponent)
    return mantissa, exponent, at, 0


@kernel
def decimal_field(base, at, end, operator, bit, row, context, pc):
    """A decimal with one operator: (present, offset behind it, fault)."""
    start = at
    exponent = load_i64(pc, t.INITIAL_EXPONENT)
    if operator == t.OP_DELTA or operator == t.OP_NONE or (bit and operator != t.OP_CONSTANT):
        if operator == t.OP_DELTA:
            mantissa, exponent, at, state = _decimal_delta(base, at, end, context, pc)
        else:
            mantissa, exponent, at, state = _sent_decimal(base, at, end, context, pc)
        if state > NULL_STATE:
            return False, at, state
        present = state == 0
        if operator == t.OP_COPY:
            entry = entry_of(context, pc)
            remember(entry, present, mantissa, context, pc)
            store_64(entry, t.ENTRY_EXPONENT, exponent)
    elif operator <= t.OP_DEFAULT:
        mantissa = load_i64(pc, t.INITIAL)
        present = load_i64(pc, t.HAS_INITIAL) != 0
        if operator == t.OP_CONSTANT and load_i64(pc, t.HAS_BIT) and not bit:
            present = False
        if operator == t.OP_CONSTANT:
            start = -1  # never beyond ±63
    else:
        entry = entry_of(context, pc)
        if entry_state(entry, context):
            exponent = load_i64(entry, t.ENTRY_EXPONENT)
        mantissa, present, fault = left_out(entry, operator, context, pc)
        if fault:
            return False, at, fault
        store_64(entry, t.ENTRY_EXPONENT, exponent)
    if present:
        store_value(row, mantissa, pc)
        store_64(load_i64(pc, t.EXPONENT_VALUES), row * 8, exponent)
        if start >= 0 and (exponent < -t.MAX_EXPONENT or exponent > t.MAX_EXPONENT):
            fault = report(context, t.EXPONENT_OUT_OF_RANGE, start, pc)
            if fault:
                return present, start, fault
    return present, at, 0


@kernel
def _string_delta(base, start, end, context, pc):
    """(slice, offset behind it, state)."""
    low, high, at, state = wide_integer(base, start, end, load_i64(pc, t.NULLABLE), context, pc)
    if state:
        return 0, at, state
    entry = entry_of(context, pc)
    old, fault = delta_base(entry, context, pc)
    if fault:
        return 0, start, fault
    piece, at, fault = delta_of(base, start, at, end, low, high, old, context, pc)
    if fault:
        return 0, at, fault
    remember(entry, True, piece, context, pc)
    return piece, at, 0


@kernel
def _string_tail(base, start, end, context, pc):
    """(slice, offset behind it, state)."""
    piece, at, state = sent_string(base, start, end, load_i64(pc, t.NULLABLE), context, pc)
    entry = entry_of(context, pc)
    if state:
        if state == NULL_STATE:
            remember(entry, False, 0, context, pc)
        return 0, at, state
    known = entry_state(entry, context)
    old = load_i64(pc, t.INITIAL)
    if known >= t.ASSIGNED:
        if known != t.ASSIGNED + load_i64(pc, t.TYPE):
            return 0, start, t.WRONG_PREVIOUS
        old = load_i64(entry, t.ENTRY_VALUE)
    piece, fault = tail_of(base, piece, old, context, pc)
    if fault:
        return 0, start, fault
    remember(entry, True, piece, context, pc)
    return piece, at, 0


@inlined
def string_field(base, at, end, operator, bit, row, context, pc):
    """(present, offset behind it, fault)."""
    start = at
    if operator == t.OP_NONE or (bit and (operator == t.OP_DEFAULT or operator == t.OP_COPY)):
        if load_i64(pc, t.TYPE) == t.ASCII:
            value, at, state = sent_ascii(base, at, end, load_i64(pc, t.NULLABLE), context, pc)
        else:
            value, at, state = sent_string(base, at, end, load_i64(pc, t.NULLABLE), context, pc)
        if state > NULL_STATE:
            return False, at, state
        present = state == 0
        if operator == t.OP_COPY:
            remember(entry_of(context, pc), present, value, context, pc)
    elif operator <= t.OP_DEFAULT:
        value = load_i64(pc, t.INITIAL)
        present = load_i64(pc, t.HAS_INITIAL) != 0
        if operator == t.OP_CONSTANT and load_i64(pc, t.HAS_BIT) and not bit:
            present = False
    elif operator == t.OP_DELTA or bit:
        if operator == t.OP_DELTA:
            value, at, state = _string_delta(base, at, end, context, pc)
        else:
            value, at, state = _string_tail(base, at, end, context, pc)
        if state > NULL_STATE:
            return False, at, state
        present = state == 0
    else:
        value, present, fault = left_out(entry_of(context, pc), operator, context, pc)
        if fault:
            return False, at, fault
    if present:
        store_value(row, value, pc)
        if load_i64(pc, t.TYPE) == t.UNICODE and operator != t.OP_CONSTANT:
            fault = check_utf8(base, value, start, context, pc)
            if fault:
                return present, start, fault
    return present, at, 0
