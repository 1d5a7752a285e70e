"""Records of many sources, growing in memory until someone takes them."""

import numpy as np

from pregao.codecs.pcap.framing.kernels import (
    CHECKSUM,
    FIRST_NS,
    HEAD,
    LAST_NS,
    OUT,
    PACKETS,
    SOURCE_SIZE,
    USED,
    put_records,
)
from pregao.codecs.pcap.framing.plain import HEAD_SIZE, Endpoints, head_of
from pregao.model.packets import Int64s, PacketBatch

_IP_AT, _IP_SIZE = 30, 20


class RecordBuffers:
    """A buffer of records for each source of a batch.

    `room` bounds what a source can hold: `put` must not be given a batch whose records could exceed it,
    so take a source's records once `used` comes near (see `batch_room`).
    """

    def __init__(self, endpoints: list[Endpoints], room: int) -> None:
        self.room = room
        self._buffers = [np.empty(room, np.uint8) for _ in endpoints]  # costs nothing until written to
        self._heads = [np.empty(HEAD_SIZE, np.uint8) for _ in endpoints]
        self._sources = np.zeros((len(endpoints), SOURCE_SIZE // 8), np.int64)
        for index, (buffer, head) in enumerate(zip(self._buffers, self._heads, strict=True)):
            self._sources[index, OUT // 8] = buffer.ctypes.data
            self._sources[index, HEAD // 8] = head.ctypes.data
        for index, each in enumerate(endpoints):
            self.address(index, each)
        put_records(*[0] * 8)  # compiled or loaded now, not when the first packets wait

    def address(self, index: int, endpoints: Endpoints) -> None:
        """From now on packets of this source have these addresses."""
        head = head_of(endpoints, 0, 0)
        self._heads[index][:] = np.frombuffer(head, np.uint8)
        words = np.frombuffer(head, ">u2", _IP_SIZE // 2, _IP_AT).astype(np.int64)
        self._sources[index, CHECKSUM // 8] = words.sum() - words[1] - words[5]

    @property
    def used(self) -> Int64s:
        """Bytes held, by source."""
        used: Int64s = self._sources[:, USED // 8]
        return used

    @staticmethod
    def batch_room(batch: PacketBatch) -> int:
        """The most that a batch can add to one source."""
        return batch.payload_bytes + batch.count * HEAD_SIZE

    def put(self, batch: PacketBatch) -> None:
        """Append every packet to the records of its source."""
        if not batch.count:
            return
        most, fullest = self.batch_room(batch), int(self.used.max())
        if fullest + most > self.room or int(batch.source[: batch.count].max()) >= len(self._buffers):
            raise ValueError(f"{most} bytes more than {fullest} in buffers of {self.room}, or no such source")
        put_records(
            self._sources.ctypes.data, batch.buffer.ctypes.data, batch.offset.ctypes.data,
            batch.length.ctypes.data, batch.source.ctypes.data, batch.arrival_ns.ctypes.data, 0, batch.count,
        )  # fmt: skip

    def records(self, index: int) -> memoryview:
        """The records of a source, valid until the next `put`."""
        return self._buffers[index].data[: int(self.used[index])]

    def times(self, index: int) -> tuple[int, int, int]:
        """(earliest time, latest time, how many) of a source's records."""
        row = self._sources[index]
        return int(row[FIRST_NS // 8]), int(row[LAST_NS // 8]), int(row[PACKETS // 8])

    def clear(self, index: int) -> None:
        self._sources[index, [USED // 8, PACKETS // 8]] = 0
