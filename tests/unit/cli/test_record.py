"""`pregao record`: arguments, and the line that says how it goes."""

import argparse
import io
from pathlib import Path
from threading import Event

import pytest

from pregao.captures.record import RecordHealth
from pregao.captures.recorder import FileCounts
from pregao.cli.main import main
from pregao.cli.record import HealthLine, amount, as_bytes, as_seconds, summary
from pregao.io.packet_reader import ReaderHealth


def health(
    seconds: float = 1.0, packets: int = 12_345, *, drops: int | None = 0, **changes: int
) -> RecordHealth:
    counts = {"too_long": 0, "errors": 0, "stalls": 0, "waiting": 0} | changes
    reader = ReaderHealth(packets, 4_500_000, drops, **counts)
    return RecordHealth(seconds, reader, FileCounts(9, 2, 1_200_000), "receive buffer of 1 byte")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_sizes_and_spans() -> None:
    assert [as_bytes(text) for text in ("7", "500M", "1g", "2k")] == [7, 500 << 20, 1 << 30, 2048]
    assert [as_seconds(text) for text in ("7", "10s", "15m", "1h", "1D")] == [7, 10, 900, 3600, 86_400]
    for wrong in ("", "0", "-1", "1.5", "1x", "m", "1" * 30):
        with pytest.raises(argparse.ArgumentTypeError):
            as_bytes(wrong)


def test_summary_says_what_matters() -> None:
    text = summary(health())
    assert text == (
        "12,345 packets, 4.5 MB received, 1.2 MB written, 2 files and 7 open, 0 dropped by the kernel"
    )
    assert "drops unknown here" in summary(health(drops=None))
    assert summary(health(drops=3, too_long=4, errors=5, stalls=6)).endswith(
        "3 dropped by the kernel, 4 too long, 5 socket errors, ring full 6 times"
    )
    assert [amount(size) for size in (0, 999, 1000, 123_456_789)] == ["0 B", "999 B", "1.0 kB", "123.5 MB"]


def test_a_terminal_sees_one_line_and_a_pipe_few() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        with HealthLine(stream, enabled=True) as line:
            for tenth in range(250):
                line.show(health(tenth / 10, tenth * 100))
    assert terminal.getvalue().count("\n") == 1  # the hint
    assert "1,000 packets/s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    lines = pipe.getvalue().splitlines()
    assert len(lines) == 3
    assert "\x1b" not in pipe.getvalue()
    assert lines[0] == "pregao: receive buffer of 1 byte"


def test_silence_on_request_and_the_end_after_a_time() -> None:
    stream, stop = Terminal(), Event()
    with HealthLine(stream, enabled=False) as line:
        watch = line.watch(stop, 5)
        watch(health(4.9))
        assert not stop.is_set()
        watch(health(5.0))
    assert stop.is_set()
    assert stream.getvalue().count("packets") == 0


def test_what_cannot_be_recorded_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--out", str(tmp_path), "--channel", "3"]) == 2
    assert "no streams of channels [3]" in capsys.readouterr().err
    assert main(["record", "--out", str(tmp_path), "--level", "40"]) == 2
    assert "level" in capsys.readouterr().err
    config = tmp_path / "channels.toml"
    config.write_text("x")
    assert main(["record", "--out", str(tmp_path), "--config", str(config)]) == 2
    assert "TOML" in capsys.readouterr().err
