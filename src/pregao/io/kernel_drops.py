"""How many packets the kernel had to drop because nobody fetched them in time.

Linux counts them per socket. The count comes with packets (SO_RXQ_OVFL: at the time when the packet
was queued) and stands in /proc/net/udp, where it is also seen when no packet comes any more.
"""

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

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
