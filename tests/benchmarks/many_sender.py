"""Many datagrams with one system call: Linux's sendmmsg through ctypes, the mirror of `pregao.io.recvmmsg`.

Packets lie in one array and are sent from where they lie. Only for benchmarks: an exchange sends when it
has something to say, and this sends as fast as it is told to.
"""

import ctypes
import errno
import time

import numpy as np

from pregao.io.multicast import Destination, MulticastSender

CHUNK = 64
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
    """Sends to one group only. Unlike its parent it waits for room: a packet is never lost here."""

    def __init__(self, interface: str, to: Destination) -> None:
        super().__init__(interface)
        self._socket.connect(to)
        self._iovecs = np.zeros(CHUNK, _IOVEC)
        self._headers = np.zeros(CHUNK, _HEADER)
        self._headers["iov"] = self._iovecs.ctypes.data + np.arange(CHUNK, dtype=np.uint64) * _IOVEC.itemsize
        self._headers["iovs"] = 1
        self._address = self._headers.ctypes.data
        self._bases, self._sizes = self._iovecs["base"], self._iovecs["size"]
        self._call = ctypes.CDLL(None, use_errno=True).sendmmsg
        self._call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]

    def send_many(self, addresses: np.ndarray, sizes: np.ndarray) -> None:
        """At most CHUNK packets, at these addresses."""
        count, done = len(addresses), 0
        self._bases[:count] = addresses
        self._sizes[:count] = sizes
        while done < count:
            sent = self._call(self.fileno(), self._address + done * _HEADER.itemsize, count - done, 0)
            if sent > 0:
                done += sent
                self.sent += sent
            elif ctypes.get_errno() in _RETRY:
                time.sleep(_RETRY_S)
            else:
                raise OSError(ctypes.get_errno(), "sendmmsg failed")
