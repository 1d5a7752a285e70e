"""All captures of a day as one, by time: as tcpdump writes them who listens to everything."""

from collections.abc import Iterator, Sequence
from heapq import merge
from pathlib import Path
from struct import Struct
from typing import Final

from pregao.codecs.pcap.classic import NS_PER_SECOND
from pregao.codecs.pcap.writer import pcap_header
from pregao.io.writing import AppendFile

NAME: Final = "capture.pcap"  # says nothing of what is in it
_RECORD: Final = Struct("<IIII")  # seconds, nanoseconds, bytes captured, bytes sent


def join_captures(captures: Sequence[Path], target: Path) -> int:
    """Puts the records of nanosecond captures into one file and deletes them; its size."""
    file = AppendFile(target)
    try:
        file.write(pcap_header())
        for _, _, record in merge(*(_records(path, order) for order, path in enumerate(captures))):
            file.write(record)
    except BaseException:
        file.discard()
        raise
    file.close()
    for path in captures:
        path.unlink()
    return file.written


def _records(path: Path, order: int) -> Iterator[tuple[int, int, bytes]]:
    """By time, then by file. A capture of ours has its packets in the order of time."""
    with path.open("rb") as file:
        file.seek(len(pcap_header()))
        while head := file.read(_RECORD.size):
            seconds, nanoseconds, size, _ = _RECORD.unpack(head)
            yield seconds * NS_PER_SECOND + nanoseconds, order, head + file.read(size)
