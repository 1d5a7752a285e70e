"""Packets by the batch: what receiving and replay hand on, and the feed handler takes.

One flat buffer and four columns. Packet `i` came by subscription `source[i]` at `arrival_ns[i]`, and its
payload is `buffer[offset[i] : offset[i] + length[i]]`. Packets of one source are in the order in which
they came; those of all sources are in order of time as far as times can be believed.

Whoever makes batches says how long one is valid: a reader and a replay both reuse the memory of a batch
once the next is asked for. `copy` gives one that stays.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Int64s = np.ndarray[tuple[int], np.dtype[np.int64]]
UInt32s = np.ndarray[tuple[int], np.dtype[np.uint32]]
UInt16s = np.ndarray[tuple[int], np.dtype[np.uint16]]

MAX_SOURCES: Final = 1 << 16


@dataclass(slots=True, eq=False)
class PacketBatch:
    """`count` packets. The columns may be longer than that; what lies beyond is without meaning."""

    buffer: Bytes
    count: int
    offset: Int64s  # of the payload in `buffer`
    length: UInt32s  # of the payload
    source: UInt16s  # index of the subscription
    arrival_ns: Int64s
    _addresses: tuple[int, ...] = ()

    @property
    def addresses(self) -> tuple[int, ...]:
        """For kernels: of the buffer, offsets, lengths, sources and arrivals. Asked of arrays once, for that
        takes as long as handling a packet; so the columns of a batch are never exchanged for others."""
        if not self._addresses:
            arrays = (self.buffer, self.offset, self.length, self.source, self.arrival_ns)
            self._addresses = tuple(int(array.ctypes.data) for array in arrays)
        return self._addresses

    def __len__(self) -> int:
        return self.count

    def payload(self, index: int) -> memoryview:
        """The payload of one packet, without a copy."""
        start = int(self.offset[index])
        return self.buffer.data[start : start + int(self.length[index])]

    def __iter__(self) -> Iterator[tuple[int, int, memoryview]]:
        """(source, arrival_ns, payload) of each packet: for people and tests."""
        for index in range(self.count):
            yield int(self.source[index]), int(self.arrival_ns[index]), self.payload(index)

    @property
    def payload_bytes(self) -> int:
        return int(self.length[: self.count].sum(dtype=np.int64))

    def copy(self) -> "PacketBatch":
        """The same packets in memory of their own, without room to spare."""
        return batch_of((source, arrival, bytes(payload)) for source, arrival, payload in self)


def empty_batch(packets: int, buffer_size: int) -> PacketBatch:
    """Room for so many packets and bytes. Memory that is never written to costs nothing."""
    return PacketBatch(
        np.empty(buffer_size, np.uint8), 0, np.empty(packets, np.int64), np.empty(packets, np.uint32),
        np.empty(packets, np.uint16), np.empty(packets, np.int64),
    )  # fmt: skip


def batch_of(packets: Iterable[tuple[int, int, bytes]]) -> PacketBatch:
    """A batch of (source, arrival_ns, payload)."""
    rows = list(packets)
    lengths = np.array([len(payload) for _, _, payload in rows], np.uint32)
    return PacketBatch(
        # At least a byte: numpy gives an empty array no address of its own.
        np.frombuffer(b"".join(payload for _, _, payload in rows) or b"\0", np.uint8).copy(),
        len(rows),
        np.cumsum(lengths, dtype=np.int64) - lengths,
        lengths,
        np.array([source for source, _, _ in rows], np.uint16),
        np.array([arrival for _, arrival, _ in rows], np.int64),
    )


# Sequenced units by columns: what a system's headers say of packets, and all that arbitration sees of them.
#
# A unit is what has a number of its own in its stream: a packet, or a message where a packet has several. Its
# bytes are `length` of them from `offset` on, header included where the unit is a packet.


FOREIGN: Final = -1  # number of what is no unit and no heartbeat: too short, or of nobody we know
NO_CHANNEL: Final = -1
NO_NEXT: Final = -1


class Unit(NamedTuple):
    """One by itself. `next_number` is that of a heartbeat, which has no number (0) of its own."""

    channel: int
    epoch: int
    number: int
    sent_ns: int
    payload: bytes
    next_number: int = NO_NEXT


class Units:
    """`count` units; the arrays may be longer. They are the reader's own: the next reading overwrites
    them."""

    __slots__ = (
        "addresses", "channel", "columns", "count", "epoch", "length", "next_number", "number", "offset",
        "room", "row", "sent_ns",
    )  # fmt: skip

    def __init__(self, room: int = 1) -> None:
        self.count = 0
        self.make_room(room)

    def make_room(self, room: int) -> None:
        """For so many units; what was there is forgotten."""
        self.room = room
        self.row: UInt32s = np.empty(room, np.uint32)  # of the packet in its batch
        self.channel: Int64s = np.empty(room, np.int64)
        self.epoch: Int64s = np.empty(room, np.int64)
        self.number: Int64s = np.empty(room, np.int64)  # 0: a heartbeat; FOREIGN: nothing of ours
        self.offset: Int64s = np.empty(room, np.int64)
        self.length: UInt32s = np.empty(room, np.uint32)
        self.sent_ns: Int64s = np.empty(room, np.int64)
        self.next_number: Int64s = np.empty(room, np.int64)  # of heartbeats; else NO_NEXT
        self.columns: tuple[NDArray[Any], ...] = (
            self.row, self.channel, self.epoch, self.number, self.offset, self.length, self.sent_ns,
            self.next_number,
        )  # fmt: skip
        # For kernels, in this order. Asking an array for its address takes as long as handling a packet.
        self.addresses: tuple[int, ...] = tuple(int(column.ctypes.data) for column in self.columns)
