"""A cheap hash of a unit's messages: eight bytes at a time, multiply and xor. The twin is
`kernels.arrivals.messages_hash`.

Feeds promise the same messages, not the same header (of Binary UMDF 6.1, 6.5.3: SendingTime and Reserved may
be each feed's own), so what is compared begins behind the bytes that the system calls each feed's own. The
hash tells units apart that differ by accident; it is no protection against those made to collide. The lowest
three bits are left free for the feeds that brought the unit.
"""

from struct import unpack_from
from typing import Final

MULTIPLIER: Final = 0x9E3779B97F4A7C15
FEED_BITS: Final = 7
UNKNOWN: Final = -1  # no packet of this number was seen in this sequence
LOST: Final = 0  # it was given up

_MASK: Final = (1 << 64) - 1


def messages_hash(unit: bytes | bytearray | memoryview, own_bytes: int) -> int:
    """As a signed number, as kernels keep it. The end is read once more where it is not a whole word."""
    messages = unit[own_bytes:]
    size = len(messages)
    words = unpack_from(f"<{size // 8}Q", messages)
    if size % 8:
        words += unpack_from("<Q", messages, size - 8) if size >= 8 else (_short(messages),)
    value = size
    for word in words:
        value = ((((value << 29) | (value >> 35)) & _MASK) ^ word) * MULTIPLIER & _MASK
    value ^= value >> 32
    value &= ~FEED_BITS
    value = value or FEED_BITS + 1
    return value - (1 << 64) if value >> 63 else value


def _short(messages: bytes | bytearray | memoryview) -> int:
    return int.from_bytes(bytes(messages), "little")
