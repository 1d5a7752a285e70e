"""Simulated days as packets of a market, in memory."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pregao.feeds.binary.streams import StreamId
from pregao.model.packets import PacketBatch, batch_of
from pregao.services.simulation.memory import MemoryDay, Packet, short_day, simulate_in_memory
from pregao.sessions.events import Event


@cache  # four minutes of the clock: heartbeats are most of a quiet day
def day(**settings: Any) -> MemoryDay:
    (only,) = simulate_in_memory(short_day(**({"squeeze": 160, "loops": 24} | settings)))
    return only


class MemoryPackets:
    """As fast as possible, with time as it was recorded."""

    speed: float | None = 0.0
    findings = 0

    def __init__(self, packets: Sequence[Packet], at_once: int = 500) -> None:
        self._packets, self._at_once, self._next = packets, at_once, 0
        self.lines = sorted({StreamId(each.channel, each.stream, each.feed) for each in packets})
        self._numbers = {line: number for number, line in enumerate(self.lines)}
        self.now_ns = packets[0].ts_ns
        self.followed: list[Event] = []
        self.started = self.closed = False

    def start(self) -> None:
        self.started = True

    @property
    def ended(self) -> bool:
        return self._next == len(self._packets)

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None:
        if due_ns is not None and self.now_ns < due_ns <= self._packets[self._next].ts_ns:
            self.now_ns = due_ns
            return None
        taken = self._packets[self._next : self._next + self._at_once]
        if due_ns is not None and due_ns > taken[0].ts_ns:
            taken = [each for each in taken if each.ts_ns < due_ns]
        self._next += len(taken)
        self.now_ns = taken[-1].ts_ns
        return batch_of((self._numbers[StreamId(*each[1:4])], each.ts_ns, each.payload) for each in taken)

    def follow(self, events: Sequence[Event]) -> None:
        self.followed += events

    def reception(self) -> None:
        return None

    def close(self) -> None:
        self.closed = True
