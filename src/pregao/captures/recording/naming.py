"""Names of recordings, as B3 names its own captures, so that `stream_of_file_name` knows them again:
084_Incremental_FeedA_20250331T131500Z.pcap.zst is of channel 84 and begins at that time (UTC)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from pregao.captures.recording.settings import NS_PER_SECOND
from pregao.io.recording import part_of
from pregao.model.streams import Stream, StreamId

_STREAMS = {
    Stream.INCREMENTAL: "Incremental",
    Stream.DEFINITION: "InstrumentDefinition",
    Stream.SNAPSHOT: "SnapshotRecovery",
}


def recording_path(folder: Path, stream: StreamId, begin_ns: int) -> Path:
    """A name that no file in the folder has, whole or in part."""
    return next(
        path
        for path in _candidates(folder, stream, begin_ns)
        if not path.exists() and not part_of(path).exists()
    )


def _candidates(folder: Path, stream: StreamId, begin_ns: int) -> Iterator[Path]:
    begin = datetime.fromtimestamp(begin_ns // NS_PER_SECOND, UTC)
    stem = f"{stream.channel or 0:03}_{_STREAMS[stream.stream]}_Feed{stream.feed.name}"
    for number in count(1):
        again = "" if number == 1 else f"-{number}"
        yield folder / f"{stem}_{begin:%Y%m%dT%H%M%SZ}{again}.pcap.zst"
