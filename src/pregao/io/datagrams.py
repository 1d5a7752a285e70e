"""Datagrams of a socket: many with one system call (Linux's recvmmsg), or one by one without it."""

import ctypes
import errno
import socket
import struct
import sys
from typing import Any, Final

import numpy as np

from pregao.io.receive_buffer import SO_RXQ_OVFL, SO_TIMESTAMPNS
from pregao.model.packets import Bytes, Int64s, UInt32s

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

NS_PER_SECOND: Final = 1_000_000_000
_MSG_DONTWAIT: Final = 0x40
_NAME_SIZE: Final = 16  # sockaddr_in
_BATCH_CONTROL_SIZE: Final = 64
# struct mmsghdr and struct iovec of 64-bit Linux.
_HEADER: Final = np.dtype(
    {
        "names": ["name", "name_size", "iov", "iovs", "control", "control_size", "flags", "length"],
        "formats": ["u8", "u4", "u8", "u8", "u8", "u8", "i4", "u4"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56],
        "itemsize": 64,
    }
)
_IOVEC: Final = np.dtype([("base", "u8"), ("size", "u8")])
# The time comes first: struct cmsghdr (length, level, type), then seconds and nanoseconds. Behind it,
# only once something was dropped, the count of drops.
_CONTROL: Final = np.dtype(
    {
        "names": ["kind", "seconds", "nanoseconds", "drop_kind", "drops"],
        "formats": ["i8", "i8", "i8", "i8", "u4"],
        "offsets": [8, 16, 24, 40, 48],
        "itemsize": _BATCH_CONTROL_SIZE,
    }
)
_TIME_SIZE, _TIME_AND_DROPS_SIZE = 32, 52
# Level and type of a control message, read as one number.
_KIND_TIME: Final = socket.SOL_SOCKET | (SO_TIMESTAMPNS or 0) << 32
_KIND_DROPS: Final = socket.SOL_SOCKET | (SO_RXQ_OVFL or 0) << 32


def _system_call() -> Any:
    """libc's recvmmsg, or None where this file does not know the structures."""
    if sys.platform != "linux" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "recvmmsg", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p]
        function.restype = ctypes.c_int
    return function


_RECVMMSG: Final = _system_call()
AVAILABLE: Final = _RECVMMSG is not None and SO_TIMESTAMPNS is not None


class ManyReceiver:
    """Headers for `capacity` datagrams of at most `slot` bytes."""

    def __init__(self, capacity: int, slot: int) -> None:
        self.capacity, self.slot = capacity, slot
        self._names = np.zeros((capacity, _NAME_SIZE), np.uint8)
        self._control = np.zeros(capacity, _CONTROL)
        self._iovecs = np.zeros(capacity, _IOVEC)
        self._iovecs["size"] = slot
        self._headers = np.zeros(capacity, _HEADER)
        places = np.arange(capacity, dtype=np.uint64)
        self._headers["name"] = self._names.ctypes.data + places * _NAME_SIZE
        self._headers["iov"] = self._iovecs.ctypes.data + places * _IOVEC.itemsize
        self._headers["iovs"] = 1
        self._headers["control"] = self._control.ctypes.data + places * _BATCH_CONTROL_SIZE
        self._slots = places * np.uint64(slot)
        # Taking a field of a structured array costs more than a small batch: it is done once.
        self._name_sizes, self._control_sizes, self._flags, self._lengths = (
            self._headers[name] for name in ("name_size", "control_size", "flags", "length")
        )
        self._kinds, self._seconds, self._nanoseconds = (
            self._control[name] for name in ("kind", "seconds", "nanoseconds")
        )
        self._buffer: Bytes | None = None
        self._address = self._headers.ctypes.data
        self._used = capacity  # headers that the kernel may have written to

    def attach(self, buffer: Bytes) -> None:
        """Let datagrams come into this buffer from now on, from its first slot."""
        if len(buffer) < self.capacity * self.slot:
            raise ValueError(f"a buffer of {len(buffer)} bytes for {self.capacity} slots of {self.slot}")
        if buffer is not self._buffer:
            self._buffer = buffer
            self._iovecs["base"] = self._slots + np.uint64(buffer.ctypes.data)
        # The kernel has written to these what it gave; it must find how much room there is.
        used, self._used = self._used, 0
        self._name_sizes[:used] = _NAME_SIZE
        self._control_sizes[:used] = _BATCH_CONTROL_SIZE

    def receive(self, descriptor: int, at: int) -> int:
        """Take what waits at a socket into the slots from `at` on; how many datagrams that were."""
        address, room = self._address + at * _HEADER.itemsize, self.capacity - at
        received: int = _RECVMMSG(descriptor, address, room, _MSG_DONTWAIT, None)
        # One more than it gave: where it found nothing it may have written too.
        self._used = min(at + max(received, 0) + 1, self.capacity)
        if received >= 0:
            return received
        code = ctypes.get_errno()
        if code in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR):
            return 0
        raise OSError(code, errno.errorcode.get(code, "recvmmsg failed"))

    def lengths(self, count: int) -> UInt32s:
        """Of the datagrams in the first `count` slots, as all that follows."""
        return self._lengths[:count]

    def cut(self, count: int) -> Mask | None:
        """Which datagrams were longer than their slot; None: none was."""
        cut: Mask = (self._flags[:count] & socket.MSG_TRUNC) != 0
        return cut if cut.any() else None

    def times(self, count: int, now_ns: int) -> Int64s:
        """When each arrived: by the kernel, or now if it did not say."""
        times = self._seconds[:count] * NS_PER_SECOND + self._nanoseconds[:count]
        stamped = (self._kinds[:count] == _KIND_TIME) & (self._control_sizes[:count] >= _TIME_SIZE)
        return times if stamped.all() else np.where(stamped, times, np.int64(now_ns))

    def drops(self, index: int) -> int:
        """The socket's count of drops when this datagram was queued; the kernel does not mention 0."""
        if self._control_sizes[index] < _TIME_AND_DROPS_SIZE:
            return 0
        control = self._control[index]
        return int(control["drops"]) if control["drop_kind"] == _KIND_DROPS else 0

    def sender(self, index: int) -> bytes:
        """Port and address that a datagram came from, as on the wire."""
        return bytes(self._names[index, 2:8])


# Datagrams one system call each: what `recvmmsg` does, for systems without it. The same face.


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
