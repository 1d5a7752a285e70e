"""A build on a cluster whose machines have neither our Python nor our packages."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kits.lakes import all_tables, build, make_days

from .spark_cluster import Cluster, cluster

PATIENCE_S = 900  # a machine may be busy
# A driver of its own: which Python ran each task, whose pregao it had, and what it had to compile.
WHO = """
import json, sys
from pregao.lake.spark.session import local_session

def who(batches):
    import os, sys, time
    import pyarrow as pa
    import pregao.kernels
    from pregao.lake.plan.kernels import content_hash
    for _ in batches:
        data = b"some bytes"
        import numpy as np
        array = np.frombuffer(data, np.uint8)
        content_hash(array.ctypes.data, len(array), 1)
        time.sleep(0.5)  # so that no worker does it all
        told = {
            "python": sys.executable, "pregao": pregao.__file__, "folder": os.getcwd(),
            "compiled": sum(content_hash.stats.cache_misses.values()), "home": os.environ["HOME"],
        }
        yield pa.RecordBatch.from_pydict({name: [value] for name, value in told.items()})

spark = local_session(master=sys.argv[1], archive=sys.argv[2])
columns = "python string, pregao string, folder string, compiled bigint, home string"
rows = spark.range(0, 8, 1, 8).mapInArrow(who, columns).collect()
print(json.dumps([row.asDict() for row in rows]))
spark.stop()
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "environment.tar.gz"
    run([sys.executable, "-m", "pregao", "pack", "--out", str(path), "--no-progress"], None)
    return path


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def run(command: list[str], made: Cluster | None) -> "subprocess.CompletedProcess[str]":
    environment = made.submitting if made is not None else None
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr + (made.logs() if made is not None else "")
    return done


@pytest.mark.long
def test_tasks_run_with_the_python_of_the_archive(archive: Path, running: Cluster) -> None:
    rows = json.loads(run([sys.executable, "-c", WHO, running.url, str(archive)], running).stdout)
    assert len(rows) == 8
    for row in rows:
        unpacked = Path(row["folder"]) / "environment"
        assert Path(row["python"]).is_relative_to(unpacked), row
        assert Path(row["pregao"]).is_relative_to(unpacked), row
        assert row["home"] == running.environment["HOME"]
        assert row["compiled"] == 0  # the archive has the machine code of the kernels
    worked = {
        worker for worker in running.workers for row in rows if Path(row["folder"]).is_relative_to(worker)
    }
    assert worked == set(running.workers)


def test_the_tables_are_those_of_a_local_build(archive: Path, running: Cluster, tmp_path: Path) -> None:
    (day,) = make_days(tmp_path / "days", seed=7, faults="loss=1%,both=4", loops=12, messages=1_500)
    there, here = tmp_path / "there", tmp_path / "here"
    command = [sys.executable, "-m", "pregao", "build", str(day), "--lake", str(there), "--no-computed"]
    done = run([*command, "--master", running.url, "--archive", str(archive)], running)
    assert "lake version 1: 4 units" in done.stderr
    build([day], here)
    expected, found = all_tables(here), all_tables(there)
    for table, rows in expected.items():
        assert found[table] == rows, table
    for table in ("orders", "trades", "quotes", "depth", "quality"):
        assert expected[table], table
    assert {worker for worker in running.workers if _built(worker)} == set(running.workers)


def _built(worker: Path) -> bool:
    """Whether a build has imported our slices there: the archive has no bytecode, Python leaves it behind."""
    return any(worker.glob("app-*/*/environment/lib/*/site-packages/pregao/lake/slices/__pycache__/*.pyc"))
