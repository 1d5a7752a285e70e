"""Integers and strings of FAST, taken from a buffer. All numbers and addresses: see `pregao.kernels`.

An integer comes as its low 64 bits and what is above them (`high`, the sign where there is nothing else):
types of 64 bits need up to 66, NULL and deltas counted. `state` is 0 for a value, NULL_STATE, or a fault.
"""

import numpy as np

from pregao.codecs.fast import kernel_tables as t
from pregao.kernels import inlined, kernel, load_i64, load_u8, store_64

NULL_STATE = 1
MAX_INTEGER_BYTES = 10


@kernel
def report(context, fault, offset, pc):
    """Keep a reportable error; its number where one is strict, else 0."""
    if load_i64(context, t.STRICT):
        return fault
    count = load_i64(context, t.FINDING_COUNT)
    if count < load_i64(context, t.FINDING_ROOM):
        place = load_i64(context, t.FINDINGS) + count * t.FINDING * 8
        store_64(place, 0, load_i64(context, t.MESSAGE))
        store_64(place, 8, fault)
        store_64(place, 16, offset)
        store_64(place, 24, pc)
    store_64(context, t.FINDING_COUNT, count + 1)
    return 0


@kernel
def is_more(low, high):
    """Whether a number is above 0."""
    return high > 0 or (high == 0 and low != 0)


@kernel
def slow_integer(base, at, end, signed, nullable, context, pc):
    """An integer of any length: (low, high, offset behind it, state)."""
    stop = at
    while stop < end and load_u8(base, stop) & 0x80 == 0:
        stop += 1
    if stop >= end:
        return 0, 0, at, t.FIELD_WITHOUT_END
    first = at
    while first < stop:
        byte, following = load_u8(base, first), load_u8(base, first + 1)
        filler = 0x7F if signed and following & 0x40 else 0
        if byte != filler:
            break
        first += 1
    if first > at:
        fault = report(context, t.OVERLONG_INTEGER, at, pc)
        if fault:
            return 0, 0, at, fault
    size = stop - first + 1
    if size > MAX_INTEGER_BYTES:
        return 0, 0, at, t.INTEGER_OUT_OF_RANGE
    leading = load_u8(base, first) & 0x7F
    high = 0
    low = leading
    if signed and leading & 0x40:
        high = -1
        low = leading - 128
    if size == MAX_INTEGER_BYTES:
        high = (leading - 128 if signed and leading & 0x40 else leading) >> 1
    for index in range(first + 1, stop + 1):
        low = (low << 7) | (load_u8(base, index) & 0x7F)
    if nullable:
        if low == 0 and high == 0:
            return 0, 0, stop + 1, NULL_STATE
        if is_more(low, high):
            if low == 0:
                high -= 1
            low = np.int64(np.uint64(low) - np.uint64(1))
    return low, high, stop + 1, 0


@kernel
def slow_sent(base, at, end, context, pc):
    """An integer as its type has it: (value, offset behind it, state)."""
    signed = load_i64(pc, t.SIGNED)
    low, high, behind, state = slow_integer(base, at, end, signed, load_i64(pc, t.NULLABLE), context, pc)
    if state:
        return low, behind, state
    if high != (low >> 63 if signed else 0):
        return low, at, t.INTEGER_OUT_OF_RANGE
    if low < load_i64(pc, t.MINIMUM) or low > load_i64(pc, t.MAXIMUM):
        return low, at, t.INTEGER_OUT_OF_RANGE
    return low, behind, 0


@inlined
def sent_integer(base, at, end, context, pc):
    """The same, at once where it is short: (value, offset behind it, state)."""
    if at + 9 > end:
        return slow_sent(base, at, end, context, pc)
    byte = load_u8(base, at)
    signed = load_i64(pc, t.SIGNED)
    value = byte & 0x7F
    if signed:
        value = (value ^ 0x40) - 0x40
    behind = at + 1
    if byte & 0x80 == 0:
        following = load_u8(base, behind)
        filler = 0x7F if signed and following & 0x40 else 0
        if byte == filler:
            return slow_sent(base, at, end, context, pc)
        while True:
            value = (value << 7) | (following & 0x7F)
            behind += 1
            if following & 0x80:
                break
            if behind == at + 9:
                return slow_sent(base, at, end, context, pc)
            following = load_u8(base, behind)
    if load_i64(pc, t.NULLABLE):
        if value == 0:
            return 0, behind, NULL_STATE
        if value > 0:
            value -= 1
    if value < load_i64(pc, t.MINIMUM) or value > load_i64(pc, t.MAXIMUM):
        return value, at, t.INTEGER_OUT_OF_RANGE
    return value, behind, 0


@inlined
def wide_integer(base, at, end, nullable, context, pc):
    """A delta: (low, high, offset behind it, state)."""
    if at < end:
        byte = load_u8(base, at)
        if byte & 0x80:
            value = ((byte & 0x7F) ^ 0x40) - 0x40
            if nullable:
                if value == 0:
                    return 0, 0, at + 1, NULL_STATE
                if value > 0:
                    value -= 1
            return value, value >> 63, at + 1, 0
    return _medium_integer(base, at, end, nullable, context, pc)


@kernel
def _medium_integer(base, at, end, nullable, context, pc):
    """A delta of two to nine bytes, which is the usual one."""
    if at + 9 > end:
        return slow_integer(base, at, end, 1, nullable, context, pc)
    byte, following = load_u8(base, at), load_u8(base, at + 1)
    if byte == (0x7F if following & 0x40 else 0):
        return slow_integer(base, at, end, 1, nullable, context, pc)
    value = (byte ^ 0x40) - 0x40
    behind = at + 1
    while True:
        value = (value << 7) | (following & 0x7F)
        behind += 1
        if following & 0x80:
            break
        if behind == at + 9:
            return slow_integer(base, at, end, 1, nullable, context, pc)
        following = load_u8(base, behind)
    if nullable and value > 0:
        value -= 1
    return value, value >> 63, behind, 0


@kernel
def added(value, low, high, kind):
    """A value of a type plus a delta: (sum, whether it fits 64 bits of its kind)."""
    small = 1 << 62
    least = 0 if kind == t.UINT64 else -small  # its upper half is negative here
    if high == low >> 63 and -small < low < small and least <= value < small:
        total = value + low
        return total, total >= 0 or kind != t.UINT64
    total = np.int64(np.uint64(value) + np.uint64(low))
    carry = 1 if np.uint64(total) < np.uint64(value) else 0
    above = high + carry + (0 if kind == t.UINT64 else value >> 63)
    return total, above == (0 if kind == t.UINT64 else total >> 63)


@inlined
def sent_ascii(base, at, end, nullable, context, pc):
    """A string up to its stop bit: (slice, offset behind it, state)."""
    stop = at
    while stop < end and load_u8(base, stop) & 0x80 == 0:
        stop += 1
    if stop >= end:
        return 0, at, t.FIELD_WITHOUT_END
    if load_u8(base, at) & 0x7F == 0:
        return _preamble(base, at, stop, nullable, context, pc)
    return (at << t.LENGTH_BITS) | (stop + 1 - at), stop + 1, 0


@kernel
def _preamble(base, at, stop, nullable, context, pc):
    """A string that begins with a zero: NULL, empty, overlong, or with a zero of its own."""
    first = at + 1
    overlong = False
    if nullable:
        if first > stop:
            return 0, first, NULL_STATE
        if load_u8(base, first) & 0x7F == 0:
            first += 1
            overlong = first <= stop and load_u8(base, first) & 0x7F != 0
        else:
            overlong = True
    else:
        overlong = first <= stop and load_u8(base, first) & 0x7F != 0
    if overlong:
        fault = report(context, t.OVERLONG_STRING, at, pc)
        if fault:
            return 0, at, fault
    return (first << t.LENGTH_BITS) | (stop + 1 - first), stop + 1, 0


@kernel
def sent_bytes(base, at, end, nullable, context, pc):
    """A byte vector: (slice, offset behind it, state)."""
    low, high, behind, state = slow_integer(base, at, end, 0, nullable, context, pc)
    if state:
        return 0, behind if state == NULL_STATE else at, state
    if high != 0 or low < 0 or low > 0xFFFFFFFF:
        return 0, at, t.INTEGER_OUT_OF_RANGE
    if low > end - behind:
        return 0, at, t.BYTES_PAST_MESSAGE
    return (behind << t.LENGTH_BITS) | low, behind + low, 0


@kernel
def is_utf8(address, length):
    """As Unicode defines it: no overlong forms, no surrogates, nothing above 10FFFF."""
    at = 0
    while at < length:
        byte = load_u8(address, at)
        at += 1
        if byte < 0x80:
            continue
        if byte < 0xC2 or byte > 0xF4:
            return False
        more = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        if at + more > length:
            return False
        second = load_u8(address, at)
        low = 0xA0 if byte == 0xE0 else 0x90 if byte == 0xF0 else 0x80
        high = 0x9F if byte == 0xED else 0x8F if byte == 0xF4 else 0xBF
        if second < low or second > high:
            return False
        for index in range(at + 1, at + more):
            if load_u8(address, index) & 0xC0 != 0x80:
                return False
        at += more
    return True
