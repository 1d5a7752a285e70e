"""Opening captures: plain, compressed, damaged, missing."""

import errno
import gzip
import os
import random
from pathlib import Path

import pytest
import zstandard

from pregao.io import captures
from pregao.io.captures import CaptureSource, Window, open_capture
from pregao.model.errors import CaptureError

CONTENT = random.Random(5).randbytes(3_000_000)


@pytest.fixture(params=["none", "gzip", "zstd"])
def compression(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(folder: Path, content: bytes, compression: str) -> Path:
    path = folder / "capture.bin"
    compressed = {
        "none": lambda: content,
        "gzip": lambda: gzip.compress(content, 1),
        "zstd": lambda: zstandard.ZstdCompressor(1).compress(content),
    }[compression]()
    path.write_bytes(compressed)
    return path


def consume(source: CaptureSource, window_size: int, record: int, read: bytearray | None = None) -> bytes:
    """Read in records of a fixed size, as a parser would; checks that the windows join up."""
    read = bytearray() if read is None else read
    for window in source.windows(window_size):
        assert window.base == len(read)
        assert window.data.readonly
        window.consumed = len(window.data) // record * record
        read += window.data[: window.consumed]
        assert source.length == window.base + len(window.data)
    return bytes(read)


@pytest.mark.parametrize("record", [1, 1000, 777_777])
def test_windows_join_up_and_grow_only_when_they_must(tmp_path: Path, compression: str, record: int) -> None:
    path = write(tmp_path, CONTENT, compression)
    with open_capture(path) as source:
        assert (source.path, source.size, source.compression) == (path, path.stat().st_size, compression)
        whole = len(CONTENT) // record * record
        assert consume(source, 10_000, record) == CONTENT[:whole]
        assert source.length == len(CONTENT)
        assert consume(source, 10_000_000, record) == CONTENT[:whole]  # once more from the beginning
        assert source.position == source.size


def test_what_was_not_consumed_of_a_plain_file_begins_the_next_window(tmp_path: Path) -> None:
    with open_capture(write(tmp_path, CONTENT[:100], "none")) as source:
        places = []
        for window in source.windows(40):
            places.append((window.base, len(window.data)))
            window.consumed = 0 if len(places) == 1 else 30
    assert places == [(0, 40), (0, 80), (30, 40), (60, 40)]


def test_the_name_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "not.gz"
    path.write_bytes(b"plain")
    with open_capture(str(path)) as source:
        assert source.compression == "none"


@pytest.mark.parametrize("content", [b"", b"x", b"\x1f", b"abc"])
def test_tiny_files(tmp_path: Path, compression: str, content: bytes) -> None:
    with open_capture(write(tmp_path, content, compression)) as source:
        assert consume(source, 10_000, 1) == content
        assert source.length == len(content)


def test_a_window_outlives_its_file(tmp_path: Path, compression: str) -> None:
    with open_capture(write(tmp_path, CONTENT, compression)) as source:
        window = next(source.windows())
    assert window.data[:100] == CONTENT[:100]
    with pytest.raises(ValueError, match="closed"):
        next(source.windows())


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_damage_comes_after_all_that_is_good(tmp_path: Path, compression: str) -> None:
    path = write(tmp_path, CONTENT, compression)
    path.write_bytes(path.read_bytes()[:-1000])
    given = bytearray()
    with open_capture(path) as source, pytest.raises(CaptureError) as caught:
        consume(source, 100_000, 1, given)
    assert CONTENT.startswith(given)
    assert len(given) > len(CONTENT) - 140_000
    assert source.length == len(given)
    assert caught.value.file == str(path)
    assert caught.value.offset == path.stat().st_size
    assert "too early" in caught.value.reason


def test_who_never_consumes_is_stopped(
    tmp_path: Path, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "MAX_WINDOW", 1_000_000)
    sizes: list[int] = []
    with open_capture(write(tmp_path, CONTENT, compression)) as source:
        windows = source.windows(1000)
        with pytest.raises(CaptureError, match="no record ends within"):
            sizes.extend(len(window.data) for window in windows)
        assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("consumed", [-1, 10**9])
def test_nobody_consumes_what_is_not_there(tmp_path: Path, compression: str, consumed: int) -> None:
    def read_wrongly(window: Window) -> None:
        window.consumed = consumed

    with open_capture(write(tmp_path, CONTENT, compression)) as source:
        windows = source.windows()
        read_wrongly(next(windows))
        with pytest.raises(ValueError, match="consumed"):
            next(windows)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file or directory") as caught:
        open_capture(tmp_path / "nowhere.pcap")
    assert caught.value.file.endswith("nowhere.pcap")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="is a directory"):
        open_capture(tmp_path)


def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CaptureError, match="not a regular file"):
        open_capture(tmp_path / "pipe")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, b"secret", "none")

    def refuse(*_: object) -> None:  # chmod would not stop root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CaptureError, match="permission denied"):
        open_capture(path)


@pytest.mark.parametrize("left", [0, 10, 150_000])
def test_a_file_shortened_while_it_is_read(tmp_path: Path, left: int) -> None:
    path = write(tmp_path, CONTENT, "none")
    with open_capture(path) as source:
        windows = source.windows(100_000)
        window = next(windows)
        window.consumed = 99_000
        os.truncate(path, left)
        with pytest.raises(CaptureError, match="has become shorter") as caught:
            next(windows)
        assert window.data[:10] == CONTENT[:10]  # what was given stays
    assert caught.value.offset == max(99_000, left)
    assert f"{len(CONTENT) - max(99_000, left)} bytes are missing" in caught.value.reason


def test_a_disk_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with open_capture(write(tmp_path, CONTENT, "none")) as source:
        monkeypatch.setattr(os, "pread", fails)
        with pytest.raises(CaptureError, match="input/output error at byte 0"):
            next(source.windows())
