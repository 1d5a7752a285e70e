"""The records of classic pcap: a 16-byte header, then the frame."""

import struct
from typing import NamedTuple

from pregao.codecs.pcap.formats import PcapHeader
from pregao.codecs.pcap.outcomes import Damage, Record
from pregao.model.faults import Fault

RECORD_HEADER_SIZE = 16
# libpcap's largest snap length, and some room for the link header of writers that add it on top.
MAX_RECORD = 262_144 + 4_096
NS_PER_SECOND = 1_000_000_000


class Step(NamedTuple):
    """One record or block taken from a window: its size, and what it held for the caller.

    `outcome` is None for a block that is no packet; every other step counts one packet.
    """

    size: int
    outcome: Record | Damage | None


class PcapRecords:
    """Takes classic pcap apart, one record a step. Has no state but the file header."""

    def __init__(self, header: PcapHeader) -> None:
        self._header = header
        self._fields = struct.Struct(">IIII" if header.big_endian else "<IIII")

    def step(self, window: memoryview, at: int, offset: int, number: int) -> Step | Fault | None:
        """The record at `at`, which is byte `offset` of the file and would be packet `number`.

        None when the window ends before the record does; a Fault when the file cannot be read on.
        """
        if at + RECORD_HEADER_SIZE > len(window):
            return None
        seconds, fraction, captured, original = self._fields.unpack_from(window, at)
        if captured > MAX_RECORD:
            return Fault.RECORD_TOO_LONG
        start, end = at + RECORD_HEADER_SIZE, at + RECORD_HEADER_SIZE + captured
        if end > len(window):
            return None
        record = Record(
            number=number,
            offset=offset,
            # A sub-second part of a second or more is added as it stands: 2^32 units cannot overflow.
            ts_ns=seconds * NS_PER_SECOND + fraction * self._header.ts_unit_ns,
            linktype=self._header.linktype,
            data_offset=offset + RECORD_HEADER_SIZE,
            data=window[start:end],
            original_length=original,
        )
        return Step(end - at, record)
