"""Captures where they are stored: read by ranges, unpacked once, found by path or URI."""

import gzip
import os
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from pregao.io.recording import RecordingWriter
from pregao.io.seek_table import FrameTimes
from pregao.lake.plan import captures, contents, scan, stored
from pregao.lake.plan.captures import CaptureLayout, PieceReader, open_layout, walk_capture
from pregao.lake.plan.contents import HASH_SEED, CaptureForm, ContentHash, unpacked
from pregao.lake.plan.fingerprints import UnitInput, find_captures, from_json, to_json
from pregao.lake.plan.kernels import content_hash
from pregao.lake.plan.scan import ScanSettings, content_of, scan_capture
from pregao.lake.plan.stored import RemoteFile, look
from pregao.model.errors import CaptureError
from pregao.simulator.sample import write_sample


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("sample"), messages=400)[0]


def far_away(path: str) -> RemoteFile:
    """A file of this machine, read as one of a store."""
    return RemoteFile(path, pa.OSFile(path), look(path).version)


def walked(layout: CaptureLayout) -> list[list[int]]:
    return [packets.ts.tolist() for _, packets in walk_capture(layout, 16)]


def times(pieces: list[list[int]]) -> list[int]:
    return [time for piece in pieces for time in piece]


@pytest.mark.parametrize("window", [200, 5_000, 1 << 20])
def test_a_file_of_a_store_is_the_same_pieces(
    sample: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    here, there = open_layout(str(sample)), open_layout(str(sample))
    expected = walked(here)
    monkeypatch.setattr(captures, "_WINDOW", window)
    again = open_layout(str(sample))
    assert times(walked(again)) == times(expected)
    assert not again.damage
    monkeypatch.setattr(contents, "is_remote", lambda path: True)
    monkeypatch.setattr(contents, "open_remote", far_away)
    monkeypatch.setattr(captures, "_REMOTE_WINDOW", window)
    monkeypatch.setattr(stored, "_FIRST_READ", 100)
    found = walked(there)
    assert times(found) == times(expected)
    assert not there.damage
    reader = PieceReader(there)
    for number in reversed(range(len(there.pieces))):
        assert reader.read(number).ts.tolist() == found[number]
    reader.close()


def record(sample: Path, target: Path) -> None:
    """The same capture as a recording of ours, fifty packets a frame."""
    data, at, starts = sample.read_bytes(), 24, []
    while at < len(data):
        starts.append(at)
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    writer = RecordingWriter(target, data[:24])
    for first in range(0, len(starts), 50):
        end = starts[first + 50] if first + 50 < len(starts) else len(data)
        writer.append(data[starts[first] : end], FrameTimes(0, 0, 50))
    writer.close()


@pytest.mark.parametrize("far", [False, True])
def test_a_recording_is_read_by_its_frames(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far: bool
) -> None:
    expected = times(walked(open_layout(str(sample))))
    path = tmp_path / f"{sample.name}.zst"
    record(sample, path)
    layout = open_layout(str(path))
    assert layout.form is CaptureForm.FRAMES
    monkeypatch.setattr(contents, "is_remote", lambda path: far)
    monkeypatch.setattr(contents, "open_remote", far_away)
    found = walked(layout)
    assert times(found) == expected
    assert not layout.damage
    assert len({piece.frame for piece in layout.pieces}) == -(-len(expected) // 50)
    reader = PieceReader(layout)
    for number in reversed(range(len(layout.pieces))):
        assert reader.read(number).ts.tolist() == found[number]
    reader.close()


def test_reading_a_file_of_a_store(sample: Path) -> None:
    data = sample.read_bytes()
    with far_away(str(sample)) as file:
        assert file.read(4) == data[:4]
        assert file.seek(-9, os.SEEK_END) == len(data) - 9
        assert file.read() == data[-9:]
        assert file.read(1) == b""
        file.seek(10)
        assert file.read(100_000) == data[10:100_010]
        assert file.tell() == min(100_010, len(data))
        with pytest.raises(CaptureError, match="ends too early"):
            file.bytes_between(len(data) - 1, len(data) + 1)


def test_a_compressed_capture_is_unpacked_once_on_each_machine(sample: Path, tmp_path: Path) -> None:
    packed = tmp_path / f"{sample.name}.gz"
    packed.write_bytes(gzip.compress(sample.read_bytes()))
    layout = scan_capture(str(packed), ScanSettings(scratch=str(tmp_path / "here"))).layout
    assert layout.form is CaptureForm.UNPACKED
    assert layout.path == str(packed)
    (copy,) = (tmp_path / "here").iterdir()
    written = copy.stat().st_ino
    assert unpacked(layout.stored, layout.scratch) == copy
    assert copy.stat().st_ino == written
    layout.scratch = str(tmp_path / "another machine")
    assert PieceReader(layout).read(0).ts.tolist()
    assert len(list((tmp_path / "another machine").iterdir())) == 1


def test_copies_that_nobody_uses_go(sample: Path, tmp_path: Path) -> None:
    old, young = tmp_path / "old.pcap", tmp_path / "young.pcap"
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    packed = tmp_path / "new.gz"
    packed.write_bytes(gzip.compress(sample.read_bytes()))
    copy = unpacked(look(str(packed)), str(tmp_path))
    assert {path.name for path in tmp_path.glob("*.pcap")} == {"young.pcap", copy.name}


def test_a_cut_gzip_gives_what_it_has_and_says_where_it_ends(sample: Path, tmp_path: Path) -> None:
    packed = tmp_path / "cut.pcap.gz"
    whole = gzip.compress(sample.read_bytes())
    packed.write_bytes(whole[: len(whole) // 2])
    layout = scan_capture(str(packed), ScanSettings(scratch=str(tmp_path / "scratch"))).layout
    assert layout.pieces
    assert layout.damage


def test_a_capture_that_ends_inside_a_record_says_so(sample: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(sample.read_bytes()[:-7])
    assert len(scan_capture(str(cut)).layout.damage) == 1


def test_a_capture_that_changed_is_not_read_by_an_old_plan(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / sample.name
    path.write_bytes(sample.read_bytes())
    layout = scan_capture(str(path)).layout
    path.write_bytes(sample.read_bytes() + b"\0")
    with pytest.raises(CaptureError, match="has changed since it was planned"):
        PieceReader(layout).read(0)


def test_captures_by_path_or_uri(sample: Path, tmp_path: Path) -> None:
    folder = sample.parent
    found = find_captures([str(folder)])
    assert str(sample) in found
    assert found == sorted(found)
    assert find_captures([folder.as_uri()]) == found
    assert find_captures([str(sample), str(sample)]) == [str(sample)]
    with pytest.raises(CaptureError, match="nothing: no such file or directory"):
        find_captures([str(tmp_path / "nothing")])


def test_inputs_are_compared_by_content_when_their_time_is_another(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / sample.name
    path.write_bytes(sample.read_bytes())
    (known,) = from_json(to_json([UnitInput.of(scan_capture(str(path)))]))
    assert known.unchanged()
    os.utime(path, (1, 1))
    assert known.unchanged()
    path.write_bytes(sample.read_bytes()[:-1] + b"\xff")
    assert not known.unchanged()
    path.unlink()
    assert not known.unchanged()


# Truncated while it is read: mapped, this would end the process by SIGBUS


@pytest.fixture
def own(sample: Path, tmp_path: Path) -> Path:
    """A copy that can be spoilt."""
    path = tmp_path / sample.name
    path.write_bytes(sample.read_bytes())
    return path


def read_all(reader: PieceReader, layout: CaptureLayout) -> None:
    for number in range(len(layout.pieces)):
        reader.read(number)


def check_told(error: CaptureError, path: Path, cut: int, size: int) -> None:
    assert (error.file, error.offset) == (str(path), cut)
    assert f"has become shorter while it was read: {size - cut} bytes are missing" in str(error)


def test_truncated_between_two_pieces(sample: Path, own: Path) -> None:
    size, cut = own.stat().st_size, 5_000
    layout = scan_capture(str(own), ScanSettings(piece_packets=16)).layout
    reader = PieceReader(layout)
    first = reader.read(0)
    os.truncate(own, cut)
    with pytest.raises(CaptureError) as error:
        read_all(reader, layout)
    check_told(error.value, own, cut, size)
    piece = layout.pieces[0]
    assert bytes(first.owner) == sample.read_bytes()[piece.start : piece.end]
    reader.close()


def test_truncated_between_the_scan_and_the_slices(own: Path) -> None:
    layout = scan_capture(str(own), ScanSettings(piece_packets=16)).layout
    os.truncate(own, 5_000)
    with pytest.raises(CaptureError, match="has changed since it was planned") as error:
        PieceReader(layout).read(0)
    assert error.value.file == str(own)


@pytest.mark.parametrize("form", [CaptureForm.PLAIN, CaptureForm.UNPACKED])
def test_truncated_during_the_scan(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: CaptureForm
) -> None:
    """The copy of a packed one too."""
    monkeypatch.setattr(captures, "_WINDOW", 4_000)
    size, scratch = own.stat().st_size, tmp_path / "scratch"
    path = own if form is CaptureForm.PLAIN else own.with_suffix(".gz")
    if path is not own:
        path.write_bytes(gzip.compress(own.read_bytes()))
    layout = open_layout(str(path), str(scratch))
    assert layout.form is form
    walk = walk_capture(layout, 16)
    next(walk)
    spoilt = own if form is CaptureForm.PLAIN else next(scratch.iterdir())
    os.truncate(spoilt, 9_000)
    with pytest.raises(CaptureError) as error:
        list(walk)
    check_told(error.value, path, 9_000, size)


def test_truncated_while_its_content_is_hashed(own: Path) -> None:
    about = look(str(own))
    os.truncate(own, 1_000)
    with pytest.raises(CaptureError) as error:
        content_of(about)
    check_told(error.value, own, 1_000, about.size)


def test_a_recording_truncated_between_two_frames(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / f"{sample.name}.zst"
    record(sample, path)
    layout = scan_capture(str(path)).layout
    reader = PieceReader(layout)
    reader.read(0)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(CaptureError, match="frame") as error:
        read_all(reader, layout)
    assert error.value.file == str(path)
    assert error.value.offset is not None
    assert error.value.offset <= path.stat().st_size
    reader.close()


@pytest.mark.parametrize("window", [200, 5_001, 1 << 20])
def test_a_scan_hashes_what_it_reads_and_reads_it_once(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    expected = content_of(look(str(sample)))
    monkeypatch.setattr(captures, "_WINDOW", window)
    for name, cut in (("whole", None), ("cut", -7), ("empty", 0)):
        path = tmp_path / "084_Incremental_FeedA.pcap"  # what it is, the name says: no second pass
        path.write_bytes(sample.read_bytes()[:cut])
        wanted = content_of(look(str(path)))
        with monkeypatch.context() as patch:
            patch.setattr(scan, "content_of", lambda stored: pytest.fail("read twice"))
            assert scan_capture(str(path)).content == wanted, name
        assert (wanted == expected) == (name == "whole")


@pytest.mark.parametrize("seed", range(10))
def test_the_hash_of_windows_is_that_of_the_whole(seed: int) -> None:
    random = Random(f"windows/{seed}")
    data = np.frombuffer(random.randbytes(random.randint(1, 3_000)), np.uint8)
    whole = f"{content_hash(data.ctypes.data, len(data), HASH_SEED):016x}"
    found, start, end = ContentHash(len(data)), 0, 0
    assert found.value() is None
    while end < len(data):
        end = min(max(end, start) + random.randint(0, 90), len(data))
        found.take(start, data[start:end])
        start = random.randint(max(end - 50, 0), end)  # the next begins where a record did
    assert found.value() == whole
