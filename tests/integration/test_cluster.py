"""A build on a cluster whose machines have neither our Python nor our packages."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pregao.lake.lake import Lake
from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from tests.kits.lakes import all_tables, build, make_days

from .cluster_driver import ALONE, LATE, LOST
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


# Executors that are lost, workers that come, attempts that are made twice.


def disturbed(made: Cluster, mode: str, day: Path, folder: Path) -> list[str]:
    """A build that something happens to: its tables are those of any other. Marks of its attempts."""
    marks, there, here = folder / "marks", folder / "there", folder / "here"
    marks.mkdir()
    driver = [sys.executable, "-m", "tests.integration.cluster_driver"]
    done = run([*driver, made.url, str(day), str(there), mode, str(marks)], made)
    assert json.loads(done.stdout)["slices"] > 4
    build([day], here)
    expected, found = all_tables(here), all_tables(there)
    for table, rows in expected.items():
        assert found[table] == rows, table
    _no_orphan_is_named(there, expected, twice=mode != ALONE)
    return sorted(path.name for path in marks.iterdir())


def _no_orphan_is_named(lake: Path, expected: dict[str, list[str]], *, twice: bool) -> None:
    """What the log names are files of one attempt of each slice: without all others nothing is missing."""
    named = {f"{table}/{file.path}" for table in DATA_TABLES for file in Lake(lake).files(table)}
    there = {
        str(path.relative_to(lake)) for table in DATA_TABLES for path in (lake / table).rglob("*.parquet")
    }
    assert named <= there
    gone = set(vacuum(Location(lake), grace_ns=0).files)
    assert gone >= there - named
    assert not gone & named
    assert bool(there - named) is twice, "both attempts have written"
    assert all_tables(lake) == expected


@pytest.fixture(scope="module")
def faulty_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (day,) = make_days(tmp_path_factory.mktemp("day"), seed=7, loops=12, messages=1_200)
    return day


def attempts(marks: list[str], number: int = 0) -> list[str]:
    """Executors that have tried a slice."""
    return [mark.split("-", 2)[2] for mark in marks if mark.startswith(f"{number}-")]


def test_of_two_attempts_at_once_one_counts(running: Cluster, faulty_day: Path, tmp_path: Path) -> None:
    """The first is late, so Spark begins another (speculation). Both write all their files."""
    marks = disturbed(running, LATE, faulty_day, tmp_path)
    assert len(set(attempts(marks))) == 2, marks


@pytest.mark.long
def test_an_executor_that_is_lost_costs_its_task(running: Cluster, faulty_day: Path, tmp_path: Path) -> None:
    marks = disturbed(running, LOST, faulty_day, tmp_path)
    assert len(set(attempts(marks))) == 2, marks


@pytest.mark.long
def test_a_worker_that_comes_later_gets_work(
    tmp_path_factory: pytest.TempPathFactory, faulty_day: Path, tmp_path: Path
) -> None:
    """The first slice waits until somebody else is at work, and there is nobody else before it has begun."""
    with cluster(tmp_path_factory.mktemp("growing"), workers=1) as made, ExitStack() as more:
        marks = tmp_path / "marks"

        def add_a_worker() -> None:
            until = time.monotonic() + PATIENCE_S
            while not (marks.is_dir() and any(marks.iterdir())) and time.monotonic() < until:
                time.sleep(0.1)
            more.enter_context(made.worker(1))

        adding = threading.Thread(target=add_a_worker)
        adding.start()
        found = disturbed(made, ALONE, faulty_day, tmp_path)
        adding.join()
    assert len({mark.split("-", 2)[2] for mark in found}) == 2, found
