import sys
from socketserver import BaseRequestHandler, TCPServer
from types import SimpleNamespace

import pytest

from pregao.lake.spark.failures import quiet_accumulators


def test_the_death_of_java_is_not_told_by_the_server_of_accumulators(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`make proof` (kills) saw its stack once beside our one line."""
    with TCPServer(("127.0.0.1", 0), BaseRequestHandler) as server:
        session = SimpleNamespace(sparkContext=SimpleNamespace(_accumulatorServer=server))
        for quiet in (False, True):
            if quiet:
                quiet_accumulators(session)
            try:
                raise EOFError
            except EOFError:
                server.handle_error(None, ("127.0.0.1", 1))  # type: ignore[arg-type]
            sys.stderr.flush()
            assert ("EOFError" in capsys.readouterr().err) is not quiet


def test_a_session_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    quiet_accumulators(SimpleNamespace(sparkContext=SimpleNamespace()))
    assert capsys.readouterr().err == ""
