"""Received payloads back into capture records: Ethernet, IPv4 and UDP headers as they may have been.

A socket gives payloads without headers. For a recording they are made again: the group and port that the
socket is bound to, the sender it heard from. UDP checksums are 0, which on IPv4 means none. `record_of`
is the plain version; `RecordBuffers` does batches by kernel.
"""

from pregao.codecs.pcap.framing.buffers import RecordBuffers
from pregao.codecs.pcap.framing.plain import HEAD_SIZE, Endpoints, head_of, record_of, times_of_records

__all__ = ["HEAD_SIZE", "Endpoints", "RecordBuffers", "head_of", "record_of", "times_of_records"]
