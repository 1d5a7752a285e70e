"""Captures of the simulation taken apart and put together otherwise: classic pcap, Ethernet, IPv4, UDP."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from struct import unpack_from
from typing import Any, NamedTuple

from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.codecs.sbe import SbeMessageEncoder, load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder, PacketHeader, frame

_FILE, _RECORD, _UDP = 24, 16, 14 + 20 + 8


class Captured(NamedTuple):
    ts_ns: int
    frame: bytes

    @property
    def payload(self) -> bytes:
        return self.frame[_UDP:]

    @property
    def header(self) -> PacketHeader:
        return PacketHeader.decode(self.payload)

    def with_payload(self, payload: bytes, ts_ns: int | None = None) -> "Captured":
        """Another packet of the same flow."""
        src, dst = unpack_from(">II", self.frame, 26)
        src_port, dst_port = unpack_from(">HH", self.frame, 34)
        made = ethernet_udp_frame(payload, src=src, dst=dst, src_port=src_port, dst_port=dst_port)
        return Captured(self.ts_ns if ts_ns is None else ts_ns, made)


def read_capture(path: Path) -> list[Captured]:
    content, at, found = path.read_bytes(), _FILE, []
    while at < len(content):
        seconds, nanoseconds, size, _ = unpack_from("<IIII", content, at)
        at += _RECORD
        found.append(Captured(seconds * 10**9 + nanoseconds, content[at : at + size]))
        at += size
    return found


def write_capture(path: Path, packets: Iterable[Captured]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pcap_header() + b"".join(pcap_record(each.ts_ns, each.frame) for each in packets))
    return path


def copy_capture(
    path: Path, folder: Path, change: Callable[[list[Captured]], list[Captured]] | None = None
) -> Path:
    """Under the same name in another folder."""
    packets = read_capture(path)
    return write_capture(folder / path.name, packets if change is None else change(packets))


class Messages:
    """Messages of one wire version, written as the exchange would."""

    def __init__(self, version: int = 16) -> None:
        schema = load_builtin_schema()
        self._encoder = SbeMessageEncoder(schema, version)
        self._packets = PacketDecoder(schema)

    def decoded(self, path: Path, name: str) -> list[dict[str, Any]]:
        """Fields of all messages of a name in a capture."""
        return [
            dict(each.message.fields or {})
            for packet in read_capture(path)
            for each in self._packets.decode(packet.payload).messages
            if each.message.name == name
        ]

    def append(self, path: Path, folder: Path, *messages: tuple[str, Mapping[str, Any]]) -> Path:
        """The capture with one more packet, a second after its last one."""
        packets = read_capture(path)
        last = max((each for each in packets if each.header.sequence_number), key=lambda each: each.ts_ns)
        before = last.header
        header = PacketHeader(
            before.channel, before.sequence_version, before.sequence_number + 1,
            before.sending_time_ns + 10**9,
        )  # fmt: skip
        content = b"".join(frame(self._encoder.encode(name, fields)) for name, fields in messages)
        later = [each for each in packets if each.ts_ns > last.ts_ns + 10**9]
        earlier = [each for each in packets if each.ts_ns <= last.ts_ns + 10**9]
        added = last.with_payload(header.encode() + content, last.ts_ns + 10**9)
        return write_capture(folder / path.name, [*earlier, added, *later])
