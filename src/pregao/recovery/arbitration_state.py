"""What `Arbiter` and its kernel both keep: one block of int64 and a ring of hashes.

Fields are byte offsets into the block, for kernels; `ArbitrationState` is the block for people. The ring has
a slot for each of the last packets: its hash, with a bit in the low three for each feed that brought it.
"""

from struct import unpack_from
from typing import Final

import numpy as np

from pregao.model.packets import Int64s, UInt16s, UInt32s
from pregao.model.streams import Feed

# A cheap hash of a unit's messages: eight bytes at a time, multiply and xor. The twin is
# `kernels.arrivals.messages_hash`.
#
# Feeds promise the same messages, not the same header (of Binary UMDF 6.1, 6.5.3: SendingTime and Reserved
# may be each feed's own), so what is compared begins behind the bytes that the system calls each feed's own.
# The hash tells units apart that differ by accident; it is no protection against those made to collide. The
# lowest three bits are left free for the feeds that brought the unit.


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


_FIELDS = (
    "channel",
    "own_bytes",  # at the beginning of a unit, each feed's own
    "appearance",  # of the sequence version: the upper half of `at`
    "version",  # -1: nothing heard yet
    "next",  # the number that comes next
    "proven",  # a packet followed the one this place was believed by
    "lowest_held",
    "ring",  # address
    "ring_mask",
    "feeds",  # bits of those that belong to this sequence
    "last_ns",  # arrival of the last packet taken
    "conflicts",
    "foreign",  # packets of another channel, or too short to have a header
    "outdated",  # packets of another sequence version
    "given_up",  # packets that no feed brought
    "deadline",  # arrival from which on something that waits must be looked at
    "stop",  # why the kernel returned
    "accepted",  # how many it accepted
    # Columns of accepted packets, given by whoever calls the kernel.
    "out_at",  # int64
    "out_offset",  # int64
    "out_length",  # uint32
    "out_row",  # uint32: of the packet in its batch
    "out_version",  # uint16
)
(
    CHANNEL, OWN_BYTES, APPEARANCE, VERSION, NEXT, PROVEN, LOWEST_HELD, RING, RING_MASK, FEEDS, LAST_NS,
    CONFLICTS, FOREIGN, OUTDATED, GIVEN_UP, DEADLINE, STOP, ACCEPTED, OUT_AT, OUT_OFFSET, OUT_LENGTH, OUT_ROW,
    OUT_VERSION,
) = range(0, 8 * len(_FIELDS), 8)  # fmt: skip

# Eight words for each feed; that of number 0 is nobody's.
FEED_AREA: Final = 256
FEED_SIZE: Final = 64
RECEIVED, FIRST, DUPLICATE, LATE, FILLED, MISSED, HIGHEST, HEARD_NS = range(0, FEED_SIZE, 8)
_WORDS: Final = (FEED_AREA + 4 * FEED_SIZE) // 8

NOTHING_HELD: Final = 1 << 62
NO_DEADLINE: Final = (1 << 63) - 1

# Why the kernel returned.
STOP_END: Final = 0  # no packets are left
STOP_ODD: Final = 1  # the plain class must judge this one
STOP_RELEASE: Final = 2  # what is held comes next
STOP_FULL: Final = 3  # the columns of accepted packets are


class ArbitrationState:
    """The block and its ring."""

    __slots__ = ("_words", "address", "block", "ring")

    def __init__(self, channel: int, feeds: tuple[Feed, ...], ring_size: int, own_bytes: int) -> None:
        assert ring_size & (ring_size - 1) == 0, "a power of two"
        self.block: Int64s = np.zeros(_WORDS, np.int64)
        self._words = self.block.data  # the same: a word of it is an int at once, one of an array is not
        self.address = int(self.block.ctypes.data)
        self.ring: Int64s = np.full(ring_size, UNKNOWN, np.int64)
        self.set(CHANNEL, channel)
        self.set(OWN_BYTES, own_bytes)
        self.set(VERSION, -1)
        self.set(LOWEST_HELD, NOTHING_HELD)
        self.set(DEADLINE, NO_DEADLINE)
        self.set(RING, self.ring.ctypes.data)
        self.set(RING_MASK, ring_size - 1)
        self.set(FEEDS, sum(1 << feed - 1 for feed in feeds))

    def get(self, field: int) -> int:
        return self._words[field >> 3]

    def set(self, field: int, value: int) -> None:
        self._words[field >> 3] = value

    def add(self, field: int, count: int = 1) -> None:
        self._words[field >> 3] += count

    def feed(self, feed: int, field: int) -> int:
        return self._words[(FEED_AREA + feed * FEED_SIZE + field) >> 3]

    def set_feed(self, feed: int, field: int, value: int) -> None:
        self._words[(FEED_AREA + feed * FEED_SIZE + field) >> 3] = value

    def add_feed(self, feed: int, field: int, count: int = 1) -> None:
        self._words[(FEED_AREA + feed * FEED_SIZE + field) >> 3] += count


class AcceptedUnits:
    """Columns that `kernels.arrivals.take_in_sequence` fills with the units that are next in sequence."""

    def __init__(self, room: int) -> None:
        self.room = room
        offsets: Int64s = np.empty(room, np.int64)
        lengths: UInt32s = np.empty(room, np.uint32)
        places: Int64s = np.empty(room, np.int64)
        versions: UInt16s = np.empty(room, np.uint16)
        self.columns = offsets, lengths, places, versions
        self.rows: UInt32s = np.empty(room, np.uint32)  # of packets in their batch
        self._addresses = (
            (OUT_OFFSET, int(offsets.ctypes.data)),
            (OUT_LENGTH, int(lengths.ctypes.data)),
            (OUT_AT, int(places.ctypes.data)),
            (OUT_VERSION, int(versions.ctypes.data)),
            (OUT_ROW, int(self.rows.ctypes.data)),
        )
        self._filled_by: ArbitrationState | None = None

    def fill_by(self, state: ArbitrationState) -> None:
        """Where the kernel puts units from now on. Sites have states of their own."""
        if state is not self._filled_by:
            self._filled_by = state
            for field, address in self._addresses:
                state.set(field, address)
