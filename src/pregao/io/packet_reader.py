"""A thread that does nothing but drain sockets into a ring of batches, while the consumer works.

    with PacketReader(receivers) as reader:
        while going:
            batch = reader.take(timeout_s=0.2)     # None: nothing came
            ...                                    # the batch is valid until the next `take`

The thread lives in system calls, which let go of the interpreter's lock, as kernels do: so a consumer
that spends its time in kernels does not keep it waiting. The ring is bounded; when the consumer is so slow
that it is full, packets wait in the kernel's buffer, and what that cannot hold the kernel drops and counts.
"""

import selectors
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, Self

from pregao.io.clock import pause
from pregao.io.drain import BATCH_PACKETS, SLOT_SIZE, SocketDrain
from pregao.io.files import ClosedAtExit
from pregao.io.multicast import MulticastReceiver
from pregao.io.receive_buffer import drops_of, inode_of
from pregao.model.packets import PacketBatch

RING_BATCHES: Final = 64
_WAIT_S: Final = 0.1  # how long it takes at most to see that it shall stop
# When the consumer is behind, fewer and fuller batches serve it better: with many small ones in the ring a
# packet waits for all those before it, 8 ms of them at 80,000 packets a second on one core.
_GATHER_S: Final = 0.0005
_MANY: Final = 1  # batches in the ring: the consumer is behind


@dataclass(frozen=True, slots=True)
class ReaderHealth:
    """Counts over all receivers since the start."""

    packets: int
    bytes: int
    drops: int | None  # by the kernel; None where the system does not tell
    too_long: int
    errors: int
    stalls: int  # times that the ring was full
    waiting: int  # batches in the ring


def reader_health(drain: SocketDrain, inodes: Sequence[int], stalls: int, waiting: int) -> ReaderHealth:
    counts = drain.counts
    return ReaderHealth(
        packets=sum(each.packets for each in counts),
        bytes=sum(each.bytes for each in counts),
        drops=kernel_drops(drain, inodes),
        too_long=sum(each.too_long for each in counts),
        errors=sum(each.errors for each in counts),
        stalls=stalls,
        waiting=waiting,
    )


def kernel_drops(drain: SocketDrain, inodes: Sequence[int]) -> int | None:
    """Packets that the kernel dropped at our sockets, by packets and by /proc, whichever knows more."""
    by_table = drops_of(inodes)
    if by_table is None and not any(receiver.tells_drops for receiver in drain.receivers):
        return None
    table = by_table or {}
    return sum(
        max(counts.drops, table.get(inode, 0)) for counts, inode in zip(drain.counts, inodes, strict=True)
    )


class PacketReader:
    """`take` from one thread at a time. Receivers stay the caller's: they may leave and join meanwhile."""

    def __init__(
        self,
        receivers: Sequence[MulticastReceiver],
        *,
        packets: int = BATCH_PACKETS,
        slot: int = SLOT_SIZE,
        batches: int = RING_BATCHES,
        one_by_one: bool = False,
    ) -> None:
        self.drain = SocketDrain(receivers, packets=packets, slot=slot, one_by_one=one_by_one)
        self.stalls = 0
        self._inodes = [inode_of(receiver.socket) for receiver in receivers]
        # Last in, first out: an idle feed goes through two batches that stay in the processor's cache.
        self._free = deque(self.drain.new_batch() for _ in range(batches))
        self._freed = threading.Event()
        self._full: SimpleQueue[PacketBatch] = SimpleQueue()
        self._lent: PacketBatch | None = None
        self._failure: BaseException | None = None
        self._stopping, self._abandoned = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="pregao-packets", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def remaining(self) -> Iterator[PacketBatch]:
        """End the reading: everything that has come until now, then no more."""
        self._stopping.set()
        while (batch := self.take(_WAIT_S)) is not None or self._thread.is_alive():
            if batch is not None:
                yield batch

    def stop(self) -> None:
        """End the reading at once; what is in the ring can still be taken."""
        self._stopping.set()
        self._abandoned.set()
        self._freed.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def take(self, timeout_s: float) -> PacketBatch | None:
        """The next batch, as soon as there is one; the one before it is no longer valid."""
        self._give_back()
        try:
            self._lent = self._full.get(timeout=timeout_s) if timeout_s > 0 else self._full.get_nowait()
        except Empty:
            if self._failure is not None:
                raise self._failure from None
        return self._lent

    def _give_back(self) -> None:
        if self._lent is not None:
            self._free.append(self._lent)
            self._lent = None
            self._freed.set()

    def health(self) -> ReaderHealth:
        return reader_health(self.drain, self._inodes, self.stalls, self._full.qsize())

    def drops(self) -> int | None:
        """Packets that the kernel dropped at our sockets; None where the system does not tell."""
        return kernel_drops(self.drain, self._inodes)

    # --- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                for index, receiver in enumerate(self.drain.receivers):
                    selector.register(receiver.fileno(), selectors.EVENT_READ, index)
                while not self._stopping.is_set():
                    if self._full.qsize() > _MANY:
                        pause(_GATHER_S)
                    self._turn([key.data for key, _ in selector.select(_WAIT_S)])
                self._turn([key.data for key, _ in selector.select(0)])
        except BaseException as error:  # whoever takes batches must hear of it
            self._failure = error

    def _turn(self, ready: list[int]) -> None:
        """One wakeup: everything that waits, in as many batches as it takes."""
        complete = not ready
        while not complete:
            batch = self._empty_batch()
            if batch is None:
                return
            complete = self.drain.fill(batch, ready)
            if batch.count:
                self._full.put(batch)
            else:
                self._free.append(batch)

    def _empty_batch(self) -> PacketBatch | None:
        """A free batch; None when nobody will give one back any more."""
        stalled = False
        while True:
            try:
                return self._free.pop()
            except IndexError:
                self.stalls += not stalled
                stalled = True
                self._freed.clear()
                if self._abandoned.is_set():
                    return None
                if not self._free:
                    self._freed.wait(_WAIT_S)


# Sockets drained by whoever takes the packets, in their own thread: nothing is handed from thread to thread.
#
#     with PacketPoller(receivers) as poller:
#         batch = poller.take(timeout_s=0.2)     # None: nothing came; valid until the next `take`
#
# It has the face of `PacketReader`, whose thread empties the sockets while the consumer works. Here packets
# wait in the kernel's buffers meanwhile, so those have to be large; what a consumer gains is the way from one
# thread to the other, which costs more than handling a packet.


class PacketPoller(ClosedAtExit):
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
