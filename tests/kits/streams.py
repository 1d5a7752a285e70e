"""Captures of a simulated day cut into files by time, as `pregao record` would have rotated them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from struct import Struct
from typing import Any

from pregao.codecs.pcap.writer import pcap_header
from pregao.io.recording import RecordingWriter
from pregao.io.seek_table import FrameTimes
from pregao.lake.plan.stored import look
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.lake.streaming.source import BatchReport, StreamSettings
from pregao.lake.streaming.streamer import Streamer
from tests.kits.lakes import all_tables, build, make_days

_RECORD = Struct("<IIII")
_FILE_HEADER = 24
FRAME_PACKETS = 12
SECOND_NS = 1_000_000_000
FAULTS = "loss=1%,both=4,gap=2x5@A,dup=0.5%"


def records(capture: Path) -> Iterator[tuple[int, bytes]]:
    """Time and bytes of each record of a plain pcap."""
    data = capture.read_bytes()
    at = _FILE_HEADER
    while at < len(data):
        seconds, nanoseconds, size, _ = _RECORD.unpack_from(data, at)
        end = at + _RECORD.size + size
        yield seconds * SECOND_NS + nanoseconds, data[at:end]
        at = end


def rotate(captures: Path, out: Path, period_s: int, channels: str = "*") -> list[list[Path]]:
    """Files of each period, one for each stream that has packets in it."""
    periods: dict[int, list[Path]] = {}
    for capture in sorted(captures.glob(f"{channels}_*.pcap")):
        parts: dict[int, list[tuple[int, bytes]]] = {}
        for ts, record in records(capture):
            parts.setdefault(ts // (period_s * SECOND_NS), []).append((ts, record))
        for period, content in parts.items():
            begins = datetime.fromtimestamp(period * period_s, UTC)
            path = out / f"{capture.stem}_{begins:%Y%m%dT%H%M%SZ}.pcap.zst"
            _write(path, content)
            periods.setdefault(period, []).append(path)
    return [files for _, files in sorted(periods.items())]


def _write(path: Path, content: list[tuple[int, bytes]]) -> None:
    writer = RecordingWriter(path, pcap_header())
    for first in range(0, len(content), FRAME_PACKETS):
        part = content[first : first + FRAME_PACKETS]
        times = FrameTimes(part[0][0], part[-1][0], len(part))
        writer.append(b"".join(record for _, record in part), times)
    writer.close()


class BuiltDay:
    """A day in files by time, and the tables that a build makes of all of them at once."""

    def __init__(self, folder: Path, period_s: int, channels: str) -> None:
        (self.whole,) = make_days(folder / "days", seed=23, messages=700, faults=FAULTS)
        self.captures = folder / "captures"
        self.periods = rotate(self.whole, self.captures, period_s, channels)
        build([self.captures], folder / "built")
        self.tables = all_tables(folder / "built")

    def equals(self, lake: Path) -> bool:
        found = all_tables(lake)
        for table, rows in self.tables.items():
            assert found[table] == rows, table
        return True


def streamer(lake: Path, checkpoint: Path, *, after: Any = None, **settings: Any) -> Streamer:
    """Without Spark."""
    chosen = StreamSettings(**{"derive": False, "piece_packets": 16} | settings)
    hooks = {} if after is None else {"after": after}
    return Streamer(Location(lake), InlineRunner(), checkpoint, chosen, **hooks)


class KilledError(BaseException):
    """As if the process had died."""


def feed(stream: Streamer, files: list[Path], *, finish: bool = False) -> BatchReport:
    return stream.advance([look(str(path)) for path in files], finish=finish)
