"""What Spark's failures come to, in one line: Java's stacks are for those who wrote it.

A task that fails arrives as an exception of Spark around the stack of Java around that of Python; a Java that
has died as an error of py4j, or of the socket to it.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pregao.lake.errors import LakeError, LakeFullError

_WORKER_DIED: Final = re.compile(r"Python worker (exited unexpectedly|failed to connect back)|EOFException")
_EXECUTOR_LOST: Final = re.compile(r"ExecutorLostFailure|executor lost|Lost executor", re.IGNORECASE)
_JAVA_DIED: Final = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError")
_STOPPED: Final = re.compile(r"SparkContext was shut down|stopped SparkContext", re.IGNORECASE)
_NO_EXECUTOR: Final = re.compile(r"All masters are unresponsive|Master removed our application")
_OURS: Final = re.compile(r"^(?:\w+\.)*pregao\.[\w.]+Error: (.+)$", re.MULTILINE)
_TOO_MUCH: Final = re.compile(r"is bigger than spark.driver.maxResultSize \(([^)]*)\)")
_FULL: Final = re.compile(r"No space left on device", re.IGNORECASE)
_RETRY: Final = "run it again"
_SPARKS: Final = ("pyspark", "py4j")


@contextmanager
def in_one_line() -> Iterator[None]:
    """Failures of Spark inside become ours; all others stay what they are."""
    try:
        yield
    except Exception as error:
        if not is_sparks(error):
            raise
        if was_interrupted(error):
            raise KeyboardInterrupt from error
        raise named_failure(error) from error


def is_sparks(error: Exception) -> bool:
    room = type(error).__module__.partition(".")[0]
    return room in _SPARKS or isinstance(error, ConnectionError | EOFError)


def was_interrupted(error: BaseException) -> bool:
    """Ctrl-C cancels the jobs of Spark, and their failure takes the place of the KeyboardInterrupt in whose
    course it came."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        if isinstance(at, KeyboardInterrupt):
            return True
        seen.add(id(at))
        at = at.__cause__ or at.__context__
    return False


def stop(session: Any) -> None:
    """Also one whose Java is no longer there. After an interrupt some tasks still run and complain while they
    are ended: that is silenced."""
    for act in (lambda: session.sparkContext.setLogLevel("OFF"), session.stop):
        try:
            act()
        except Exception as error:
            if not is_sparks(error):
                raise


def quiet_py4j() -> None:
    """It writes the stack of every lost connection to stderr, in part by the root logger itself."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_py4j)


def quiet_accumulators(session: Any) -> None:
    """Their server, which we have nothing to tell, writes a stack to stderr when Java dies."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, address: None


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def named_failure(error: Exception) -> LakeError:
    """The same failure, for people."""
    text = str(error)
    ours = _OURS.search(text)
    if ours is not None:
        return LakeError(ours[1])
    if type(error).__name__ in _JAVA_DIED or "Answer from Java side is empty" in text:
        return LakeError(f"Spark: its Java process has died (killed, or out of memory); {_RETRY}")
    too_much = _TOO_MUCH.search(text)
    if too_much is not None:
        more = f"more than spark.driver.maxResultSize ({too_much[1]})"
        return LakeError(f"Spark: tasks have given back {more}; set it with --conf or in spark-defaults.conf")
    if _FULL.search(text):
        return LakeFullError("a scratch folder of Spark (SPARK_LOCAL_DIRS)")
    if _EXECUTOR_LOST.search(text):
        return LakeError(f"Spark: executors were lost, more than it tries again; {_RETRY}")
    if _WORKER_DIED.search(text):
        return LakeError(f"Spark: a Python worker has died (killed, crashed, or out of memory); {_RETRY}")
    if _STOPPED.search(text) or _NO_EXECUTOR.search(text):
        return LakeError(f"Spark: it was stopped before the build was done; {_RETRY}")
    return LakeError(f"Spark: {_last_word(error)}")


def _last_word(error: Exception) -> str:
    """The innermost cause that names an error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line and not line.startswith("at ")]
    return (named or lines or [type(error).__name__])[-1]
