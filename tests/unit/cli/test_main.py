"""The command as a process: what it imports, how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pregao
from pregao.cli.main import main
from tests.unit.captures.kit import capture, order, packet

SOURCE = str(Path(pregao.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE}
HEAVY = ("numpy", "numba", "pyarrow", "rich", "pregao.captures", "pregao.market", "pregao.codecs", "zoneinfo")


def python(*args: str, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, *args], env=ENVIRONMENT, capture_output=True, text=True, check=False, **options
    )


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert "decode" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"pregao {pregao.__version__}\n"


@pytest.mark.parametrize("args", [[], ["no-such-command"], ["decode"], ["decode", "x", "--limit", "-1"]])
def test_bad_arguments_end_with_2(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(args)
    assert end.value.code == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize("args", ["['--help']", "['--version']", "['decode', '--help']"])
def test_help_imports_nothing_heavy(args: str) -> None:
    code = (
        "import json, sys\nfrom pregao.cli.main import main\n"
        f"try:\n    main({args})\nexcept SystemExit:\n    pass\n"
        f"sys.stderr.write(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    assert json.loads(python("-c", code).stderr) == []


def test_decoding_needs_no_arrays(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(capture([packet(order())]))
    code = (
        f"import sys\nfrom pregao.cli.main import main\nmain(['decode', {str(path)!r}])\n"
        "sys.stderr.write(str([m for m in ('numpy', 'numba', 'pyarrow', 'rich') if m in sys.modules]))"
    )
    assert python("-c", code).stderr == "[]"


def test_python_dash_m_works() -> None:
    done = python("-m", "pregao", "--version")
    assert (done.returncode, done.stdout) == (0, f"pregao {pregao.__version__}\n")


@pytest.fixture
def long_capture(tmp_path: Path) -> Path:
    path = tmp_path / "long.pcap"
    path.write_bytes(capture(packet(order(), number=n) for n in range(1, 20_000)))
    return path


def test_a_closed_pipe_ends_quietly(long_capture: Path) -> None:
    decode = subprocess.Popen(
        [sys.executable, "-m", "pregao", "decode", "--format", "json", str(long_capture)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert decode.stdout is not None
    assert decode.stderr is not None
    first = decode.stdout.readline()
    decode.stdout.close()
    talk = decode.stderr.read()
    decode.stderr.close()
    assert decode.wait(timeout=30) == 0
    assert json.loads(first)["packet"] == 1
    assert talk == b""


def test_an_interrupt_ends_with_130_and_no_traceback(long_capture: Path) -> None:
    decode = subprocess.Popen(
        [sys.executable, "-m", "pregao", "decode", *[str(long_capture)] * 20],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert decode.stdout is not None
    decode.stdout.readline()  # it is at work
    decode.send_signal(signal.SIGINT)
    _, talk = decode.communicate(timeout=30)
    assert decode.returncode == 130
    assert talk == b""
