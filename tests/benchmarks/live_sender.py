"""The publisher of the live benchmark, a process of its own: every packet of a day on A and at once on B when
it is due, with the time of sending in its header, as the exchange does (6.5.5.1)."""

import ctypes
import errno
import os
import struct
import time
from multiprocessing.connection import Connection
from socket import AF_INET, inet_aton

import numpy as np

from pregao.io.multicast import MulticastSender
from pregao.model.streams import Feed, Stream

from .live_day import LiveDay, live_day

INTERFACE = "127.0.0.1"
NS = 1_000_000_000
CHUNK = 64  # packets a system call
Destinations = dict[tuple[int, int, int], tuple[str, int]]  # channel, stream, feed: group, port
Array = np.ndarray

_HEADER = np.dtype(
    {
        "names": ["name", "name_size", "iov", "iovs", "control", "control_size", "flags", "length"],
        "formats": ["u8", "u4", "u8", "u8", "u8", "u8", "i4", "u4"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56],
        "itemsize": 64,
    }
)
_IOVEC = np.dtype([("base", "u8"), ("size", "u8")])
_RETRY = (errno.EAGAIN, errno.ENOBUFS, errno.EINTR)
_RETRY_S = 0.000_05


class ManySender(MulticastSender):
    """Many datagrams to many groups with one system call: Linux's sendmmsg, the mirror of `io.datagrams`.
    Unlike its parent it waits for room: a packet is never lost here."""

    def __init__(self, interface: str) -> None:
        super().__init__(interface)
        self._iovecs, self._headers = np.zeros(CHUNK, _IOVEC), np.zeros(CHUNK, _HEADER)
        self._headers["iov"] = self._iovecs.ctypes.data + np.arange(CHUNK, dtype=np.uint64) * _IOVEC.itemsize
        self._headers["iovs"], self._headers["name_size"] = 1, 16
        self._address = self._headers.ctypes.data
        self._bases, self._sizes = self._iovecs["base"], self._iovecs["size"]
        self._names = self._headers["name"]
        self._call = ctypes.CDLL(None, use_errno=True).sendmmsg
        self._call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]

    def send_many(self, addresses: Array, sizes: Array, names: Array) -> None:
        """At most CHUNK packets, at these addresses, to the groups whose sockaddrs are at `names`."""
        count, done = len(addresses), 0
        self._bases[:count], self._sizes[:count], self._names[:count] = addresses, sizes, names
        while done < count:
            sent = self._call(self.fileno(), self._address + done * _HEADER.itemsize, count - done, 0)
            if sent > 0:
                done += sent
            elif ctypes.get_errno() in _RETRY:
                time.sleep(_RETRY_S)
            else:
                raise OSError(ctypes.get_errno(), "sendmmsg failed")


class LivePublisher:
    def __init__(self, day: LiveDay, destinations: Destinations) -> None:
        self._data = day.data.copy()  # times of sending are written into it
        self.sent_ns = np.zeros(len(day.offset), np.int64)
        self._day, self._sender = day, ManySender(INTERFACE)
        self._addresses = (day.offset + self._data.ctypes.data).astype(np.uint64)
        self._sockaddrs = np.zeros((len(destinations), 16), np.uint8)
        place = {key: number for number, key in enumerate(destinations)}
        for key, (group, port) in destinations.items():
            packed = struct.pack("<H", AF_INET) + struct.pack(">H", port) + inet_aton(group) + bytes(8)
            self._sockaddrs[place[key]] = np.frombuffer(packed, np.uint8)
        self._names = [self._names_of(place, feed) for feed in (Feed.A, Feed.B)]

    def _names_of(self, place: dict[tuple[int, int, int], int], feed: Feed) -> Array:
        """Address of each packet's sockaddr on a feed; 0: it is not sent there."""
        day, base = self._day, self._sockaddrs.ctypes.data
        names = np.zeros(len(day.offset), np.uint64)
        for (channel, stream, of), number in place.items():
            if of == feed:
                names[(day.channel == channel) & (day.stream == stream)] = base + 16 * number
        return names

    def publish(self, first: int, due_ns: Array) -> int:
        """Packets from `first` on, each when it is due; by how much one was late at worst."""
        start_ns, latest_ns = time.monotonic_ns(), 0
        sent, count = 0, len(due_ns)
        while sent < count:
            now_ns = time.monotonic_ns() - start_ns
            due = int(np.searchsorted(due_ns[sent : sent + CHUNK // 2], now_ns, side="right"))
            if due:
                latest_ns = max(latest_ns, now_ns - int(due_ns[sent]))
                self._send(first + sent, first + sent + due)
                sent += due
        return latest_ns

    def _send(self, first: int, last: int) -> None:
        now_ns = time.time_ns()
        self.sent_ns[first:last] = now_ns
        stamp = np.frombuffer(now_ns.to_bytes(8, "little"), np.uint8)
        self._data[self._day.offset[first:last, None] + np.arange(8, 16)] = stamp
        names = np.concatenate([each[first:last] for each in self._names])
        addresses, sizes = self._addresses[first:last], self._day.length[first:last]
        goes = names > 0
        self._sender.send_many(np.tile(addresses, 2)[goes], np.tile(sizes, 2)[goes], names[goes])


def due_times(incremental: Array, rate: float) -> Array:
    """When each packet is due, from 0: incremental ones at an even rate, the others with the one before."""
    return (np.cumsum(incremental) * (NS / rate)).astype(np.int64)


def run(destinations: Destinations, packets: int, cpu: int, pipe: Connection) -> None:
    """In a process of its own. Asked for (count of incremental packets, rate) it sends them, and answers with
    the worst delay behind its schedule; asked for None it tells the times of sending, and ends."""
    os.sched_setaffinity(0, {cpu})
    day = live_day(packets)
    publisher, incremental = LivePublisher(day, destinations), day.incremental
    ends = np.flatnonzero(incremental) + 1
    numbers = day.data[day.offset[:, None] + np.arange(4, 8)].view("<u4")[:, 0]
    pipe.send("ready")
    before = 0  # incremental packets that were sent
    while (asked := pipe.recv()) is not None:
        count, rate = asked
        first = int(ends[before - 1]) if before else 0
        last = int(ends[before + count - 1])
        late_ns = publisher.publish(first, due_times(incremental[first:last], rate))
        before += count
        pipe.send(late_ns)
    keys = day.channel.astype(np.int64) << 32 | numbers
    chosen = incremental & (publisher.sent_ns > 0)
    pipe.send((keys[chosen], publisher.sent_ns[chosen]))


def destinations_of(channels: list[int], ports: dict[tuple[int, int, int], int]) -> Destinations:
    return {key: (group_of(*key), ports[key]) for key in streams_of(channels)}


def streams_of(channels: list[int]) -> list[tuple[int, int, int]]:
    both, one = (Stream.INCREMENTAL,), (Stream.DEFINITION, Stream.SNAPSHOT)
    return [
        (channel, int(stream), int(feed))
        for channel in channels
        for streams, feeds in ((both, (Feed.A, Feed.B)), (one, (Feed.A,)))
        for stream in streams
        for feed in feeds
    ]


def group_of(channel: int, stream: int, feed: int) -> str:
    return f"239.255.{channel}.{100 + 10 * stream + feed}"
