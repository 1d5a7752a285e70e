"""A cheap hash of a packet: eight bytes at a time, multiply and xor. `kernels.packet_hash` is its twin.

It tells packets apart that differ by accident; it is no protection against those made to collide.
The lowest three bits are left free for the feeds that brought the packet.
"""

from struct import unpack_from
from typing import Final

MULTIPLIER: Final = 0x9E3779B97F4A7C15
FEED_BITS: Final = 7
UNKNOWN: Final = -1  # no packet of this number was seen in this sequence
LOST: Final = 0  # it was given up

_MASK: Final = (1 << 64) - 1


def packet_hash(payload: bytes | bytearray | memoryview) -> int:
    """As a signed number, as kernels keep it. The end is read once more where it is not a whole word."""
    size = len(payload)
    words = unpack_from(f"<{size // 8}Q", payload)
    if size % 8:
        words += unpack_from("<Q", payload, size - 8) if size >= 8 else (_short(payload),)
    value = size
    for word in words:
        value = ((((value << 29) | (value >> 35)) & _MASK) ^ word) * MULTIPLIER & _MASK
    value ^= value >> 32
    value &= ~FEED_BITS
    value = value or FEED_BITS + 1
    return value - (1 << 64) if value >> 63 else value


def _short(payload: bytes | bytearray | memoryview) -> int:
    return int.from_bytes(bytes(payload), "little")
