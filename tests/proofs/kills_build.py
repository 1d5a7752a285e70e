"""`pregao build` as a process that can be watched and killed, and a small cluster for it."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from pregao.lake.spark.java import java_home
from tests.proofs.kills_processes import kill_group

# What the build says of itself when a step begins; the first is said before Spark is started.
STEPS = {
    "start": "starting Spark", "scan": "looking through captures", "build": "building slices",
    "derive": "computing tables", "commit": "committing",
}  # fmt: skip
PATIENCE_S = 1800.0  # a machine may have much else to do
# To compile a plan takes Spark longer than to run it over so few rows.
_INTERPRETED = "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN"
_FOREIGN_WORDS = ("Traceback (most recent call last)", "\tat org.apache.", "\tat java.")


class Pace(NamedTuple):
    """In seconds: how long it took to come to a step, and how long the step took."""

    before: float
    inside: float


class BuildProcess:
    """One run. Its steps are told by its own progress lines, with the time at which each began."""

    def __init__(self, captures: list[Path], lake: Path, master: str, scratch: Path) -> None:
        command = [sys.executable, "-m", "pregao", "build", *map(str, captures)]
        self._process = subprocess.Popen(
            [*command, "--lake", str(lake), "--master", master], cwd=scratch, env=environment(scratch),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.started = monotonic()
        self.began: dict[str, float] = {}
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
        for line in self._process.stderr:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                for step, words in STEPS.items():
                    if words in line:
                        self.began.setdefault(step, monotonic())
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def reaches(self, step: str) -> bool:
        """Wait for the beginning of a step; False when the run ended before it."""
        with self._news:
            self._news.wait_for(lambda: step in self.began or self._ended, PATIENCE_S)
            return step in self.began

    @property
    def step(self) -> str:
        """That it is in now, as far as it has told."""
        with self._news:
            return list(self.began)[-1] if self.began else "start"

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

    def paces(self) -> dict[str, Pace]:
        """Of each step, of a run that has just ended well."""
        ends = [*list(self.began.values())[1:], monotonic()]
        return {
            step: Pace(at - self.started, end - at)
            for (step, at), end in zip(self.began.items(), ends, strict=True)
        }

    def end(self) -> None:
        kill_group(self.pid)
        self._process.wait(PATIENCE_S)


class Cluster:
    """A standalone master and two workers, which bring up an executor each for every run."""

    def __init__(self, scratch: Path) -> None:
        port = _free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._scratch = scratch
        scratch.mkdir()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port = port

    def __enter__(self) -> Self:
        host = ("--host", "127.0.0.1")
        self._start("master.Master", *host, "--port", str(self._port), "--webui-port", "0")
        for number in range(2):
            folder = self._scratch / f"worker{number}"
            self._start(
                "worker.Worker", *host, "--webui-port", "0", "--cores", "1", "--memory", "1g",
                "--work-dir", str(folder), self.url,
            )  # fmt: skip
        return self

    def _start(self, daemon: str, *arguments: str) -> None:
        import pyspark

        command = [str(Path(pyspark.__file__).with_name("bin") / "spark-class")]
        command += [f"org.apache.spark.deploy.{daemon}", *arguments]
        self._processes.append(
            subprocess.Popen(
                command,
                cwd=self._scratch,
                env=environment(self._scratch),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(process.pid for process in self._processes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            kill_group(process.pid)
            process.wait(PATIENCE_S)


def environment(scratch: Path) -> dict[str, str]:
    """Everything that Spark leaves behind when it is killed goes to a folder of ours."""
    import pyspark

    return os.environ | {
        "JAVA_HOME": str(java_home()), "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(scratch / "spark"),
        "SPARK_DAEMON_MEMORY": "512m", "TMPDIR": str(scratch), "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{_INTERPRETED} pyspark-shell",
    }  # fmt: skip


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
    return port
