"""The receive buffer of a socket: as large as asked for if the system lets us, and how large it really is.

A buffer that is too small loses packets in the first burst, and no program can see why. So the size is
read back, and when it is smaller than asked for there is a hint that says what to change.
"""

import os
import platform
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Socket options that Python's `socket` does not name, with their numbers on Linux.
#
# Elsewhere they are None: what depends on them is then done without, and says so. The numbers are those of
# include/uapi/asm-generic/socket.h and linux/in.h; the few processors with numbers of their own (alpha, mips,
# parisc, sparc) are treated as if they had none.


_OWN_NUMBERS: Final = ("alpha", "mips", "parisc", "sparc")
_COMMON: Final = sys.platform == "linux" and not platform.machine().startswith(_OWN_NUMBERS)


def _on_linux(number: int) -> int | None:
    return number if _COMMON else None


SO_RCVBUFFORCE: Final = _on_linux(33)  # a receive buffer beyond rmem_max, for who may
SO_TIMESTAMPNS: Final = _on_linux(35)  # also the type of the control message
SO_RXQ_OVFL: Final = _on_linux(40)  # also the type of the control message
IP_ADD_SOURCE_MEMBERSHIP: Final = _on_linux(39)
IP_DROP_SOURCE_MEMBERSHIP: Final = _on_linux(40)
IP_MULTICAST_ALL: Final = _on_linux(49)  # 1: also groups that other sockets joined


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


# How many packets the kernel had to drop because nobody fetched them in time.
#
# Linux counts them per socket. The count comes with packets (SO_RXQ_OVFL: at the time when the packet was
# queued) and stands in /proc/net/udp, where it is also seen when no packet comes any more.


_TABLE: Final = Path("/proc/net/udp")
_INODE, _DROPS, _COLUMNS = 9, 12, 13


def inode_of(target: socket.socket) -> int:
    """What /proc knows a socket by."""
    return os.fstat(target.fileno()).st_ino


def drops_of(inodes: Iterable[int]) -> dict[int, int] | None:
    """Drops of these sockets of this network namespace; None where the system does not tell."""
    try:
        text = _TABLE.read_text(encoding="ascii")
    except OSError:
        return None
    return drops_in_table(text, frozenset(inodes))


def drops_in_table(text: str, inodes: frozenset[int]) -> dict[int, int]:
    """The drops column of /proc/net/udp for these inodes."""
    found: dict[int, int] = {}
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) >= _COLUMNS and fields[_INODE].isdigit() and int(fields[_INODE]) in inodes:
            found[int(fields[_INODE])] = int(fields[_DROPS])
    return found
