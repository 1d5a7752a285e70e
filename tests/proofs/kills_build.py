"""`pregao build` as a process that can be watched and killed, and a small cluster for it."""

import socket
import subprocess
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from tests.proofs.kills_processes import kill_group
from tests.proofs.pregao_process import PATIENCE_S, PregaoProcess, environment

# What the build says of itself when a step begins; the first is said before Spark is started.
STEPS = {
    "start": "starting Spark", "scan": "looking through captures", "build": "building slices",
    "derive": "computing tables", "commit": "committing",
}  # fmt: skip


class Pace(NamedTuple):
    """In seconds: how long it took to come to a step, and how long the step took."""

    before: float
    inside: float


class BuildProcess(PregaoProcess):
    """Its steps are told by its own progress lines, with the time at which each began."""

    def __init__(
        self, captures: list[Path], lake: Path, master: str, scratch: Path, *, computed: bool = True
    ) -> None:
        self.began: dict[str, float] = {}
        options = ["--lake", str(lake), "--master", master, *([] if computed else ["--no-computed"])]
        super().__init__(["build", *map(str, captures), *options], scratch)

    def _note(self, line: str) -> None:
        for step, words in STEPS.items():
            if words in line:
                self.began.setdefault(step, monotonic())

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

    def paces(self) -> dict[str, Pace]:
        """Of each step, of a run that has just ended well."""
        ends = [*list(self.began.values())[1:], monotonic()]
        return {
            step: Pace(at - self.started, end - at)
            for (step, at), end in zip(self.began.items(), ends, strict=True)
        }


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


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
    return port
