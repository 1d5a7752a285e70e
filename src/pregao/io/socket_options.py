"""Socket options that Python's `socket` does not name, with their numbers on Linux.

Elsewhere they are None: what depends on them is then done without, and says so. The numbers are those
of include/uapi/asm-generic/socket.h and linux/in.h; the few processors with numbers of their own
(alpha, mips, parisc, sparc) are treated as if they had none.
"""

import platform
import sys
from typing import Final

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
