"""What both sides of a session said, taken out of a journal and written again in other ways."""

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pregao.captures.reader import CaptureReader
from pregao.captures.sessions import CapturedMessage, CapturedSessions
from pregao.codecs.pcap.tcp import ACK, FIN, PSH, SYN, Direction, SegmentReader, tcp_frame
from pregao.codecs.pcap.writer import pcap_header, pcap_record
from pregao.io.captures import open_capture

SERVER, SERVER_PORT, CLIENT, CLIENT_PORT = 0x7F000001, 9_700, 0x7F000001, 50_000
LARGEST = 1_400  # bytes of a segment: messages lie in several, and several in one
DAY_NS = 86_400_000_000_000


class Said(NamedTuple):
    ts_ns: int
    by_server: bool
    data: bytes


def said_in(path: Path) -> list[Said]:
    """Every message of a journal, of both sides. The server has the lower port."""
    segments, sessions, found = SegmentReader(), CapturedSessions(str(path)), []
    with open_capture(str(path)) as source:
        for _ in CaptureReader(str(path), segments).read(source):
            found += list(sessions.items(segments))
        found += list(sessions.finish())
    messages = [each for each in found if isinstance(each, CapturedMessage)]
    return [
        Said(each.ts_ns, each.direction.src_port < each.direction.dst_port, each.data) for each in messages
    ]


def with_field(message: bytes, tag: int, value: bytes) -> bytes:
    """With another value, its length and sum right."""
    body = re.sub(rb"\x01%d=[^\x01]*\x01" % tag, b"\x01%d=%b\x01" % (tag, value), message[:-7], count=1)
    rest = body.split(b"\x01", 2)[2]
    begun = b"8=FIX.4.4\x019=%d\x01" % len(rest) + rest
    return begun + b"10=%03d\x01" % (sum(begun) % 256)


def field_of(message: bytes, tag: int) -> bytes:
    found = re.search(rb"\x01%d=([^\x01]*)\x01" % tag, message)
    assert found is not None
    return found[1]


@dataclass
class Capture:
    """Records of connections, as a network or a recorder would have them."""

    records: list[tuple[int, bytes]] = field(default_factory=list)  # time, frame

    def connection(
        self, said: Sequence[Said], *, port: int = CLIENT_PORT, server_port: int = SERVER_PORT,
        compress: bool = False, ends: bool = True, drop: Iterable[int] = (), repeat: Iterable[int] = (),
    ) -> "Capture":  # fmt: skip
        """`drop` and `repeat`: segments of the server, by number."""
        out = Direction(4, CLIENT, port, SERVER, server_port)
        back = Direction(4, SERVER, server_port, CLIENT, port)
        numbers = {out: 1, back: 1}
        squeezer, sent = zlib.compressobj(), 0
        dropped, repeated = set(drop), set(repeat)

        def add(ts_ns: int, direction: Direction, data: bytes, flags: int) -> None:
            frame = tcp_frame(data, direction, sequence=numbers[direction], acknowledged=0, flags=flags)
            numbers[direction] += len(data) + (1 if flags & (SYN | FIN) else 0)
            self.records.append((ts_ns, frame))

        first, last = said[0].ts_ns, said[-1].ts_ns
        add(first, out, b"", SYN)
        add(first, back, b"", SYN | ACK)
        for each in said:
            data = each.data
            if compress and each.by_server:
                data = squeezer.compress(data) + squeezer.flush(zlib.Z_SYNC_FLUSH)
            direction = back if each.by_server else out
            for at in range(0, len(data), LARGEST):
                add(each.ts_ns, direction, data[at : at + LARGEST], ACK | PSH)
                if each.by_server:
                    sent += 1
                    if sent in dropped:
                        self.records.pop()
                    elif sent in repeated:
                        self.records.append(self.records[-1])
        if ends:
            add(last, back, b"", FIN | ACK)
            add(last, out, b"", FIN | ACK)
        return self

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pcap_header() + b"".join(pcap_record(ts_ns, frame) for ts_ns, frame in self.records))
        return path

    def in_files(self, folder: Path, files: int) -> list[Path]:
        """Cut between records, as a recorder begins another file."""
        size = -(-len(self.records) // files)
        parts = [self.records[at : at + size] for at in range(0, len(self.records), size)]
        return [Capture(part).write(folder / f"{number:02}.pcap") for number, part in enumerate(parts)]


def on_the_next_day(said: Said) -> Said:
    """Sent a day later, by its own time and the capture's."""
    day = field_of(said.data, 52)
    later = b"%d%b" % (int(day[:8]) + 1, day[8:])
    return replace_time(said, later, said.ts_ns + DAY_NS)


def replace_time(said: Said, sent: bytes, ts_ns: int) -> Said:
    return said._replace(data=with_field(said.data, 52, sent), ts_ns=ts_ns)


def as_if_by(said: Said, client: bytes) -> Said:
    """The same of another client."""
    tag = 56 if said.by_server else 49
    return said._replace(data=with_field(said.data, tag, client))
