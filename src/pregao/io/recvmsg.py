"""Datagrams one system call each: what `recvmmsg` does, for systems without it. The same face."""

import socket
from typing import Final

import numpy as np

from pregao.io.recvmmsg import NS_PER_SECOND, Mask
from pregao.io.socket_options import SO_RXQ_OVFL, SO_TIMESTAMPNS
from pregao.model.packets import Bytes, Int64s, UInt32s

_CONTROL_SIZE: Final = 128


class OneByOneReceiver:
    """Slots for `capacity` datagrams of at most `slot` bytes."""

    def __init__(self, capacity: int, slot: int) -> None:
        self.capacity, self.slot = capacity, slot
        self._lengths = np.zeros(capacity, np.uint32)
        self._times = np.zeros(capacity, np.int64)  # 0: not told
        self._drops = np.zeros(capacity, np.int64)
        self._cut = np.zeros(capacity, np.bool_)
        self._senders: list[tuple[str, int]] = [("0.0.0.0", 0)] * capacity
        self._view = memoryview(b"")

    def attach(self, buffer: Bytes) -> None:
        """Let datagrams come into this buffer from now on."""
        self._view = buffer.data

    def receive(self, descriptor: int, at: int) -> int:
        """Take what waits at a socket into the slots from `at` on; how many datagrams that were."""
        with socket.socket(fileno=descriptor) as borrowed:
            try:
                return self._drain(borrowed, at)
            finally:
                borrowed.detach()

    def _drain(self, source: socket.socket, at: int) -> int:
        for index in range(at, self.capacity):
            start = index * self.slot
            try:
                length, control, flags, sender = source.recvmsg_into(
                    [self._view[start : start + self.slot]], _CONTROL_SIZE
                )
            except (BlockingIOError, InterruptedError):
                return index - at
            self._lengths[index] = length
            self._cut[index] = bool(flags & socket.MSG_TRUNC)
            self._senders[index] = sender
            self._note(index, control)
        return self.capacity - at

    def _note(self, index: int, control: list[tuple[int, int, bytes]]) -> None:
        self._times[index] = self._drops[index] = 0
        for level, kind, data in control:
            if level != socket.SOL_SOCKET:
                continue
            if kind == SO_TIMESTAMPNS and len(data) == 16:
                seconds, nanoseconds = np.frombuffer(data, np.int64)
                self._times[index] = seconds * NS_PER_SECOND + nanoseconds
            elif kind == SO_RXQ_OVFL and len(data) >= 4:
                self._drops[index] = np.frombuffer(data, np.uint32, 1)[0]

    def lengths(self, count: int) -> UInt32s:
        """Of the datagrams in the first `count` slots, as all that follows."""
        return self._lengths[:count]

    def cut(self, count: int) -> Mask | None:
        """Which datagrams were longer than their slot; None: none was."""
        return self._cut[:count] if self._cut[:count].any() else None

    def times(self, count: int, now_ns: int) -> Int64s:
        """When each arrived: by the kernel, or now if it did not say."""
        times = self._times[:count]
        return np.where(times == 0, np.int64(now_ns), times)

    def drops(self, index: int) -> int:
        """The socket's count of drops when this datagram was queued."""
        return int(self._drops[index])

    def sender(self, index: int) -> bytes:
        """Port and address that a datagram came from, as on the wire."""
        address, port = self._senders[index]
        return port.to_bytes(2, "big") + socket.inet_aton(address)
