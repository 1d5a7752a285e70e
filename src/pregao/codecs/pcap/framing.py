"""Received payloads back into capture records: Ethernet, IPv4 and UDP headers as they may have been.

A socket gives payloads without headers. For a recording they are made again: the group and port that the
socket is bound to, the sender it heard from. UDP checksums are 0, which on IPv4 means none. `record_of`
is the plain version; `RecordBuffers` does batches by kernel.
"""

import struct
from typing import NamedTuple

import numpy as np

from pregao.codecs.pcap.formats import MAX_RECORD, NS_PER_SECOND, RECORD_HEADER_SIZE
from pregao.codecs.pcap.kernels import (
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
from pregao.codecs.pcap.writer import ethernet_frame, ipv4_packet
from pregao.model.packets import Int64s, PacketBatch

_UDP = struct.Struct(">HHHH")
_RECORD = struct.Struct("<IIII")
_HEADERS = 14 + 20 + 8
HEAD_SIZE = RECORD_HEADER_SIZE + _HEADERS


class Endpoints(NamedTuple):
    """IPv4 addresses as numbers, and ports."""

    src: int
    src_port: int
    dst: int
    dst_port: int


def record_of(endpoints: Endpoints, ts_ns: int, payload: bytes) -> bytes:
    """A record of a nanosecond pcap in little-endian order."""
    return head_of(endpoints, ts_ns, len(payload)) + payload


def head_of(endpoints: Endpoints, ts_ns: int, size: int) -> bytes:
    """All of a record that comes before a payload of `size` bytes."""
    udp = _UDP.pack(endpoints.src_port, endpoints.dst_port, 8 + size, 0)
    packet = ipv4_packet(udp + bytes(size), endpoints.src, endpoints.dst)
    frame = ethernet_frame(packet, endpoints.dst)
    seconds, nanoseconds = divmod(ts_ns, NS_PER_SECOND)
    return _RECORD.pack(seconds, nanoseconds, len(frame), len(frame)) + frame[:_HEADERS]


def times_of_records(content: bytes) -> tuple[int, int, int] | None:
    """(earliest time, latest time, how many) of nanosecond records; None if they do not end where the
    content does, or there are none."""
    at, count, first_ns, last_ns = 0, 0, 1 << 63, 0
    while at + RECORD_HEADER_SIZE <= len(content):
        seconds, nanoseconds, captured, _ = _RECORD.unpack_from(content, at)
        if captured > MAX_RECORD:
            return None
        ts_ns = seconds * NS_PER_SECOND + nanoseconds
        first_ns, last_ns = min(first_ns, ts_ns), max(last_ns, ts_ns)
        at += RECORD_HEADER_SIZE + captured
        count += 1
    return (first_ns, last_ns, count) if count and at == len(content) else None


# Records of many sources, growing in memory until someone takes them.


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
