"""What the system refuses is one line: a full disk, an unwritable folder, letters that nobody can show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pregao.cli.main import main
from pregao.io.files import AppendFile, need_writable, write_whole
from pregao.model.errors import ConfigurationError
from pregao.simulator.fault_language import parse_faults
from tests.unit.captures.kit import capture, order, packet

FULL = Path("/dev/full")
ASCII = {"PYTHONIOENCODING": "ascii"}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
needs_full = pytest.mark.skipif(not FULL.exists(), reason="NO /dev/full HERE, SO A FULL DISK IS NOT TESTED")


def pregao(
    *arguments: str, stdout: int = subprocess.PIPE, **environment: str
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "pregao", *arguments], env=os.environ | environment, stdout=stdout,
        stderr=subprocess.PIPE, check=False, timeout=120,
    )  # fmt: skip


def one_line(done: "subprocess.CompletedProcess[bytes]") -> str:
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1, done.stderr.decode()
    assert lines[0].startswith("pregao: ")
    return lines[0]


@needs_full
@pytest.mark.parametrize("command", [["decode"], ["decode", "--stats"]])
def test_stdout_on_a_full_disk(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(capture([packet(order(), number=number) for number in range(1, 2000)]))
    with FULL.open("wb") as full:
        done = pregao(*command, str(path), stdout=full.fileno())
    assert one_line(done) == "pregao: output: no space left on device"
    assert done.returncode == 2


@needs_full
def test_files_on_a_full_disk_are_errors_with_their_name(tmp_path: Path) -> None:
    (tmp_path / "report.html.part").symlink_to(FULL)
    with pytest.raises(ConfigurationError, match=r"report\.html: no space left on device"):
        write_whole(tmp_path / "report.html", b"page")
    assert list(tmp_path.iterdir()) == []  # nothing half written stays
    (tmp_path / "big.part").symlink_to(FULL)
    with pytest.raises(ConfigurationError, match="big"), AppendFile(tmp_path / "big", buffer_size=10) as file:
        file.write(b"more than the buffer holds")


@needs_full
def test_simulate_on_a_full_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def full(path: object, flags: int, mode: int = 0o777, **more: int) -> int:
        is_capture = str(path).endswith(".part")
        return real(FULL if is_capture else path, os.O_WRONLY if is_capture else flags, mode, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", full)
    assert main(["simulate", "--out", str(tmp_path / "day"), "--messages", "300"]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("pregao: ")]
    assert len(said) == 1
    assert "no space left on device" in said[0]


def test_any_other_error_of_the_system_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error", "truth.parquet")

    monkeypatch.setattr("pregao.cli.decode.run", fails)
    assert main(["decode", "x"]) == 2
    assert capsys.readouterr().err == "pregao: truth.parquet: input/output error\n"


def test_record_says_at_once_that_it_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main(["record", "--out", str(tmp_path / "file" / "sub")]) == 2
    assert "file/sub: not a directory" in capsys.readouterr().err
    need_writable(tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []


@pytest.mark.parametrize("command", ["listen", "exchange", "simulate", "decode"])
def test_help_in_ascii(command: str) -> None:
    for environment in (ASCII, C_LOCALE):
        done = pregao(command, "--help", **environment)
        assert done.returncode == 0, done.stderr.decode()
        assert b"usage: pregao" in done.stdout


def test_a_name_that_the_locale_cannot_say_is_one_line(tmp_path: Path) -> None:
    lake = tmp_path / "lagoã"
    lake.mkdir()
    for environment in ({"LC_ALL": "C"}, C_LOCALE):
        done = pregao("query", "select 1", "--lake", str(lake), **environment)
        assert done.returncode == 2
        assert "lago" in one_line(done)
    assert "set LC_ALL=C.UTF-8" in one_line(done)


def test_whoever_is_started_from_here_has_a_locale_for_every_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen, expected in (("C", "C.UTF-8"), ("POSIX", "C.UTF-8"), ("pt_BR.UTF-8", "pt_BR.UTF-8")):
        monkeypatch.setenv("LC_ALL", chosen)
        with pytest.raises(SystemExit):
            main(["--version"])
        assert os.environ["LC_ALL"] == expected


@pytest.mark.parametrize(
    "item", ["skew=B:+99999999999999s", "skew=A:-99999999999999999999ns", "delay=1%:99999999999999s",
             "silence=10:00+99999999999s", f"skew=B:+{'9' * 5000}s", f"both={'9' * 5000}"],
)  # fmt: skip
def test_lengths_that_no_clock_can_show_are_refused(item: str) -> None:
    with pytest.raises(ConfigurationError, match=item[:6]):
        parse_faults(item)
    assert parse_faults("skew=B:+250us").skew == {"B": 250_000}
