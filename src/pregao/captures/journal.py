"""Journals of sessions: what passed over a connection, inflated, as a capture that any tool reads.

    journal = JournalWriter(folder, "screens", settings)
    journal.connected(("127.0.0.1", 50123), ("127.0.0.1", 9700), now_ns)
    journal.received(data, now_ns)          # as it came, compressed or plain
    journal.sent(data, now_ns)
    journal.close(now_ns)

The headers of Ethernet, IP and TCP are made: addresses, ports and times are the connection's. A connection
begins with a handshake and ends with FIN. Passwords (554) are blanked, lengths and sums mended. Files are
recordings as those of `pregao record`: independent frames of zstd, named when they are whole.
"""

from datetime import UTC, datetime
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Final

from pregao.captures.recorder import NS_PER_SECOND, RecordSettings
from pregao.codecs.fix.blanking import blank_stream
from pregao.codecs.fix.compression import StreamInflater
from pregao.codecs.pcap.tcp import ACK, FIN, PSH, SYN, Direction, tcp_frame
from pregao.codecs.pcap.writer import pcap_header, pcap_record
from pregao.io.recording import RecordingWriter, part_of
from pregao.io.seek_table import FrameTimes
from pregao.model.errors import DecodeError

MOST_IN_A_SEGMENT: Final = 16_384
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


class _Connection:
    """Numbers of both directions."""

    def __init__(self, local: tuple[str, int], remote: tuple[str, int]) -> None:
        ours, theirs = ip_address(local[0]), ip_address(remote[0])
        self.out = Direction(ours.version, int(ours), local[1], int(theirs), remote[1])
        self.back = Direction(ours.version, int(theirs), remote[1], int(ours), local[1])
        self.numbers = {self.out: 1, self.back: 1}
        self.inflater = StreamInflater()
        self.is_broken = False

    def frame(self, direction: Direction, payload: bytes = b"", flags: int = ACK) -> bytes:
        other = self.back if direction is self.out else self.out
        number, acknowledged = self.numbers[direction], self.numbers[other]
        self.numbers[direction] += len(payload) + (1 if flags & (SYN | FIN) else 0)
        return tcp_frame(payload, direction, sequence=number, acknowledged=acknowledged, flags=flags)


class JournalWriter:
    """Files of one session in a folder. What is not written yet is bounded by a frame's size."""

    def __init__(self, name: str, settings: RecordSettings) -> None:
        self._name = "".join(each if each in _LETTERS else "-" for each in name)[:64] or "session"
        self._settings = settings
        self._connection: _Connection | None = None
        self._writer: RecordingWriter | None = None
        self._opened_ns = 0
        self._records = bytearray()
        self._times: list[int] = []
        self.files: list[Path] = []
        self.packets = self.bytes = 0

    def connected(self, local: tuple[str, int], remote: tuple[str, int], now_ns: int) -> None:
        self.closed(now_ns)
        connection = self._connection = _Connection(local, remote)
        self._add(connection.frame(connection.out, flags=SYN), now_ns)
        self._add(connection.frame(connection.back, flags=SYN | ACK), now_ns)
        self._add(connection.frame(connection.out), now_ns)

    def received(self, data: bytes, now_ns: int) -> None:
        """Of the server. A stream that cannot be inflated any more is written up to there."""
        connection = self._connection
        if connection is None or connection.is_broken:
            return
        try:
            for piece in connection.inflater.feed(data):
                self._write(connection, connection.back, blank_stream(piece), now_ns)
        except DecodeError:
            connection.is_broken = True

    def sent(self, data: bytes, now_ns: int) -> None:
        if self._connection is not None:
            self._write(self._connection, self._connection.out, blank_stream(data), now_ns)

    def closed(self, now_ns: int) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._add(connection.frame(connection.out, flags=FIN | ACK), now_ns)
            self._add(connection.frame(connection.back, flags=FIN | ACK), now_ns)

    def tick(self, now_ns: int) -> None:
        """Now and then: what waits is written, a file that is old enough is closed."""
        if self._times and now_ns - self._times[0] >= self._settings.frame_ns:
            self._flush()
        if self._writer is not None and now_ns - self._opened_ns >= self._settings.rotate_ns:
            self._rotate()

    def close(self, now_ns: int) -> None:
        self.closed(now_ns)
        self._flush()
        self._rotate()

    def _write(self, connection: _Connection, direction: Direction, data: bytes, now_ns: int) -> None:
        for at in range(0, len(data), MOST_IN_A_SEGMENT):
            frame = connection.frame(direction, data[at : at + MOST_IN_A_SEGMENT], ACK | PSH)
            self._add(frame, now_ns)

    def _add(self, frame: bytes, now_ns: int) -> None:
        self._records += pcap_record(now_ns, frame)
        self._times.append(now_ns)
        self.packets += 1
        if len(self._records) >= self._settings.frame_bytes:
            self._flush()

    def _flush(self) -> None:
        if not self._times:
            return
        writer = self._writer or self._open(self._times[0])
        before = writer.size
        # A clock that was set back must not make a frame end before it begins.
        times = FrameTimes(min(self._times), max(self._times), len(self._times))
        writer.append(bytes(self._records), times)
        self.bytes += writer.size - before
        self._records.clear()
        self._times.clear()
        if writer.size >= self._settings.rotate_bytes:
            self._rotate()

    def _open(self, begin_ns: int) -> RecordingWriter:
        begin = datetime.fromtimestamp(begin_ns // NS_PER_SECOND, UTC)
        stem = f"{self._name}_Session_{begin:%Y%m%dT%H%M%SZ}"
        names = (f"{stem}{'' if number == 1 else f'-{number}'}.pcap.zst" for number in count(1))
        path = next(
            path
            for path in (self._settings.out / name for name in names)
            if not path.exists() and not part_of(path).exists()
        )
        self._writer = RecordingWriter(path, pcap_header(), self._settings.level)
        self._opened_ns = begin_ns
        self.files.append(path)
        return self._writer

    def _rotate(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
