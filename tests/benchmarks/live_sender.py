"""The publisher of the live benchmark: packets made before, sent on time by a process of its own.

It sends the opening slowly, waits to be told to go on, then sends every packet on A and at once on B when
it is due, with the time of sending in its header, as the exchange does (6.5.5.1).
"""

import os
import time
from multiprocessing.connection import Connection

import numpy as np

from .many_sender import CHUNK, ManySender
from .market_packets import CHANNEL, market_packets

GROUPS = (f"239.255.{CHANNEL}.101", f"239.255.{CHANNEL}.102")
RATE, BURST, BURST_NS, BURSTS_EVERY_S = 40_000, 12_000, 100_000_000, 5
INTERFACE = "127.0.0.1"
OPENING_RATE = 2_000
NS = 1_000_000_000


def due_times(seconds: float) -> np.ndarray:
    """When each packet is due, from 0: an even rate, and in the middle of every so many seconds a burst."""
    steps = []
    at_ns, end_ns = 0.0, seconds * NS
    while at_ns < end_ns:
        burst_ns = min((at_ns // (BURSTS_EVERY_S * NS) + 0.5) * BURSTS_EVERY_S * NS, end_ns)
        calm_ns = max(burst_ns - at_ns, 0.0)
        steps.append(np.full(int(calm_ns * RATE / NS), NS / RATE))
        bursts = burst_ns < end_ns
        if bursts:
            steps.append(np.full(BURST, BURST_NS / BURST))
        rest_ns = min((at_ns // (BURSTS_EVERY_S * NS) + 1) * BURSTS_EVERY_S * NS, end_ns)
        rest_ns -= burst_ns + bursts * BURST_NS
        steps.append(np.full(int(max(rest_ns, 0) * RATE / NS), NS / RATE))
        at_ns = (at_ns // (BURSTS_EVERY_S * NS) + 1) * BURSTS_EVERY_S * NS
    return np.cumsum(np.concatenate(steps)).astype(np.int64)


class Publisher:
    def __init__(self, ports: tuple[int, int], copies: int) -> None:
        packets = self._packets = market_packets(copies)
        self.opening = packets.opening
        self._senders = [ManySender(INTERFACE, to) for to in zip(GROUPS, ports, strict=True)]
        self._addresses = (packets.offset + packets.data.ctypes.data).astype(np.uint64)
        self.latest_ns = 0  # the most that a packet was sent later than due

    def publish(self, first: int, due_ns: np.ndarray) -> float:
        """Packets from `first` on, each when it is due; seconds that it took."""
        start_ns = time.monotonic_ns()
        sent, count = 0, len(due_ns)
        while sent < count:
            now_ns = time.monotonic_ns() - start_ns
            due = int(np.searchsorted(due_ns[sent : sent + CHUNK], now_ns, side="right"))
            if due:
                self.latest_ns = max(self.latest_ns, now_ns - int(due_ns[sent]))
                self._send(first + sent, first + sent + due)
                sent += due
        return (time.monotonic_ns() - start_ns) / NS

    def _send(self, first: int, last: int) -> None:
        packets = self._packets
        stamp = np.frombuffer(time.time_ns().to_bytes(8, "little"), np.uint8)
        packets.data[packets.offset[first:last, None] + np.arange(8, 16)] = stamp
        for sender in self._senders:
            sender.send_many(self._addresses[first:last], packets.length[first:last])


def run(ports: tuple[int, int], copies: int, seconds: float, cpu: int, pipe: Connection) -> None:
    """In a process of its own. Says how many packets the opening has and how many follow; then, when told
    to go, sends them; then how long that took and how late it was at worst."""
    os.sched_setaffinity(0, {cpu})
    publisher = Publisher(ports, copies)
    due_ns = due_times(seconds)
    pipe.send((publisher.opening, len(due_ns)))
    pipe.recv()
    publisher.publish(0, np.arange(publisher.opening) * (NS // OPENING_RATE))
    pipe.recv()
    publisher.latest_ns = 0
    pipe.send((publisher.publish(publisher.opening, due_ns), publisher.latest_ns))
