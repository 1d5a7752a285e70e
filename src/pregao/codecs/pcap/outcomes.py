"""What can come out of a capture: records, datagrams, packets that are not for us, and damage.

Outcomes are values, not exceptions: a capture with a million foreign packets in it is ordinary,
and one bad packet must not end the reading of the file.
"""

from dataclasses import dataclass
from enum import IntEnum

from pregao.model.errors import Fault


class Skip(IntEnum):
    """Why a sound record gives no datagram. Apart from every `Fault`, so both fit one column."""

    UNKNOWN_LINK = 240  # a link type that `ip` does not know
    NON_IP = 241
    NON_UDP = 242
    FRAGMENT_PENDING = 243  # kept until the other fragments of its datagram come
    NON_TCP = 244  # where sessions are looked for
    SEGMENT = 245  # one of a TCP connection: see `tcp`


@dataclass(slots=True)
class Record:
    """One packet as captured. `data` is a view into the window it was read from."""

    number: int  # 1-based, over the whole file, as Wireshark counts
    offset: int  # of the record (pcapng: of its block) in the file
    ts_ns: int
    linktype: int
    data_offset: int  # of `data` in the file
    data: memoryview
    original_length: int  # on the wire

    @property
    def captured_length(self) -> int:
        return len(self.data)

    @property
    def is_cut(self) -> bool:
        """The capture kept fewer bytes than were on the wire (snap length)."""
        return len(self.data) < self.original_length


@dataclass(slots=True)
class Datagram:
    """One UDP datagram. Addresses are integers of 4 or 16 bytes, as `ip_version` says."""

    number: int
    ts_ns: int
    src: int
    dst: int
    src_port: int
    dst_port: int
    ip_version: int
    payload: memoryview
    payload_offset: int | None  # in the file; None when put together from fragments
    record_offset: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A named fault and where it is: the byte at which the record begins, and its number.

    `left` is only given by damage that ends a file: how many bytes, from `offset`, were not read.
    """

    fault: Fault
    offset: int
    number: int
    left: int = 0
