"""Sockets drained by whoever takes the packets, in their own thread: nothing is handed from thread to thread.

    with PacketPoller(receivers) as poller:
        batch = poller.take(timeout_s=0.2)     # None: nothing came; valid until the next `take`

It has the face of `PacketReader`, whose thread empties the sockets while the consumer works. Here packets
wait in the kernel's buffers meanwhile, so those have to be large; what a consumer gains is the way from one
thread to the other, which costs more than handling a packet.
"""

import selectors
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from pregao.io.drain import BATCH_PACKETS, SLOT_SIZE, SocketDrain
from pregao.io.kernel_drops import inode_of
from pregao.io.multicast import MulticastReceiver
from pregao.io.packet_reader import ReaderHealth, reader_health
from pregao.model.packets import PacketBatch


class PacketPoller:
    """`take` from one thread at a time. Receivers stay the caller's: they may leave and join meanwhile."""

    def __init__(
        self,
        receivers: Sequence[MulticastReceiver],
        *,
        packets: int = BATCH_PACKETS,
        slot: int = SLOT_SIZE,
        one_by_one: bool = False,
    ) -> None:
        self.drain = SocketDrain(receivers, packets=packets, slot=slot, one_by_one=one_by_one)
        self._inodes = [inode_of(receiver.socket) for receiver in receivers]
        self._batch = self.drain.new_batch()
        self._batch.buffer[:] = 0  # memory that is there before the first packet comes
        self._was_full, self._last = False, -1
        self._selector = selectors.DefaultSelector()
        for index, receiver in enumerate(receivers):
            self._selector.register(receiver.fileno(), selectors.EVENT_READ, index)

    def take(self, timeout_s: float) -> PacketBatch | None:
        """All that waits, as far as it finds room, as soon as there is something."""
        ready = [key.data for key, _ in self._selector.select(timeout_s)]
        if not ready:
            return None
        if self._was_full:
            # Who found no room goes first now: one busy socket must not keep the others waiting.
            turn = next((place for place, index in enumerate(ready) if index > self._last), 0)
            ready = ready[turn:] + ready[:turn]
        batch = self._batch
        self._was_full = not self.drain.fill(batch, ready)
        if not batch.count:
            return None
        if self._was_full:
            self._last = int(batch.source[: batch.count].max())
        return batch

    def health(self) -> ReaderHealth:
        return reader_health(self.drain, self._inodes, stalls=0, waiting=0)

    def close(self) -> None:
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
