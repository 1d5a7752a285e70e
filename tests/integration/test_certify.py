"""`pregao certify` with clients that are other processes: packets by multicast on loopback, lines of JSON."""

import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("own", [True, False])
def test_clients_that_are_processes_pass(
    own: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_multicast("a client of its own")
    program = ROOT / "examples" / "certify_client.py"
    if own:
        program = tmp_path / "own.py"
        program.write_text(OWN)
    client = f"{sys.executable} {program}"
    arguments = ["--segment", "derivatives", "--steps", "A,B1,D1", "--out", str(tmp_path / "out")]
    assert main(["certify", "--client", client, *arguments]) == 0
    assert "32 passed, 0 failed, 0 invalid" in capsys.readouterr().err


@pytest.mark.parametrize("system", ["binary", "conflated"])
def test_our_own_client_passes_in_other_systems(
    system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Binary UMDF by multicast, PUMA Conflated over a FIX session on TCP; both segments."""
    need_multicast("a client of its own")
    program = tmp_path / "own.py"
    program.write_text(OWN)
    arguments = [
        "--system",
        system,
        "--client",
        f"{sys.executable} {program}",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(["certify", *arguments]) == 0
    passed, left = {"binary": (310, 19), "conflated": (313, 16)}[system]
    assert f"{passed} passed, 0 failed, 0 invalid, {left} not run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print('{')", "no object of JSON"),
        ("raise SystemExit(7)", "ended with status 7"),
    ],
)
def test_a_client_that_fails_is_named(
    program: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_multicast("a client of its own")
    client = f'{sys.executable} -c "{program}"'
    arguments = ["--segment", "derivatives", "--steps", "B1", "--out", str(tmp_path)]
    assert main(["certify", "--client", client, *arguments]) == 1
    assert reason in capsys.readouterr().out
