"""A recorder's files of a busy channel, appearing as time goes by: played at a steady rate, rotated often.

Packets are those of the lake's benchmark day. Each is given the time at which it would have been sent and
received, so that whoever waits for streams by their times waits as long as with a live feed.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from time import sleep, time, time_ns

import numpy as np

from pregao.codecs.pcap.writer import pcap_header
from pregao.io.recording import RecordingWriter
from pregao.io.seek_table import FrameTimes
from tests.kits.streams import records

SECOND_NS = 1_000_000_000
_RECEIVED = Struct("<II")  # in the head of a record
_SENT, _SENT_AT = Struct("<Q"), 16 + 42 + 8  # past the heads of record, Ethernet, IP and UDP, in the packet's
_FRAME_PACKETS = 256
Timed = list[tuple[float, int, bytes]]  # seconds from the beginning; when it was received, a record


class Player:
    """All streams of a channel. Its busiest one has as many packets every second; the others keep their
    place beside it, and what both feeds have was sent at the same time on both."""

    def __init__(self, captures: list[Path], seconds: float) -> None:
        self.seconds = seconds
        content = {capture.stem: list(records(capture)) for capture in captures}
        sent = {name: np.array([_sent_ns(each) for _, each in known]) for name, known in content.items()}
        busiest = max(sent.values(), key=len)
        self.rate = len(busiest) / seconds
        clock = np.sort(busiest), np.arange(len(busiest)) / self.rate
        self._streams = {
            name: (np.interp(sent[name], *clock, right=seconds - 1e-6), known)
            for name, known in content.items()
        }

    def begin(self, out: Path, until: float) -> None:
        """What came before a moment, at once."""
        self._write(out, self._between(0.0, until), time() - until)

    def play(self, out: Path, since: float, rotate: float) -> tuple[int, int]:
        """The rest, in its time, a file of each stream every `rotate` seconds. When it began and ended."""
        began = time() - since
        first = time_ns()
        while since < self.seconds:
            parts = self._between(since, since + rotate)
            since = min(since + rotate, self.seconds)
            self._write(out, parts, began, at=began + since)
        return first, time_ns()

    def _between(self, since: float, until: float) -> Iterator[tuple[str, Timed]]:
        for name, (places, content) in self._streams.items():
            first, end = np.searchsorted(places, [since, until])
            if end > first:
                yield name, [(places[each], *content[each]) for each in range(first, end)]

    def _write(
        self, out: Path, parts: Iterator[tuple[str, Timed]], began: float, at: float | None = None
    ) -> None:
        """Files are written while packets come, and get their names when the time is over."""
        writers = []
        for name, content in parts:
            writer = RecordingWriter(
                out / f"{name}_{int((began + content[0][0]) * 1000)}.pcap.zst", pcap_header()
            )
            for first in range(0, len(content), _FRAME_PACKETS):
                part = content[first : first + _FRAME_PACKETS]
                frame = [
                    _at(record, int((began + place) * SECOND_NS), received)
                    for place, received, record in part
                ]
                times = FrameTimes(_time_of(frame[0]), _time_of(frame[-1]), len(frame))
                writer.append(b"".join(frame), times)
            writers.append(writer)
        if at is not None:
            sleep(max(0.0, at - time()))
        for writer in writers:
            writer.close()


def _sent_ns(record: bytes) -> int:
    return int(_SENT.unpack_from(record, _SENT_AT)[0])


def _at(record: bytes, sent_ns: int, received_ns: int) -> bytes:
    """Sent at another time, and as long on its way as it was."""
    changed = bytearray(record)
    _RECEIVED.pack_into(changed, 0, *divmod(sent_ns + received_ns - _sent_ns(record), SECOND_NS))
    _SENT.pack_into(changed, _SENT_AT, sent_ns)
    return bytes(changed)


def _time_of(record: bytes) -> int:
    seconds, rest = _RECEIVED.unpack_from(record)
    return int(seconds * SECOND_NS + rest)
