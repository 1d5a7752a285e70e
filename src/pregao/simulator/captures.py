"""Packets into capture files: nanosecond pcap, Ethernet, IPv4, UDP. Nothing is sent anywhere.

All but time and payload of a record depends on the payload's length alone, so it is made once for
each length. UDP checksums are 0, which on IPv4 means none: computing them costs more than the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain
from math import log
from pathlib import Path
from random import Random
from struct import Struct
from typing import Final

import numpy as np

from pregao.codecs.pcap.formats import NS_PER_SECOND
from pregao.codecs.pcap.writer import address, ethernet_frame, ipv4_packet, pcap_header
from pregao.io.files import AppendFile
from pregao.model.streams import Feed, Stream

SOURCE = "198.51.100.7"  # of the documentation ranges, as are the groups
STREAM_FILES: dict[tuple[Stream, Feed], str] = {
    (Stream.INCREMENTAL, Feed.A): "Incremental_FeedA",
    (Stream.INCREMENTAL, Feed.B): "Incremental_FeedB",
    (Stream.DEFINITION, Feed.A): "InstrumentDefinition",
    (Stream.SNAPSHOT, Feed.A): "SnapshotRecovery",
}
CONTINGENCY_FILES: dict[tuple[Stream, Feed], str] = {
    (Stream.INCREMENTAL, Feed.C): "Incremental_FeedC",
    (Stream.DEFINITION, Feed.C): "InstrumentDefinition_FeedC",
    (Stream.SNAPSHOT, Feed.C): "SnapshotRecovery_FeedC",
}
# Of systems whose loops are on both feeds.
SECOND_LOOP_FILES: dict[tuple[Stream, Feed], str] = {
    (Stream.DEFINITION, Feed.B): "InstrumentDefinition_FeedB",
    (Stream.SNAPSHOT, Feed.B): "SnapshotRecovery_FeedB",
}
_NAMES = STREAM_FILES | CONTINGENCY_FILES | SECOND_LOOP_FILES
_GROUPS: dict[tuple[Stream, Feed], tuple[str, int]] = {
    (Stream.INCREMENTAL, Feed.A): ("233.252.0.1", 30_000),
    (Stream.INCREMENTAL, Feed.B): ("233.252.0.2", 31_000),
    (Stream.DEFINITION, Feed.A): ("233.252.0.3", 32_000),
    (Stream.SNAPSHOT, Feed.A): ("233.252.0.4", 33_000),
    (Stream.INCREMENTAL, Feed.C): ("233.252.0.5", 34_000),
    (Stream.DEFINITION, Feed.C): ("233.252.0.6", 35_000),
    (Stream.SNAPSHOT, Feed.C): ("233.252.0.7", 36_000),
    (Stream.DEFINITION, Feed.B): ("233.252.0.8", 37_000),
    (Stream.SNAPSHOT, Feed.B): ("233.252.0.9", 38_000),
}
LATENCY_NS = {Feed.A: 25_000, Feed.B: 40_000, Feed.C: 900_000}  # C comes from another site
_JITTERS = 8192  # drawn once, then gone through in a circle
_JITTER_RATE = 1 / 4_000  # a nanosecond
_TIMES = Struct("<II")
_LENGTHS = Struct("<II")
_UDP = Struct(">HHHH")


def file_name(channel: int, stream: Stream, feed: Feed) -> str:
    return f"{channel:03}_{_NAMES[stream, feed]}.pcap"


class CaptureFile:
    """One stream of one channel on one feed, as someone captured it."""

    __slots__ = (
        "_all_jitters", "_file", "_heads", "_jitter", "_jitters", "_last_ns", "_port", "_to", "feed",
        "packets", "path",
    )  # fmt: skip

    def __init__(self, folder: Path, channel: int, stream: Stream, feed: Feed, seed: int) -> None:
        self.feed = feed
        self.packets = 0
        self.path = folder / file_name(channel, stream, feed)
        self._file = AppendFile(self.path)
        self._file.write(pcap_header())
        group, port = _GROUPS[stream, feed]
        self._to, self._port = address(group), port + channel
        self._heads: dict[int, bytes] = {}
        random = Random(f"{seed}/{channel}/{int(stream)}/{feed.name}")
        latency_ns, draw = LATENCY_NS[feed], random.random
        # As `expovariate` draws them, without a call for each of so many.
        self._jitters = [latency_ns + int(-log(1.0 - draw()) / _JITTER_RATE) for _ in range(_JITTERS)]
        self._all_jitters = np.array(self._jitters)
        self._jitter = 0
        self._last_ns = 0

    def arrival(self, sending_ns: int) -> int:
        """When a packet sent then is captured; a link keeps the order."""
        self._jitter = (self._jitter + 1) % _JITTERS
        self._last_ns = max(self._last_ns + 1, sending_ns + self._jitters[self._jitter])
        return self._last_ns

    def send(self, payload: bytes, sending_ns: int) -> None:
        self.record(payload, self.arrival(sending_ns))

    def send_all(self, payloads: Sequence[bytes], sending_ns: Sequence[int]) -> None:
        """The same for many packets, as columns."""
        count = len(payloads)
        steps = np.arange(count)
        jitters = self._all_jitters[(self._jitter + 1 + steps) % _JITTERS]
        # max(last + 1, sent + jitter) from packet to packet is a running maximum, less a step each.
        free = np.array(sending_ns, np.int64) + jitters - steps
        free[0] = max(free[0], self._last_ns + 1)
        arrivals = np.maximum.accumulate(free) + steps
        self._jitter = (self._jitter + count) % _JITTERS
        self._last_ns = int(arrivals[-1])
        times = np.stack((arrivals // NS_PER_SECOND, arrivals % NS_PER_SECOND), axis=1).astype("<u4")
        heads = self._heads
        for size in {*map(len, payloads)} - heads.keys():
            heads[size] = self._head(size)
        stamps = times.view("V8").ravel().tolist()
        sizes = map(heads.__getitem__, map(len, payloads))
        self._file.write(b"".join(chain.from_iterable(zip(stamps, sizes, payloads, strict=True))))
        self.packets += count

    def record(self, payload: bytes, ts_ns: int) -> None:
        size = len(payload)
        head = self._heads.get(size)
        if head is None:
            head = self._heads[size] = self._head(size)
        self._file.write(_TIMES.pack(ts_ns // NS_PER_SECOND, ts_ns % NS_PER_SECOND) + head + payload)
        self.packets += 1

    def _head(self, size: int) -> bytes:
        udp = _UDP.pack(self._port, self._port, 8 + size, 0)
        packet = ipv4_packet(udp + bytes(size), address(SOURCE), self._to)
        frame = ethernet_frame(packet, self._to)
        return _LENGTHS.pack(len(frame), len(frame)) + frame[: len(frame) - size]

    @property
    def size(self) -> int:
        return self._file.written

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        self._file.discard()


def close_all(files: Iterable[CaptureFile]) -> int:
    """Gives every file its name; the bytes of all."""
    size = 0
    for file in files:
        file.close()
        size += file.size
    return size


# All captures of a day as one, by time: as tcpdump writes them who listens to everything.


NAME: Final = "capture.pcap"  # says nothing of what is in it
_RECORD: Final = Struct("<IIII")  # seconds, nanoseconds, bytes captured, bytes sent


def join_captures(captures: Sequence[Path], target: Path) -> int:
    """Puts the records of nanosecond captures into one file and deletes them; its size."""
    file = AppendFile(target)
    try:
        file.write(pcap_header())
        for _, _, record in merge(*(_records(path, order) for order, path in enumerate(captures))):
            file.write(record)
    except BaseException:
        file.discard()
        raise
    file.close()
    for path in captures:
        path.unlink()
    return file.written


def _records(path: Path, order: int) -> Iterator[tuple[int, int, bytes]]:
    """By time, then by file. A capture of ours has its packets in the order of time."""
    with path.open("rb") as file:
        file.seek(len(pcap_header()))
        while head := file.read(_RECORD.size):
            seconds, nanoseconds, size, _ = _RECORD.unpack(head)
            yield seconds * NS_PER_SECOND + nanoseconds, order, head + file.read(size)
