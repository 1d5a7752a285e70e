"""Entries of one message to bytes: `entry_encoder` again, by tables. All numbers and addresses: see
`pregao.kernels`. What an entry is made of is in `entry_tables`.

A body is written behind the room that its map may need, and moved to it: a map is as short as it can be.
"""

from pregao.codecs.fast import entry_tables as t
from pregao.kernels import inlined, kernel, load_i64, load_u8, store_8, store_64


@inlined
def write_number(out, at, value, signed):
    """An integer in as few bytes as it needs; the offset behind it."""
    size, rest = 1, value >> (6 if signed else 7)  # the sign is in the first byte
    while rest != 0 and rest != -1:
        rest >>= 7
        size += 1
    for index in range(size - 1, -1, -1):
        store_8(out, at + index, value & 0x7F)
        value >>= 7
    store_8(out, at + size - 1, load_u8(out, at + size - 1) | 0x80)
    return at + size


@kernel
def write_text(out, at, word):
    """A text that is a word (`entry_tables`); -1: one whose first byte says something else."""
    if word < 0 or word >= t.LONGEST_LEAST:
        value, size = word, t.LONGEST_TEXT
        if word < 0:
            word = -word - 1
            value, size = word & ((1 << t.DIGITS_SHIFT) - 1), word >> t.DIGITS_SHIFT
        for index in range(size - 1, -1, -1):
            store_8(out, at + index, 48 + value % 10)
            value //= 10
    else:
        size = word >> t.LENGTH_SHIFT
        for index in range(size):
            store_8(out, at + index, (word >> (8 * (size - 1 - index))) & 0x7F)
        if size == 0 or load_u8(out, at) == 0:
            return -1
    store_8(out, at + size - 1, load_u8(out, at + size - 1) | 0x80)
    return at + size


@inlined
def write_value(out, at, value, step):
    """A value as its field sends it; -1: not within its type, or not for this kernel."""
    if load_i64(step, t.KIND) == t.TEXT:
        return write_text(out, at, value)
    if value < load_i64(step, t.LOW) or value > load_i64(step, t.HIGH):
        return -1
    if load_i64(step, t.NULLABLE) and value >= 0:
        value += 1
    return write_number(out, at, value, load_i64(step, t.KIND) == t.SIGNED)


@inlined
def write_delta(out, at, value, known, nullable):
    """The way from a value to another, which may be wider than either."""
    if value < -t.WIDEST or value > t.WIDEST:
        return -1
    change = value - known
    if nullable and change >= 0:
        change += 1
    return write_number(out, at, change, True)


@kernel
def write_by_previous(out, at, words, step, state):
    """Copy and increment: the offset, and whether something was sent."""
    place, slot = load_i64(step, t.VALUE), state + load_i64(step, t.SLOT)
    has = place != 0
    value = load_i64(words, place) if has else 0
    known = load_i64(slot, 0)
    if known == t.UNSET:
        expected, expects = load_i64(step, t.INITIAL), load_i64(step, t.HAS_INITIAL) != 0
    else:
        expected, expects = load_i64(slot, 8), known == t.KNOWN
        last = load_i64(step, t.LAST)
        if last and expects:
            expected = 0 if expected == last else expected + 1
    store_64(slot, 0, t.KNOWN if has else t.EMPTY)
    store_64(slot, 8, value)
    if not has:
        if not expects and load_i64(step, t.OPTIONAL):
            return at, 0
        store_8(out, at, 0x80)
        return at + 1, 1
    if expects and value == expected:
        return at, 0
    return write_value(out, at, value, step), 1


@kernel
def write_decimal(out, at, words, step, state):
    """Exponent by default, mantissa by delta: the offset, and whether the exponent was sent."""
    place, slot = load_i64(step, t.VALUE), state + load_i64(step, t.SLOT)
    exponent, sent = load_i64(words, load_i64(step, t.EXPONENT)), 0
    if load_i64(step, t.HAS_INITIAL) == 0 or exponent != load_i64(step, t.INITIAL_EXPONENT):
        at, sent = write_value(out, at, exponent, step), 1
        if at < 0:
            return at, sent
    mantissa = load_i64(words, place)
    known = load_i64(slot, 8) if load_i64(slot, 0) == t.KNOWN else load_i64(step, t.INITIAL)
    store_64(slot, 0, t.KNOWN)
    store_64(slot, 8, mantissa)
    return write_delta(out, at, mantissa, known, load_i64(step, t.MANTISSA_NULLABLE)), sent


@kernel
def write_map(out, at, bits, width):
    """Bits from the first to the last that is set; the offset behind them."""
    last = 0
    for index in range(width):
        if (bits >> index) & 1:
            last = index
    size = last // 7 + 1
    for index in range(size):
        store_8(out, at + index, 0)
    for index in range(last + 1):
        if (bits >> index) & 1:
            store_8(out, at + index // 7, load_u8(out, at + index // 7) | (0x40 >> (index % 7)))
    store_8(out, at + size - 1, load_u8(out, at + size - 1) | 0x80)
    return at + size


@kernel
def write_step(out, at, words, step, state):
    """One field of an entry: the offset, and whether its bit is set."""
    code = load_i64(step, t.CODE)
    if code == t.FIXED:
        for _ in range(load_i64(step, t.VALUE)):
            store_8(out, at, 0x80)
            at += 1
        return at, 0
    if code == t.PREVIOUS:
        return write_by_previous(out, at, words, step, state)
    if code == t.DECIMAL:
        return write_decimal(out, at, words, step, state)
    value = load_i64(words, load_i64(step, t.VALUE))
    if code == t.PLAIN:
        return write_value(out, at, value, step), 0
    if code == t.DEFAULT:
        if load_i64(step, t.HAS_INITIAL) and value == load_i64(step, t.INITIAL):
            return at, 0
        return write_value(out, at, value, step), 1
    slot = state + load_i64(step, t.SLOT)
    known = load_i64(slot, 8) if load_i64(slot, 0) == t.KNOWN else load_i64(step, t.INITIAL)
    store_64(slot, 0, t.KNOWN)
    store_64(slot, 8, value)
    return write_delta(out, at, value, known, load_i64(step, t.NULLABLE)), 0


@kernel
def encode_entries(words, count, table, state, slots, out):
    """So many entries, one after the other in `words`; how many bytes they are, -1: the plain encoder must
    look at them."""
    for index in range(slots):
        store_64(state, index * t.STATE_BYTES, t.UNSET)
    at = 0
    for _ in range(count):
        shape = table + load_i64(words, 0)
        width, bits = load_i64(shape, t.WIDTH), load_i64(shape, t.BITS)
        begin = at
        body = at + (width + 6) // 7
        at = body
        step = shape + t.SHAPE_BYTES
        for _ in range(load_i64(shape, t.STEPS)):
            at, sets = write_step(out, at, words, step, state)
            if at < 0:
                return -1
            if sets:
                bits |= load_i64(step, t.BIT)
            step += t.STEP_BYTES
        if width:
            end = write_map(out, begin, bits, width)
            if end < body:
                for index in range(at - body):
                    store_8(out, end + index, load_u8(out, body + index))
                at -= body - end
        words += load_i64(shape, t.WORDS) * 8
    return at
