"""Batches in, rotated files out: every packet once, at its time, in files that say what they are."""

from pathlib import Path
from random import Random

import pytest

from pregao.captures.record import repair_recordings
from pregao.captures.recorder import NS_PER_SECOND, Recorder, RecordSettings, recording_path
from pregao.captures.streams import stream_of_file_name
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.framing import Endpoints
from pregao.codecs.pcap.outcomes import Datagram
from pregao.io.captures import open_capture
from pregao.io.seekable import open_seekable
from pregao.model.errors import CaptureError, ConfigurationError
from pregao.model.packets import batch_of
from pregao.model.streams import Feed, Stream, StreamId

STREAMS = [
    StreamId(84, Stream.INCREMENTAL, Feed.A),
    StreamId(84, Stream.INCREMENTAL, Feed.B),
    StreamId(84, Stream.DEFINITION, Feed.C),
    StreamId(7, Stream.SNAPSHOT, Feed.A),
]
ENDPOINTS = [Endpoints(0xC6336407, 5000, 0xE9FC0001 + i, 30_000 + i) for i in range(4)]
START_NS = 1_743_426_900 * NS_PER_SECOND  # 2025-03-31 13:15:00 UTC
PACKETS = 64

Packet = tuple[int, int, bytes]


def recorder(settings: RecordSettings) -> Recorder:
    return Recorder(STREAMS, ENDPOINTS, settings, PACKETS)


def traffic(batches: int) -> list[list[Packet]]:
    """Batches of packets of all sources, a millisecond apart, but for those of the last source: seldom."""
    random, number, result = Random(11), 0, []
    for _ in range(batches):
        batch = []
        for _ in range(random.randrange(1, PACKETS)):
            source = 3 if random.random() < 0.001 else random.randrange(3)
            batch.append((source, START_NS + number * 1_000_000, random.randbytes(random.randrange(0, 300))))
            number += 1
        result.append(batch)
    return result


def run(settings: RecordSettings, batches: list[list[Packet]]) -> Recorder:
    running = recorder(settings)
    for batch in batches:
        now_ns = batch[-1][1]
        running.take(batch_of(batch), now_ns)
        running.tick(now_ns)
    running.close(now_ns)
    return running


def read(path: Path) -> list[tuple[int, bytes]]:
    reader, found = DatagramReader(), []
    with open_capture(path) as source:
        for window in source.windows(5000):
            for outcome in reader.outcomes(window.data):
                assert isinstance(outcome, Datagram)
                found.append((outcome.ts_ns, bytes(outcome.payload)))
            window.consumed = reader.position - window.base
    assert reader.finish(source.length) == []
    return found


def check(folder: Path, batches: list[list[Packet]]) -> dict[StreamId, list[Path]]:
    """All packets of each stream are in its files, in order; the files by stream."""
    files: dict[StreamId, list[Path]] = {stream: [] for stream in STREAMS}
    for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns):
        files[stream_of_file_name(path.name)].append(path)
    for index, stream in enumerate(STREAMS):
        recorded = sorted(packet for path in files[stream] for packet in read(path))
        assert recorded == sorted((ts, data) for batch in batches for s, ts, data in batch if s == index)
    return files


def test_every_packet_is_in_a_file_of_its_stream(tmp_path: Path) -> None:
    batches = traffic(100)
    running = run(RecordSettings(tmp_path), batches)
    files = check(tmp_path, batches)
    assert [len(each) for each in files.values()] == [1, 1, 1, 1]
    assert (running.counts.opened, running.counts.closed, running.counts.open) == (4, 4, 0)
    assert files[STREAMS[0]][0].name == "084_Incremental_FeedA_20250331T131500Z.pcap.zst"


def test_files_rotate_by_size_and_frames_by_size(tmp_path: Path) -> None:
    batches = traffic(200)
    run(RecordSettings(tmp_path, rotate_bytes=50_000, frame_bytes=10_000), batches)
    files = check(tmp_path, batches)[STREAMS[0]]
    assert len(files) > 3
    for path in files:
        with open_seekable(path) as recording:
            assert recording.has_table
            contents = [recording.read(index) for index in range(len(recording.frames))]
        assert all(10_000 <= len(content) < 10_000 + PACKETS * 400 for content in contents[1:-1])


def test_files_rotate_by_time_also_when_nothing_comes(tmp_path: Path) -> None:
    settings = RecordSettings(tmp_path, rotate_ns=2 * NS_PER_SECOND)
    batches = traffic(300)
    run(settings, batches)
    assert len(check(tmp_path, batches)[STREAMS[0]]) == pytest.approx(
        (batches[-1][-1][1] - START_NS) / settings.rotate_ns, abs=2
    )
    quiet = recorder(RecordSettings(tmp_path / "quiet", rotate_ns=2 * NS_PER_SECOND))
    quiet.take(batch_of([(0, START_NS, b"one")]), START_NS)
    quiet.tick(START_NS + 3 * NS_PER_SECOND)  # flushed: the file begins to age now
    quiet.tick(START_NS + 6 * NS_PER_SECOND)
    quiet.close(START_NS + 7 * NS_PER_SECOND)
    assert [path.suffix for path in (tmp_path / "quiet").iterdir()] == [".zst"]


def test_a_frame_is_on_disk_after_a_second_and_knows_its_times(tmp_path: Path) -> None:
    running = recorder(RecordSettings(tmp_path))
    for second in range(3):
        now_ns = START_NS + second * NS_PER_SECOND
        running.take(batch_of([(0, now_ns + 5, b"late"), (0, now_ns, b"early")]), now_ns)
        running.tick(now_ns + NS_PER_SECOND - 1)
        running.tick(now_ns + NS_PER_SECOND)
    (part,) = tmp_path.iterdir()
    with open_seekable(part) as recording:
        assert len(recording.frames) == 4
    running.close(now_ns)
    with open_seekable(next(tmp_path.iterdir())) as recording:
        times = [frame.times for frame in recording.frames[1:]]
    assert times == [(START_NS + i * NS_PER_SECOND, START_NS + i * NS_PER_SECOND + 5, 2) for i in range(3)]


def test_what_a_killed_recorder_left_is_repaired(tmp_path: Path) -> None:
    running, batches = recorder(RecordSettings(tmp_path, frame_bytes=1000)), traffic(50)
    for batch in batches:
        running.take(batch_of(batch), batch[-1][1])
    for files in running._files:  # as if killed: nothing flushed, nothing named
        if files._writer is not None:
            files._writer.abandon()
    repairs = repair_recordings(RecordSettings(tmp_path))
    assert repairs
    assert {path.suffix for path in tmp_path.iterdir()} == {".zst"}
    everything = {(ts, data) for batch in batches for _, ts, data in batch}
    recorded = [packet for path in tmp_path.iterdir() for packet in read(path)]
    assert sum(each.packets for each in repairs) == len(recorded) > 0.8 * len(everything)
    assert set(recorded) <= everything
    running._closing.shutdown()


def test_one_stream_that_fails_does_not_keep_the_others(tmp_path: Path) -> None:
    running = recorder(RecordSettings(tmp_path))
    running.take(batch_of([(0, START_NS, b"a"), (1, START_NS, b"b")]), START_NS)
    running.tick(START_NS + NS_PER_SECOND)
    writer = running._files[0]._writer
    assert writer is not None
    writer.abandon()
    running.take(batch_of([(0, START_NS, b"a"), (1, START_NS, b"b")]), START_NS)
    with pytest.raises(CaptureError, match="FeedA"):
        running.close(START_NS)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".part", ".zst"]


def test_names_are_never_taken_twice(tmp_path: Path) -> None:
    first = recording_path(tmp_path, STREAMS[2], START_NS)
    assert first.name == "084_InstrumentDefinition_FeedC_20250331T131500Z.pcap.zst"
    first.touch()
    second = recording_path(tmp_path, STREAMS[2], START_NS)
    assert second.name == "084_InstrumentDefinition_FeedC_20250331T131500Z-2.pcap.zst"
    second.with_name(second.name + ".part").touch()
    third = recording_path(tmp_path, STREAMS[2], START_NS)
    assert stream_of_file_name(third.name) == STREAMS[2]
    assert third.name.endswith("Z-3.pcap.zst")


def test_settings_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="level"):
        RecordSettings(tmp_path, level=23)
