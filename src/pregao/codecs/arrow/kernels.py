"""Null bitmaps and strings, by machine code. The plain twins are in the tests."""

from typing import Any

import numpy as np

from pregao.kernels import (
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

Array = np.ndarray[Any, np.dtype[Any]]


@kernel
def bitmap_of_nulls(values, null, bitmap):
    """Set the bit of every value that is not null; the number of nulls. Any integer type."""
    count = values.shape[0]
    valid = 0
    for block in range(count // 8):
        at = block * 8
        bits = 0
        for i in range(8):
            bits |= (values[at + i] != null) << i
        bitmap[block] = bits
        valid += _POPULATION[bits]
    if count % 8:
        bits = 0
        for at in range(count // 8 * 8, count):
            bits |= (values[at] != null) << (at % 8)
        bitmap[count // 8] = bits
        valid += _POPULATION[bits]
    return count - valid


_POPULATION = np.array([bin(value).count("1") for value in range(256)], np.int64)


@kernel
def count_outside(values, low, high, null):
    """How many values that are not null lie outside `low` to `high`."""
    count = 0
    for at in range(values.shape[0]):
        value = values[at]
        count += (value != null) & ((value < low) | (value > high))
    return count


@kernel
def measure_strings(raw, width, rows, ends):
    """Ends of the strings of fixed bytes (up to the first NUL) in one buffer; -1 where a byte is not
    ASCII, so that its encoding must be looked at."""
    total = 0
    for row in range(rows):
        start = row * width
        length = 0
        while length < width and raw[start + length] != 0:
            if raw[start + length] >= 0x80:
                return -1
            length += 1
        total += length
        ends[row + 1] = total
    return total


@kernel
def pack_strings(raw, width, rows, ends, packed):
    """The bytes of the strings that `measure_strings` measured, one behind the other."""
    for row in range(rows):
        start, at = row * width, ends[row]
        for i in range(ends[row + 1] - at):
            packed[at + i] = raw[start + i]


@kernel
def is_plain_text(raw):
    """Only ASCII, and no NUL: any encoding reads it the same."""
    wrong = 0
    for byte in raw:
        wrong |= (byte == 0) | (byte >= 0x80)
    return wrong == 0


@kernel
def gather(source, indices, width, count, target):
    """`target[k] = source[indices[k]]` for numbers of any width and uint32 indices, by address."""
    if width == 8:
        for k in range(count):
            store_64(target, k * 8, load_i64(source, load_u32(indices, k * 4) * 8))
    elif width == 4:
        for k in range(count):
            store_32(target, k * 4, load_u32(source, load_u32(indices, k * 4) * 4))
    elif width == 2:
        for k in range(count):
            store_16(target, k * 2, load_u16(source, load_u32(indices, k * 4) * 2))
    else:
        for k in range(count):
            store_8(target, k, load_u8(source, load_u32(indices, k * 4)))


def gathered(source: Array, indices: Array) -> Array:
    """A new array of `source` at uint32 `indices`; both contiguous."""
    target = np.empty(len(indices), source.dtype)
    addresses = source.ctypes.data, indices.ctypes.data, target.ctypes.data
    gather(addresses[0], addresses[1], source.itemsize, len(indices), addresses[2])
    return target
