"""Sequenced units by columns: what a system's headers say of packets, and all that arbitration sees of them.

A unit is what has a number of its own in its stream: a packet, or a message where a packet has several. Its
bytes are `length` of them from `offset` on, header included where the unit is a packet.
"""

from typing import Final, NamedTuple

import numpy as np

from pregao.model.packets import Int64s, UInt32s

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
        "addresses", "channel", "count", "epoch", "length", "next_number", "number", "offset", "room", "row",
        "sent_ns",
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
        columns = (
            self.row, self.channel, self.epoch, self.number, self.offset, self.length, self.sent_ns,
            self.next_number,
        )  # fmt: skip
        # For kernels, in this order. Asking an array for its address takes as long as handling a packet.
        self.addresses: tuple[int, ...] = tuple(int(column.ctypes.data) for column in columns)
