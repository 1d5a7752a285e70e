"""A Spark standalone cluster on loopback: a master and two workers, as processes that know nothing of us.
Each worker has its own address, for only on another host does Spark begin a second attempt beside the first.

They have Spark's jars and a Java, as any Spark installation, and an environment of their own: another home,
no virtual environment, no Python of ours, not even pyspark's Python files.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pyspark

from pregao.lake.spark.java import java_home

from .object_store import free_port

WORKERS: Final = 2
_SCALA: Final = "2.13"  # as the scripts of a Spark installation say
_PATIENCE_S: Final = 120.0
# Of whoever submits, in a file as with any Spark. A small job wants a Java that starts quickly.
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS: Final = f"""\
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.executor.memory 512m
spark.executor.extraJavaOptions {_QUICK}
spark.sql.shuffle.partitions 2
"""
_OPENED: Final = ("java.lang", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch", "java.net")


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.workers = [folder / f"worker{number}" for number in range(WORKERS)]
        self._spark = folder / "spark"
        self._spark.mkdir()
        (self._spark / "jars").symlink_to(Path(pyspark.__file__).parent / "jars")
        for path in (folder / "home", folder / "conf", *self.workers):
            path.mkdir()
        (folder / "conf" / "spark-defaults.conf").write_text(_SETTINGS)

    @property
    def environment(self) -> dict[str, str]:
        """Of master and workers, and so of executors."""
        return {
            "PATH": "/usr/bin:/bin", "HOME": str(self.folder / "home"), "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(self._spark), "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder), "SPARK_SCALA_VERSION": _SCALA,
        }  # fmt: skip

    @property
    def submitting(self) -> dict[str, str]:
        """Of whoever gives it work."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
        return mine | {
            "SPARK_CONF_DIR": str(self.folder / "conf"), "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": _QUICK,
        }  # fmt: skip

    def command(self, main: str, *arguments: str) -> list[str]:
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
        return [
            str(java_home() / "bin" / "java"), "-cp", f"{self._spark}/jars/*", "-Xmx256m",
            *_QUICK.split(), *opened, f"org.apache.spark.deploy.{main}", "--webui-port", "0", *arguments,
        ]  # fmt: skip

    @contextmanager
    def worker(self, number: int) -> Iterator[None]:
        """One more machine, while this is open."""
        path = self.workers[number]
        command = self.command(
            "worker.Worker", "--host", f"127.0.0.{number + 1}", "--cores", "1", "--memory", "1g",
            "--work-dir", str(path), self.url,
        )  # fmt: skip
        with _process(self, path.name, command, "Successfully registered with master"):
            yield

    def logs(self) -> str:
        """What executors said, for when something fails."""
        found = sorted(self.folder.glob("worker*/app-*/*/stderr"))
        return "\n".join(f"{path}\n{path.read_text(errors='replace')[-3000:]}" for path in found)


@contextmanager
def cluster(folder: Path, workers: int = WORKERS) -> Iterator[Cluster]:
    """`workers`: so many from the beginning."""
    made = Cluster(folder)
    with ExitStack() as running:
        master = made.command("master.Master", "--host", "127.0.0.1", "--port", str(made.port))
        running.enter_context(_process(made, "master", master, "New state: ALIVE"))
        for number in range(workers):
            running.enter_context(made.worker(number))
        yield made


@contextmanager
def _process(made: Cluster, name: str, command: list[str], ready: str) -> Iterator[None]:
    log = made.folder / f"{name}.log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            command, stdout=output, stderr=output, env=made.environment, cwd=made.folder
        )
    try:
        until = time.monotonic() + _PATIENCE_S
        while ready not in log.read_text(errors="replace"):
            assert started.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < until, log.read_text(errors="replace")
            time.sleep(0.1)
        yield
    finally:
        started.terminate()  # a worker ends its executors with itself
        started.wait(timeout=30)
