"""Hashes of files and messages, and how many messages packets carry.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

import numpy as np

from pregao.captures.kernels import HEADERS
from pregao.feeds.binary.kernels.packets import PACKET_HEADER_SIZE
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, store_64

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # unsigned numbers wrap
_LANES = 4


@inlined
def _mix(value, word):
    return (value ^ np.uint64(word)) * _MULTIPLIER


@kernel
def content_hash(base, size, seed):
    """Of any bytes, by eight at a time in four lanes: as fast as memory. Tells files apart that differ by
    accident."""
    a, b = _mix(np.uint64(seed), size), _mix(np.uint64(seed), size + 1)
    c, d = _mix(np.uint64(seed), size + 2), _mix(np.uint64(seed), size + 3)
    at, end = base, base + size
    while at + 8 * _LANES <= end:
        a, b = _mix(a, load_i64(at, 0)), _mix(b, load_i64(at, 8))
        c, d = _mix(c, load_i64(at, 16)), _mix(d, load_i64(at, 24))
        a, b = a ^ (a >> np.uint64(29)), b ^ (b >> np.uint64(31))
        c, d = c ^ (c >> np.uint64(33)), d ^ (d >> np.uint64(27))
        at += 8 * _LANES
    while at < end:
        a = _mix(a, load_u8(at, 0))
        a ^= a >> np.uint64(29)
        at += 1
    value = _mix(_mix(a, np.int64(b >> np.uint64(1))), np.int64(c >> np.uint64(1)))
    value = _mix(value, np.int64(d >> np.uint64(1)))
    return np.int64((value ^ (value >> np.uint64(32))) >> np.uint64(1))


@kernel
def hash_messages(places, sizes, count, out):
    """Of messages at absolute addresses, to tell those that are repeated."""
    for i in range(count):
        store_64(out, i * 8, content_hash(load_i64(places, i * 8), load_i64(sizes, i * 8), 7))


@kernel
def count_messages(offsets, lengths, count, out):
    """Framed messages of each packet."""
    for i in range(count):
        at = load_i64(offsets, i * 8)
        end = at + load_i64(lengths, i * 8)
        at += PACKET_HEADER_SIZE
        found = 0
        while at + HEADERS <= end:
            length = load_u16(at, 0)
            if length < HEADERS or at + length > end:
                break
            found += 1
            at += length
        store_64(out, i * 8, found)
