"""The Spark session: quiet, quick to start, and the same everywhere.

spark = local_session()                                             # this machine, all cores
spark = local_session(master="spark://host:7077", archive="environment.tar.gz")

What the user has set wins over what we would: `settings` (--conf of the commands) before spark-defaults.conf,
which SPARK_CONF_DIR finds, before ours. A session that this process has already is used as it is.
"""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pregao.extras import need
from pregao.lake.source import register
from pregao.lake.spark import worker_daemon
from pregao.lake.spark.failures import quiet_accumulators, quiet_py4j
from pregao.lake.spark.java import java_home
from pregao.lake.task_results import MAX_RESULT, MAX_RESULT_KEY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*,4]"  # a task whose Python worker dies is tried again, as on a cluster
ARCHIVE_FOLDER: Final = "environment"
_LOG_SETTINGS: Final = Path(__file__).with_name("log4j2.properties")

_COMMON: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.adaptive.enabled": "true",
    # A lake version is a list of files: asking for their sizes needs no Spark job of its own.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": worker_daemon.MODULE,
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # where each column was made: a call of Java each
    "spark.cleaner.periodicGC.interval": "10min",
    MAX_RESULT_KEY: MAX_RESULT,
}
# A cold Spark spends most of its time on compiling itself: 27 s of processor time for a session and a
# first query, 15 s so. Long work in the JVM wants the other compiler: `quick=False`.
_QUICK: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_LOCAL_ONLY: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.shuffle.compress": "false",  # a shuffle on one machine is bound by the processor
    "spark.locality.wait": "0s",
}

# Where a store is goes with the work. Who may use it does not: settings of Spark are seen by many.
_STORE_SETTINGS: Final = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION")


_MASTER: Final = "spark.master"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_SETTING: Final = re.compile(r"([^\s=:]+)\s*[=:\s]\s*(.*)")


def local_session(
    *,
    master: str | None = None,
    name: str = "pregao",
    archive: str | None = None,
    memory: str | None = None,
    quick: bool = True,
    settings: Mapping[str, str] | None = None,
    ours: Mapping[str, str] | None = None,
) -> "SparkSession":
    """The session of this process; made if there is none. `archive` is what `pregao pack` made, for
    machines without our environment; `quick` prefers a fast start on this machine to fast machine code
    in the JVM; `settings` are the user's, `ours` what a command asks for where the user does not."""
    need("pyspark")
    there = active_session()
    if there is not None:
        register(there)
        return there
    chosen = {**default_settings(), **(settings or {})}
    master = master_of(master, chosen)
    is_local = master.startswith("local")
    os.environ["JAVA_HOME"] = str(java_home())
    if is_local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # otherwise it warns about the machine's name
    os.environ["PYSPARK_PYTHON"] = _worker_python(is_local=is_local, archive=archive)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(name)
    for key, value in session_settings(
        is_local=is_local, archive=archive, memory=memory, quick=quick,
        settings={**(ours or {}), **chosen, _MASTER: master},
    ).items():  # fmt: skip
        builder = builder.config(key, value)
    # Spark writes every refused query to stderr, as JSON with the Java stack: we tell it in one line.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    quiet_py4j()
    session = builder.getOrCreate()
    quiet_accumulators(session)
    register(session)
    return session


def active_session() -> "SparkSession | None":
    """That of this process, if there is one: the user's, most likely."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def master_of(asked: str | None, settings: Mapping[str, str]) -> str:
    return asked or settings.get(_MASTER) or LOCAL


def default_settings() -> dict[str, str]:
    """Of the user's spark-defaults.conf, which Spark itself would read after all that it is told."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    path = Path(folder or "") / "spark-defaults.conf"
    if folder is None or not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text(errors="replace").splitlines())
    found = (_SETTING.fullmatch(line) for line in lines if line and line[0] not in "#!")
    return {match[1]: match[2].strip() for match in found if match is not None}


def _worker_python(*, is_local: bool, archive: str | None) -> str:
    """Of this machine: ours. Of a cluster: that of the archive, or the one that is said to be there."""
    if is_local:
        return sys.executable
    if archive:
        return f"./{ARCHIVE_FOLDER}/bin/python"
    return os.environ.get("PYSPARK_PYTHON") or sys.executable


def _warehouse() -> str:
    """Spark makes this folder though nothing of ours goes there: not where the user happens to be."""
    return (Path(tempfile.gettempdir()) / f"pregao-{os.getuid()}" / "spark-warehouse").as_uri()


def session_settings(
    *, is_local: bool, archive: str | None, memory: str | None, quick: bool, settings: Mapping[str, str]
) -> dict[str, str]:
    chosen = dict(_COMMON)
    chosen["spark.sql.warehouse.dir"] = _warehouse()
    options = [f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"]
    if quick and is_local:
        options += _QUICK
    chosen["spark.driver.extraJavaOptions"] = " ".join(options)
    if is_local:
        chosen.update(_LOCAL_ONLY)
        chosen["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    elif archive:
        chosen["spark.archives"] = f"{archive}#{ARCHIVE_FOLDER}"
    if not is_local:
        of_store = {name: os.environ[name] for name in _STORE_SETTINGS if name in os.environ}
        chosen |= {f"spark.executorEnv.{name}": value for name, value in of_store.items()}
    if memory:
        chosen["spark.driver.memory"] = memory
    java = [text for text in (chosen[_JAVA_OPTIONS], settings.get(_JAVA_OPTIONS)) if text]
    return {**chosen, **settings, _JAVA_OPTIONS: " ".join(java)}  # of two options Java takes the later
