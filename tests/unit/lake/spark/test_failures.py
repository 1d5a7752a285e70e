"""Failures of Spark in one line; all others stay what they are."""

import logging
import sys
from socketserver import BaseRequestHandler, TCPServer
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PythonException

from pregao.lake.errors import LakeError, LakeFullError
from pregao.lake.spark.failures import in_one_line, quiet_accumulators, quiet_py4j, stop
from pregao.lake.spark.worker_daemon import quiet

STACK = "\n\tat org.apache.spark.scheduler.Task.run(Task.scala:147)\n\tat java.base/java.lang.Thread.run"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PythonException(f"Python worker exited unexpectedly (crashed){STACK}"), "a Python worker has died"),
        (PythonException(f"ExecutorLostFailure (executor 1 exited){STACK}"), "executors were lost"),
        (Py4JNetworkError("Answer from Java side is empty"), "its Java process has died"),
        (ConnectionRefusedError(111, "Connection refused"), "its Java process has died"),
        (PythonException(f"Job 3 cancelled because SparkContext was shut down{STACK}"), "it was stopped"),
        (
            PythonException(
                f"Traceback:\npregao.lake.errors.LakeDamagedError: trades/x: file is missing{STACK}"
            ),
            "^trades/x: file is missing$",
        ),
        (PythonException(f"ZeroDivisionError: division by zero{STACK}"), "ZeroDivisionError"),
    ],
)
def test_what_people_are_told(error: Exception, told: str) -> None:
    with pytest.raises(LakeError, match=told) as raised, in_one_line():
        raise error
    assert "\n" not in str(raised.value)
    assert raised.value.__cause__ is error


def test_a_full_scratch_folder() -> None:
    with pytest.raises(LakeFullError, match="SPARK_LOCAL_DIRS"), in_one_line():
        raise PythonException("java.io.IOException: No space left on device")


def test_mistakes_of_ours_are_not_spark_s() -> None:
    with pytest.raises(KeyError), in_one_line():
        raise KeyError("x")


def test_a_session_whose_java_is_gone_can_be_stopped() -> None:
    """Its log is silenced first: what tasks say while they are ended is for nobody."""

    class Gone:
        asked: list[str]

        def __init__(self) -> None:
            self.asked, self.sparkContext = [], self

        def setLogLevel(self, level: str) -> None:  # noqa: N802 - Spark's own name
            self.refuse(level)

        def stop(self) -> None:
            self.refuse("stop")

        def refuse(self, what: str) -> None:
            self.asked.append(what)
            raise ConnectionRefusedError(111, "Connection refused")

    gone = Gone()
    stop(gone)
    assert gone.asked == ["OFF", "stop"]


def test_py4j_does_not_write_its_stacks(capsys: pytest.CaptureFixture[str]) -> None:
    quiet_py4j()
    record = logging.LogRecord("root", logging.ERROR, "py4j/java_gateway.py", 1, "Exception", None, None)
    logging.getLogger().handle(record)
    assert "Exception" not in capsys.readouterr().err


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


def test_what_spark_makes_of_an_interrupt_is_an_interrupt() -> None:
    """It cancels its jobs, and the wait for one of them fails in the course of that."""

    def wait_for_a_job() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise PythonException(f"at SocketAuthServer.getResult{STACK}")

    with pytest.raises(KeyboardInterrupt), in_one_line():
        wait_for_a_job()


def test_a_worker_that_java_cuts_off_ends_silently() -> None:
    """Anything else is told as ever."""

    def raising(error: Exception | None) -> int:
        if error is not None:
            raise error
        return 0

    worker = quiet(raising)
    assert worker(None) == 0
    assert [worker(error) for error in (ConnectionResetError(104, "by peer"), EOFError())] == [1, 1]
    with pytest.raises(KeyError):
        worker(KeyError("x"))
