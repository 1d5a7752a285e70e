"""Recordings: ordinary zstd to everyone, random access to us, good up to the last whole frame."""

import os
import shutil
import struct
import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pregao.io.captures import open_capture
from pregao.io.recording import RecordingWriter, RepairOutcome, part_of, repair, repair_folder
from pregao.io.seek_table import (
    FOOTER_SIZE,
    FrameSizes,
    FrameTimes,
    decode_seek_table,
    decode_time_table,
    encode_seek_table,
    encode_time_table,
    seek_table_size,
)
from pregao.io.seekable import open_seekable
from pregao.model.errors import CaptureError

HEADER = b"header of 24 bytes -----"
RANDOM = Random(7)
CONTENTS = [RANDOM.randbytes(RANDOM.randrange(1, 300_000)) + b"=" * 1000 * i for i in range(6)]
TIMES = [FrameTimes(1000 * i, 1000 * i + 900, i + 1) for i in range(6)]


def is_header(content: bytes) -> bool:
    return content == HEADER


def describe(content: bytes) -> FrameTimes | None:
    return TIMES[CONTENTS.index(content)] if content in CONTENTS else None


def written(path: Path, *, close: bool = True) -> RecordingWriter:
    writer = RecordingWriter(path, HEADER)
    for content, times in zip(CONTENTS, TIMES, strict=True):
        writer.append(content, times)
    if close:
        writer.close()
    return writer


def streamed(path: Path) -> tuple[bytes, CaptureError | None]:
    """What the ordinary reading of captures gives."""
    parts: list[bytes] = []
    with open_capture(path) as source:
        try:
            for window in source.windows(100_000):
                parts.append(bytes(window.data))
                window.consumed = len(window.data)
        except CaptureError as error:
            return b"".join(parts), error
    return b"".join(parts), None


def test_a_recording_is_ordinary_zstd(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.pcap.zst"
    writer = written(path)
    whole = HEADER + b"".join(CONTENTS)
    assert streamed(path) == (whole, None)
    assert (writer.content, writer.packets) == (len(whole), 21)
    assert os.listdir(path.parent) == ["x.pcap.zst"]
    if shutil.which("zstd"):
        assert subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout == whole


def test_frames_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.zst"
    written(path)
    with open_seekable(path) as recording:
        assert recording.has_table
        assert [recording.read(i) for i in range(len(recording.frames))] == [HEADER, *CONTENTS]
        assert [frame.times for frame in recording.frames] == [None, *TIMES]
        starts = [sum(len(c) for c in [HEADER, *CONTENTS][:i]) for i in range(7)]
        assert [frame.start for frame in recording.frames] == starts
        assert recording.between(1900, 3000) == [2, 3, 4]
        assert recording.between(2950, 2960) == []
        data = path.read_bytes()
        for frame, content in zip(recording.frames[1:], CONTENTS, strict=True):
            alone = data[frame.offset : frame.offset + frame.size]
            assert zstandard.ZstdDecompressor().decompress(alone) == content


def test_the_seek_table_has_the_layout_of_the_format() -> None:
    table = encode_seek_table([FrameSizes(10, 20), FrameSizes(30, 0)])
    assert table == struct.pack("<II IIII IBI", 0x184D2A5E, 25, 10, 20, 30, 0, 2, 0, 0x8F92EAB1)
    assert seek_table_size(table[-FOOTER_SIZE:]) == len(table)
    assert decode_seek_table(table) == [(10, 20), (30, 0)]
    with_checksums = struct.pack("<II III IBI", 0x184D2A5E, 21, 10, 20, 99, 1, 0x80, 0x8F92EAB1)
    assert seek_table_size(with_checksums[-FOOTER_SIZE:]) == len(with_checksums)
    assert decode_seek_table(with_checksums) == [(10, 20)]
    assert decode_time_table(encode_time_table(TIMES)) == TIMES
    assert decode_time_table(encode_time_table(TIMES)[:-1]) is None


@pytest.mark.parametrize("cut", [1, 9, 50, 200, 1_000, 100_000, 300_000, 600_000])
def test_a_cut_recording_is_good_up_to_its_last_whole_frame(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.pcap.zst"
    written(path)
    data = path.read_bytes()
    path.write_bytes(data[: max(len(data) - cut, 200)])
    with open_seekable(path) as recording:
        assert not recording.has_table
        contents = [recording.read(i) for i in range(len(recording.frames))]
    assert [HEADER, *CONTENTS][: len(contents)] == contents
    read, _ = streamed(path)
    assert (HEADER + b"".join(CONTENTS)).startswith(read)
    assert len(read) >= sum(map(len, contents))


@given(st.integers(0, 40), st.integers(0, 255))
def test_a_damaged_table_is_no_table(tmp_path_factory: pytest.TempPathFactory, back: int, value: int) -> None:
    path = tmp_path_factory.mktemp("r") / "x.pcap.zst"
    writer = RecordingWriter(path, HEADER)
    writer.append(CONTENTS[0], TIMES[0])
    writer.close()
    data = bytearray(path.read_bytes())
    data[-1 - back] = value
    path.write_bytes(data)
    with open_seekable(path) as recording:
        for index in range(len(recording.frames)):
            with suppress(CaptureError):
                assert recording.read(index) in (HEADER, CONTENTS[0])


def test_a_part_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.zst"
    written(path, close=False).abandon()
    part = part_of(path)
    whole = part.read_bytes()
    for lost, frames in ((0, 6), (1, 5), (100, 5), (200_000, 4)):
        part.write_bytes(whole[: len(whole) - lost])
        done = repair(part, is_header, describe)
        assert done.outcome is RepairOutcome.REPAIRED
        assert done.packets == sum(times.packets for times in TIMES[:frames])
        with open_seekable(path) as recording:
            assert recording.has_table
            contents = [recording.read(i) for i in range(len(recording.frames))]
            assert contents == [HEADER, *CONTENTS][: frames + 1]
            assert [frame.times for frame in recording.frames[1:]] == TIMES[:frames]
        assert streamed(path)[1] is None
        assert not part.exists()
        path.unlink()


def test_a_part_killed_between_tables_and_name_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.zst"
    written(path)
    data = path.read_bytes()
    path.rename(part_of(path))
    done = repair(part_of(path), is_header, describe)
    assert (done.outcome, done.packets, done.lost_bytes) == (RepairOutcome.REPAIRED, 21, 0)
    assert path.read_bytes() == data


def test_what_a_repair_leaves_alone(tmp_path: Path) -> None:
    living = written(tmp_path / "a.pcap.zst", close=False)
    RecordingWriter(tmp_path / "b.pcap.zst", HEADER).abandon()
    (tmp_path / "c.pcap.zst.part").write_bytes(b"not a recording")
    written(tmp_path / "d.pcap.zst")
    (tmp_path / "d.pcap.zst.part").write_bytes(b"")
    (tmp_path / "e.pcap.part").write_bytes(b"of another program")
    outcomes = [each.outcome for each in repair_folder(tmp_path, is_header, describe)]
    assert outcomes == [
        RepairOutcome.IN_USE,
        RepairOutcome.EMPTY,
        RepairOutcome.FOREIGN,
        RepairOutcome.NAME_TAKEN,
    ]
    living.close()
    names = ["a.pcap.zst", "c.pcap.zst.part", "d.pcap.zst", "d.pcap.zst.part", "e.pcap.part"]
    assert sorted(os.listdir(tmp_path)) == names
    assert repair_folder(tmp_path / "no-such-folder", is_header, describe) == []


def test_no_recording_is_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "x.pcap.zst")
    with pytest.raises(CaptureError, match="exists"):
        RecordingWriter(tmp_path / "x.pcap.zst", HEADER)
    RecordingWriter(tmp_path / "y.pcap.zst", HEADER).abandon()
    with pytest.raises(CaptureError, match="exists"):
        RecordingWriter(tmp_path / "y.pcap.zst", HEADER)


def test_nothing_comes_behind_a_frame_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = written(tmp_path / "x.pcap.zst", close=False)
    real = os.write

    def full_disk(descriptor: int, data: memoryview) -> int:
        if len(data) < 1000:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(CaptureError, match="no space"):
        writer.append(CONTENTS[0], TIMES[0])
    monkeypatch.undo()
    with pytest.raises(CaptureError, match="closed"):
        writer.append(CONTENTS[1], TIMES[1])
    writer.close()
    assert repair(tmp_path / "x.pcap.zst.part", is_header, describe).packets == 21
