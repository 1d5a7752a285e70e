"""What packets carry, without reading them: the driver of its kernels. See `feeds.port.Inspector`."""

from typing import Any, Final

import numpy as np

from pregao.feeds.binary.kernels.looks import count_messages, find_messages
from pregao.feeds.identity import MARKS
from pregao.feeds.port import Looked

Array = np.ndarray[Any, np.dtype[Any]]

# Templates that concern a whole day: SequenceReset, definitions, News, EmptyBook, phases, ChannelReset.
CONCERN_ALL: Final = (1, 4, 5, 9, 10, 11, 12)


class PacketInspector:
    def __init__(self) -> None:
        self._wanted = np.zeros(MARKS, np.uint8)
        self._wanted[list(CONCERN_ALL)] = 1

    def look(self, base: int, offsets: Array, lengths: Array, seen: Array) -> Looked:
        notes = np.empty(len(offsets), np.int64)
        messages, noted = find_messages(
            base, offsets.ctypes.data, lengths.ctypes.data, len(offsets), self._wanted.ctypes.data,
            seen.ctypes.data, notes.ctypes.data, len(notes),
        )  # fmt: skip
        return Looked(int(messages), notes[:noted])

    def count(self, addresses: Array, lengths: Array) -> Array:
        counts = np.zeros(len(addresses), np.int64)
        count_messages(addresses.ctypes.data, lengths.ctypes.data, len(addresses), counts.ctypes.data)
        return counts
