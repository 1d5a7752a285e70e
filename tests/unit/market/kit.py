"""Simulated days as packets of a market, and what the exchange did beside what the library told."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final

from pregao import Market, MarketEvent
from pregao.feeds.binary.system import BINARY
from pregao.model.events import Update
from pregao.model.packets import PacketBatch, Units, batch_of
from pregao.model.streams import StreamId
from pregao.recovery.events import Event
from pregao.simulator.memory import CapturedPacket, MemoryDay, short_day, simulate_in_memory


@cache  # four minutes of the clock: heartbeats are most of a quiet day
def day(**settings: Any) -> MemoryDay:
    (only,) = simulate_in_memory(short_day(**({"squeeze": 160, "loops": 24} | settings)))
    return only


def units_of(batch: PacketBatch) -> Units:
    base, offsets, lengths, _, _ = batch.addresses
    return BINARY.headers().read(base, offsets, lengths, batch.count)


class MemoryPackets:
    """As fast as possible, with time as it was recorded."""

    speed: float | None = 0.0
    findings = 0
    replayer = None

    def __init__(self, packets: Sequence[CapturedPacket], at_once: int = 500) -> None:
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


def market(of: MemoryDay, **options: Any) -> Market:
    return Market(MemoryPackets(of.packets), **options)


# Fields that the library calls otherwise.
_RENAMED: Final = {
    "transact_ns": "time_ns", ("PriceBand", "type"): "band", ("Imbalance", "side"): "imbalance",
    ("SettlementPrice", "kind"): "settlement_kind",
}  # fmt: skip
_NOT_SENT: Final = {"position", "settlement_date"}  # from wire version 15 on; before 17


def as_sent(of: MemoryDay, kind: type) -> dict[int, list[Update]]:
    """The updates of a kind that went out as messages, by channel."""
    found: dict[int, list[Update]] = defaultdict(list)
    for placed in of.updates:
        if isinstance(placed.update, kind) and placed.seq_num is not None:
            found[placed.channel].append(placed.update)
    return found


def differences(event: MarketEvent, update: Update) -> dict[str, tuple[object, object]]:
    """Fields in which an event of the library is not what the exchange did."""
    found = {}
    for each in fields(update):
        kind = type(update).__name__
        name = _RENAMED.get((kind, each.name)) or _RENAMED.get(each.name) or each.name
        done = getattr(update, each.name)
        if not hasattr(event, name) or (name in _NOT_SENT and getattr(event, name) is None):
            continue
        if (kind, name) == ("LastTrade", "condition"):  # the publisher sends none outside snapshots
            continue
        told = getattr(event, name)
        if told != done and (told or done):  # an end time of 0 is none
            found[name] = (told, done)
    return found
