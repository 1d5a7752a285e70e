"""The receive buffer of a socket: as large as asked for if the system lets us, and how large it really is.

A buffer that is too small loses packets in the first burst, and no program can see why. So the size is
read back, and when it is smaller than asked for there is a hint that says what to change.
"""

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pregao.io.socket_options import SO_RCVBUFFORCE

RECEIVE_BUFFER: Final = 16 << 20  # a burst of 12,000 packets takes about 15 MB of the kernel's memory
_RMEM_MAX: Final = Path("/proc/sys/net/core/rmem_max")  # often 212,992


@dataclass(frozen=True, slots=True)
class ReceiveBuffer:
    """Bytes. Linux gives twice what one asks for, and counts its own bookkeeping against it."""

    asked: int
    given: int
    system_limit: int | None  # rmem_max, where there is one

    @property
    def hint(self) -> str | None:
        """What to do about a buffer that is too small; None when it is as asked."""
        if self.given >= self.asked:
            return None
        text = f"receive buffer of {self.given:,} bytes where {self.asked:,} were asked for"
        if self.system_limit is None:
            return text
        return f"{text}: the limit of this system is {self.system_limit:,} (sysctl net.core.rmem_max)"


def enlarge(target: socket.socket, size: int = RECEIVE_BUFFER) -> ReceiveBuffer:
    """Ask for a buffer of this size, past the system's limit where that is allowed (CAP_NET_ADMIN)."""
    if SO_RCVBUFFORCE is None or not _set(target, SO_RCVBUFFORCE, size):
        _set(target, socket.SO_RCVBUF, size)
    given = target.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    return ReceiveBuffer(size, given, system_limit())


def _set(target: socket.socket, option: int, size: int) -> bool:
    try:
        target.setsockopt(socket.SOL_SOCKET, option, size)
    except OSError:  # not allowed, or (on the BSDs) too large: what there is stays
        return False
    return True


def system_limit() -> int | None:
    """rmem_max; None where there is none."""
    try:
        return int(_RMEM_MAX.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
