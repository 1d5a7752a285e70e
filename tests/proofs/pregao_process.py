"""`pregao` as a process that can be watched and killed."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from pregao.lake.spark.java import java_home
from tests.proofs.kills_processes import kill_group

PATIENCE_S = 1800.0  # a machine may have much else to do
# To compile a plan takes Spark longer than to run it over so few rows.
_INTERPRETED = "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN"
_FOREIGN_WORDS = ("Traceback (most recent call last)", "\tat org.apache.", "\tat java.")


class PregaoProcess:
    """One run, with what it says of itself and when it began to."""

    def __init__(self, arguments: Sequence[str], scratch: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pregao", *arguments], cwd=scratch, env=environment(scratch),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.started = monotonic()
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as told:
            for line in told:
                with self._news:
                    self.lines.append(line.rstrip("\n"))
                    self._note(line)
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _note(self, line: str) -> None:
        """What a line tells of how far it is."""

    def wait(self) -> int:
        status = self._process.wait(PATIENCE_S)
        self._listener.join(PATIENCE_S)
        return status

    def reap(self) -> None:
        """Its own end; those that it has started may go on, and still hold its stderr."""
        self._process.wait(PATIENCE_S)

    def complaint(self) -> str:
        """What is wrong with how a run that failed has told it; empty when nothing is."""
        text = "\n".join(self.lines)
        foreign = [words for words in _FOREIGN_WORDS if words in text]
        if foreign or not self.lines[-1].startswith("pregao: "):
            return f"the build did not tell its failure as one line of ours: {text[-1500:]}"
        return ""

    def end(self) -> None:
        kill_group(self.pid)
        self._process.wait(PATIENCE_S)


def environment(scratch: Path) -> dict[str, str]:
    """Everything that Spark leaves behind when it is killed goes to a folder of ours."""
    import pyspark

    return os.environ | {
        "JAVA_HOME": str(java_home()), "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(scratch / "spark"),
        "SPARK_DAEMON_MEMORY": "512m", "TMPDIR": str(scratch), "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{_INTERPRETED} pyspark-shell",
    }  # fmt: skip
