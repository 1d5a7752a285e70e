"""`pregao certify` with clients that are other processes: packets by multicast on loopback, lines of JSON."""

import sys
from pathlib import Path

import pytest

from pregao.certification import runner
from pregao.certification.process import ProcessClient
from pregao.cli.main import main
from tests.kits.loopback import need_multicast

from .pages import ROOT

OWN = """
import json, sys, pregao
client = pregao.CertifyClient()
for line in sys.stdin:
    for seen in client.obey(json.loads(line)):
        print(json.dumps(seen), flush=True)
"""


UNDRIVEN = """
import json, runpy, time
client = runpy.run_path({example!r}, run_name="client")["Client"]()
list(client.obey({{"do": "connect"}}))
while True:
    for seen in client.obey({{"do": "settle"}}):
        if seen["see"] != "settled":
            print(json.dumps(seen), flush=True)
    time.sleep(0.01)
"""
EXAMPLE = ROOT / "examples" / "certify_client.py"


def _certify(client: str, out: Path, *arguments: str) -> int:
    """Without PDFs: forms have tests of their own."""
    return main(["certify", "--client", client, "--out", str(out), "--no-pdf", *arguments])


@pytest.mark.parametrize("own", [True, False])
def test_clients_that_are_processes_pass(
    own: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Multicast, and the replayers over TCP."""
    need_multicast("a client of its own")
    program = EXAMPLE
    if own:
        program = tmp_path / "own.py"
        program.write_text(OWN)
    client = f"{sys.executable} {program}"
    steps = ["--segment", "derivatives", "--steps", "A,B1,D1,D2,D3"]
    assert _certify(client, tmp_path / "out", *steps) == 1  # other sections are required too
    said = capsys.readouterr()
    assert "40 passed, 0 failed, 0 invalid, 111 not run" in said.err
    assert "required steps not played: derivatives B2.1" in said.err
    assert "unbroken" not in said.err


@pytest.mark.long
@pytest.mark.parametrize("own", [True, False])
def test_the_whole_script_passes_over_sockets(
    own: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_multicast("a client of its own")
    program = tmp_path / "own.py" if own else EXAMPLE
    if own:
        program.write_text(OWN)
    assert _certify(f"{sys.executable} {program}", tmp_path / "out") == 0
    said = capsys.readouterr().err
    assert "329 passed, 0 failed, 0 invalid, 0 not run" in said
    assert "an unbroken run" in said


def test_a_client_that_reads_no_commands_is_started_and_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    need_multicast("a client of its own")
    monkeypatch.setattr(ProcessClient.__init__, "__defaults__", ("client", None, 2.0, 60.0))
    program = tmp_path / "undriven.py"
    program.write_text(UNDRIVEN.format(example=str(EXAMPLE)))
    client = f"{sys.executable} {program}"
    steps = "A,B1.1-B1.3,D1.1-D1.2,D2"
    _certify(client, tmp_path / "out", "--segment", "derivatives", "--steps", steps)
    said = capsys.readouterr()
    assert "17 passed, 0 failed, 0 invalid" in said.err, said.out
    assert "D2" not in said.err  # N/E: it cannot be asked, and recovers otherwise


@pytest.mark.parametrize(
    ("system", "passed", "left"),
    [
        pytest.param("binary", 310, 19, marks=pytest.mark.long),
        pytest.param("conflated", 313, 16, marks=pytest.mark.long),
    ],
)
def test_our_own_client_passes_in_other_systems(
    system: str, passed: int, left: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Binary UMDF by multicast, PUMA Conflated over a FIX session on TCP; both segments."""
    assert _own_client(system, tmp_path) == 0
    assert f"{passed} passed, 0 failed, 0 invalid, {left} not run" in capsys.readouterr().err


@pytest.mark.parametrize("system", ["binary", "conflated"])
def test_some_sections_of_other_systems(
    system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--segment", "derivatives", "--steps", "A,B1,B2,D1"]
    assert _own_client(system, tmp_path, *arguments) == 1  # other sections are required too
    assert "68 passed, 0 failed, 0 invalid" in capsys.readouterr().err


def test_a_client_that_shares_no_code_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PUMA Conflated as a vendor would write it: FIX, zlib and books of the standard library alone."""
    need_multicast("a client of its own")
    client = f"{sys.executable} -I {ROOT / 'tests' / 'kits' / 'vendor_client.py'}"  # -I: not even our folder
    assert _certify(client, tmp_path, "--system", "conflated") == 0
    said = capsys.readouterr().err
    assert "313 passed, 0 failed, 0 invalid, 16 not run" in said
    assert "an unbroken run" in said


def _own_client(system: str, folder: Path, *arguments: str) -> int:
    need_multicast("a client of its own")
    program = folder / "own.py"
    program.write_text(OWN)
    return _certify(f"{sys.executable} {program}", folder / "out", "--system", system, *arguments)


# Each answers the first `settle`, so that it is known to read commands.
ANSWER = """import json, sys, time
sys.stdin.readline()
print(json.dumps({"see": "settled"}), flush=True)
"""


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print('{')", "no object of JSON"),
        ("raise SystemExit(7)", "ended with status 7"),
        ("1 / 0", "ended with status 1 (ZeroDivisionError: division by zero)"),
        (ANSWER + "sys.stdin.readline(); sys.exit(9)", "ended with status 9"),
        (ANSWER + "time.sleep(60)", "said nothing for 3 s"),
        (ANSWER + "print('x' * 2000000, end='', flush=True); time.sleep(60)", "a line of more than"),
        (ANSWER + "[print('{}') for _ in range(200000)]", "more than 100000 lines"),
        (ANSWER + "print('[' * 100000, flush=True); time.sleep(60)", "no object of JSON"),
        (ANSWER + "print('[1]', flush=True); time.sleep(60)", "no object of JSON"),
        (ANSWER + "import os; os.close(0); os.close(1); time.sleep(60)", "closed its input or output"),
        ("import time\nwhile True: print('{}', flush=True)", "more than 100000 lines"),
        ("import time; time.sleep(60)", "book: none seen"),
    ],
)
def test_a_client_that_fails_is_named(
    program: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Garbage, floods, silence and death: bounded, and said in the box that they spoil."""
    need_multicast("a client of its own")
    monkeypatch.setattr(ProcessClient.__init__, "__defaults__", ("client", None, 3.0, 3.0))
    monkeypatch.setattr(runner, "_MOST_LOOPS", 4)
    file = tmp_path / "client.py"
    file.write_text(program)
    status = _certify(f"{sys.executable} {file}", tmp_path, "--segment", "derivatives", "--steps", "B1")
    assert status == 1
    assert reason in capsys.readouterr().out
