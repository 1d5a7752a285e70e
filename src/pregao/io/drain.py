"""Sockets drained into packet batches: at each wakeup everything that waits, into one flat buffer.

    drain = SocketDrain(receivers)
    batch = drain.new_batch()
    drain.fill(batch, ready)         # indexes of receivers that have something; reads until there is no more

Nothing here waits or runs by itself: `add_reader` of an event loop may call it, or the thread of
`pregao.io.packet_reader`. Batches are bounded: what does not fit stays in the kernel's buffer, and the
next call begins with it.
"""

import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np

from pregao.io import datagrams as recvmmsg
from pregao.io.clock import system_time_ns
from pregao.io.datagrams import ManyReceiver, Mask, OneByOneReceiver
from pregao.io.multicast import MulticastReceiver
from pregao.model.packets import MAX_SOURCES, Bytes, Int64s, PacketBatch, UInt32s, empty_batch

BATCH_PACKETS: Final = 1024
SLOT_SIZE: Final = 2048  # B3 promises 1400 bytes at most (6.5.4)

RawSender = bytes
_NOBODY: Final = bytes(6)


@dataclass(slots=True)
class SourceCounts:
    """What came by one receiver."""

    packets: int = 0
    bytes: int = 0
    too_long: int = 0  # for a slot: counted, and left out
    errors: int = 0  # of the socket; the next wakeup tries again
    drops: int = 0  # of the kernel, as far as packets told
    last_ns: int = 0
    raw_sender: RawSender = _NOBODY  # of the last packet: port and address as on the wire

    @property
    def sender(self) -> tuple[str, int]:
        """Address and port that the last packet came from."""
        return socket.inet_ntoa(self.raw_sender[2:6]), int.from_bytes(self.raw_sender[:2], "big")


class _SocketRun(NamedTuple):
    """Packets of one receiver in a batch."""

    receiver: int
    start: int
    end: int


class Slots(Protocol):
    """How datagrams get into slots: `ManyReceiver`, or `OneByOneReceiver` where there is no recvmmsg."""

    def attach(self, buffer: Bytes) -> None: ...
    def receive(self, descriptor: int, at: int) -> int: ...
    def lengths(self, count: int) -> UInt32s: ...
    def cut(self, count: int) -> Mask | None: ...
    def times(self, count: int, now_ns: int) -> Int64s: ...
    def drops(self, index: int) -> int: ...
    def sender(self, index: int) -> RawSender: ...


class SocketDrain:
    """The receivers of one reader; a packet's `source` is the index of its receiver."""

    def __init__(
        self,
        receivers: Sequence[MulticastReceiver],
        *,
        packets: int = BATCH_PACKETS,
        slot: int = SLOT_SIZE,
        one_by_one: bool = False,
        now_ns: Callable[[], int] = system_time_ns,
    ) -> None:
        if len(receivers) > MAX_SOURCES:
            raise ValueError(f"{len(receivers)} receivers; a batch can tell {MAX_SOURCES} apart")
        self.receivers = tuple(receivers)
        self.counts = tuple(SourceCounts() for _ in receivers)
        self.packets, self.slot = packets, slot
        many = recvmmsg.AVAILABLE and not one_by_one
        self._slots: Slots = ManyReceiver(packets, slot) if many else OneByOneReceiver(packets, slot)
        self._now_ns = now_ns
        self._offsets = np.arange(packets, dtype=np.int64) * slot

    def new_batch(self) -> PacketBatch:
        """An empty batch of the right size; any number of them may take turns."""
        return empty_batch(self.packets, self.packets * self.slot)

    def fill(self, batch: PacketBatch, ready: Iterable[int]) -> bool:
        """Replace what is in the batch by what waits at these receivers; whether it all found room."""
        self._slots.attach(batch.buffer)
        count, runs = 0, []
        for index in ready:
            received = self._receive(index, count) if count < self.packets else 0
            if received:
                runs.append(_SocketRun(index, count, count + received))
                count += received
        batch.count = count
        if count:
            self._note(batch, runs)
        return count < self.packets  # a full batch: there may be more

    def _receive(self, index: int, at: int) -> int:
        try:
            return self._slots.receive(self.receivers[index].fileno(), at)
        except OSError:
            self.counts[index].errors += 1
            return 0

    def _note(self, batch: PacketBatch, runs: list[_SocketRun]) -> None:
        """Columns of the batch and counts of the receivers, from what the slots know."""
        slots, count = self._slots, batch.count
        batch.offset[:count] = self._offsets[:count]
        batch.length[:count] = slots.lengths(count)
        batch.arrival_ns[:count] = slots.times(count, self._now_ns())
        cut = slots.cut(count)
        for run in runs:
            batch.source[run.start : run.end] = run.receiver
            self._count(batch, run, 0 if cut is None else int(cut[run.start : run.end].sum()))
        if len(runs) > 1:
            order = _order_by_time(batch.arrival_ns, runs)
            if order is not None:
                _permute(batch, order if cut is None else order[~cut[order]])
                cut = None
        if cut is not None:
            _permute(batch, np.flatnonzero(~cut))

    def _count(self, batch: PacketBatch, run: _SocketRun, too_long: int) -> None:
        counts, last = self.counts[run.receiver], run.end - 1
        counts.packets += run.end - run.start - too_long
        counts.bytes += int(batch.length[run.start : run.end].sum()) - too_long * self.slot
        counts.too_long += too_long
        counts.last_ns = int(batch.arrival_ns[last])
        counts.raw_sender = self._slots.sender(last)
        counts.drops = max(counts.drops, self._slots.drops(last))


def _order_by_time(times: Int64s, runs: list[_SocketRun]) -> Int64s | None:
    """The order of packets of all sources by time; None when they are in it already.

    Packets of one source stay in order of arrival, even if the system's clock was set back between two.
    """
    keys = np.empty(runs[-1].end, np.int64)
    in_order = True
    for run in runs:
        np.maximum.accumulate(times[run.start : run.end], out=keys[run.start : run.end])
        in_order &= run.start == 0 or bool(keys[run.start] >= keys[run.start - 1])
    return None if in_order else np.argsort(keys, kind="stable")


def _permute(batch: PacketBatch, order: Int64s) -> None:
    batch.count = len(order)
    for column in (batch.offset, batch.length, batch.source, batch.arrival_ns):
        column[: len(order)] = column[order]
