"""Input that cannot be read is said aloud, by every command, and ends with a status that is not 0."""

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pregao.cli.listen import stop_on_signals
from pregao.cli.main import main
from pregao.codecs.pcap.writer import pcap_header, pcap_record
from pregao.jobs import build
from pregao.jobs.build import BuildRequest, unreadable_captures
from pregao.lake.build import BuildReport
from tests.unit.captures.kit import TS, capture, order, packet

# `stop_on_signals` has the timer of signals to itself.
pytestmark = pytest.mark.timeout(method="thread")

GOOD = capture([packet(order())])
UNREADABLE = {
    "text": b"The quick brown fox\n" * 20,
    "empty": b"",
    "random": bytes(range(7, 255)) * 40,
    "short": b"\xd4\xc3",
    "link": pcap_header(linktype=147) + b"".join(pcap_record(TS, b"strange") for _ in range(5)),
}
WORDS = {"empty": "is empty", "link": "link type 147 is unknown"}
COMMANDS = (
    ("decode", "{}"), ("listen", "{}"), ("build", "{}", "--lake", "{}.lake"), ("book", "PETR4", "--at",
    "2026-11-16T10:00:00", "--lake", "{}"), ("report", "--lake", "{}"), ("tables", "--lake", "{}"),
    ("query", "select 1", "--lake", "{}"), ("stream", "{}", "--lake", "{}.lake"),
    ("exchange", "--config", "{}"), ("record", "--out", "out", "--config", "{}"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_what_is_not_there_is_said_without_a_byte_of_it(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([part.format(tmp_path / "nope") for part in command])
    said = capsys.readouterr().err
    assert status == 2
    assert said.startswith("pregao: ")
    assert "nope" in said
    assert "byte" not in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("command", ["decode", "listen"])
def test_a_file_that_cannot_be_read_is_said(
    command: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{kind}.pcap"
    path.write_bytes(UNREADABLE[kind])
    status = main([command, str(path)])
    out, said = capsys.readouterr()
    assert out == ""
    assert str(path) in said
    if command == "listen":
        assert WORDS.get(kind, "is not a capture") in said
    assert status == (2 if command == "listen" else 1)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("kind", ["text", "random", "link"])
@pytest.mark.parametrize("command", ["decode", "listen"])
def test_what_is_fine_beside_it_is_used(
    command: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "a.pcap", tmp_path / "b.pcap"
    bad.write_bytes(UNREADABLE[kind])
    good.write_bytes(GOOD)
    assert main([command, str(bad), str(good)]) == 1
    out, said = capsys.readouterr()
    assert str(bad) in said
    assert str(good) not in said
    if command == "decode":
        assert "Order_MBO" in out


def test_a_build_says_before_it_starts_what_it_cannot_read(tmp_path: Path) -> None:
    for name in ("link", "empty"):
        (tmp_path / f"{name}.pcap").write_bytes(UNREADABLE[name])
    assert main(["build", str(tmp_path / "link.pcap"), "--lake", str(tmp_path / "lake")]) == 2
    assert main(["build", str(tmp_path), "--lake", str(tmp_path / "lake")]) == 2
    (tmp_path / "good.pcap").write_bytes(GOOD)
    (line,) = unreadable_captures([str(tmp_path)])  # an empty one may be about to be written
    assert "link type 147 is unknown" in line
    assert unreadable_captures([str(tmp_path / "good.pcap")]) == []


def test_a_build_that_left_out_a_file_says_so_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in (("link", UNREADABLE["link"]), ("good", GOOD)):
        (tmp_path / f"{name}.pcap").write_bytes(content)
    asked = []

    def build_lake(request: BuildRequest, *_: object, **__: object) -> BuildReport:
        asked.append(list(request.captures))
        return BuildReport("id", 1)

    monkeypatch.setattr(build, "build_lake", build_lake)
    assert main(["build", str(tmp_path), "--lake", str(tmp_path / "lake"), "--no-progress"]) == 1
    assert asked == [[str(tmp_path)]]
    assert "link.pcap: link type 147 is unknown" in capsys.readouterr().err


def test_a_capture_truncated_while_it_is_decoded_is_an_error_with_a_name(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(capture([packet(order(), number=number) for number in range(1, 40_000)]))
    command = [sys.executable, "-m", "pregao", "decode", "--no-progress", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "Order_MBO" in process.stdout.readline()  # then it waits until somebody reads on
        os.truncate(path, 4096)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"{path}: has become shorter while it was read" in said


# --- what takes long can be ended ------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_even_what_does_not_look_at_it(number: int) -> None:
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), stop_on_signals() as stop:  # noqa: PT012
        os.kill(os.getpid(), number)
        while time.monotonic() - started < 60:
            pass
    assert stop.is_set()


def test_two_signals_end_it_at_once_and_none_comes_later() -> None:
    with pytest.raises(KeyboardInterrupt), stop_on_signals():  # noqa: PT012
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(10)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def zstd_bomb(gigabytes: int) -> bytes:
    """A capture of nothing but empty packets, in blocks of one byte each (RFC 8878, 3.1.1.2)."""
    header, block = pcap_header(), 128 * 1024
    frame = struct.pack("<IBB", 0xFD2FB528, 0, 0x38)  # a window of 128 KiB
    frame += (len(header) << 3).to_bytes(3, "little") + header
    return frame + ((block << 3 | 1 << 1).to_bytes(3, "little") + b"\0") * (gigabytes * 8192)


def test_a_bomb_does_not_hold_off_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pcap.zst"
    path.write_bytes(zstd_bomb(1000))
    process = subprocess.Popen([sys.executable, "-m", "pregao", "listen", str(path)])
    try:
        time.sleep(3)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)  # it would read for many minutes
    finally:
        process.kill()
        process.wait()
