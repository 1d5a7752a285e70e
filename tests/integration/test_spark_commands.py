"""Commands on Spark as processes: an interrupt, folders of any name, a lake that cannot be written."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pregao.lake.lake import Lake
from tests.kits.lakes import build, make_days

COMMAND = (sys.executable, "-m", "pregao")
ODD = "la:ke{a,b}*[x] %20%41#?4"


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (day,) = make_days(tmp_path_factory.mktemp("days"), seed=5, loops=6, messages=1_500)
    return day


def _run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )


# A build of its own process. What Spark's web page tells is asked for when it commits.
_WATCHED = """
import json, sys
from urllib.request import urlopen
from pyspark import SparkContext
from pregao.jobs.build import BuildRequest, build_lake

def look(step, done, total):
    if (step, done) == ("commit", 0):
        context = SparkContext._active_spark_context
        page = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
        jobs, environment = (json.load(urlopen(f"{page}/{name}")) for name in ("jobs", "environment"))
        print(json.dumps({"jobs": jobs, "settings": dict(environment["sparkProperties"])}))

request = BuildRequest([sys.argv[1]], sys.argv[2])
build_lake(request, look, conf={"spark.ui.port": "0", "spark.app.name": "mine"})
"""


@pytest.mark.long
def test_the_user_s_settings_win_and_spark_s_page_tells_what_is_done(captures: Path, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.master local[1,2]\nspark.ui.enabled true\nspark.driver.maxResultSize 300m\n"
        "spark.app.name theirs\nspark.driver.host 127.0.0.1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, str(captures), str(tmp_path / "lake")], capture_output=True,
        text=True, timeout=300, check=False, env=os.environ | {"SPARK_CONF_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    settings = told["settings"]
    assert settings["spark.master"] == "local[1,2]"
    assert settings["spark.driver.maxResultSize"] == "300m"
    assert settings["spark.app.name"] == "mine"
    assert settings["spark.sql.session.timeZone"] == "UTC", "ours, where the user says nothing"
    shown = {job["description"]: job for job in reversed(told["jobs"])}
    assert all(job["jobGroup"] == "pregao" for job in shown.values())
    scan, slices, tables = shown
    assert re.fullmatch(r"pregao: build: scan \d+ captures", scan)
    assert re.fullmatch(r"pregao: build: 4 units of 2026-11-16 in \d+ slices", slices)
    assert tables == "pregao: build: compute tables of 4 units"
    assert shown[slices]["numCompletedTasks"] == shown[slices]["numTasks"] >= 4


@pytest.mark.long  # the signal must come while the stage runs, which a busy machine does not promise
@pytest.mark.parametrize("step", ["looking through captures", "building slices", "computing tables"])
def test_an_interrupt_in_a_stage_of_spark_ends_with_130_and_one_line(
    captures: Path, tmp_path: Path, step: str
) -> None:
    lake = tmp_path / "lake"
    command = [*COMMAND, "build", str(captures), "--lake", str(lake), "--engine", "spark"]
    building = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert building.stderr is not None
    for line in building.stderr:
        if step in line:
            break
    time.sleep(0.5)  # so that Spark is at it
    os.killpg(building.pid, signal.SIGINT)  # as a terminal does it
    out, talk = building.communicate(timeout=60)
    assert (building.returncode, out) == (130, ""), talk
    steps = ("building slices …", "computing tables …")
    lines = [line for line in talk.splitlines() if not line.endswith(steps)]
    assert lines == ["pregao: interrupted; the next build does what is left"]
    assert _alive(building.pid) == []


# Tasks of which one kills its worker while the others have just begun, where nothing is tried again.
_DYING = """
import os, signal, sys
from pregao.lake.errors import LakeError
from pregao.lake.runners import SparkRunner
from pregao.lake.spark.failures import stop
from pregao.lake.spark.session import local_session

def die(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number

session = local_session(master="local[2]")
try:
    for _ in range(3):
        try:
            SparkRunner(session).run(die, list(range(16)), lambda *_: None)
        except LakeError as error:
            print(error, file=sys.stderr)
finally:
    stop(session)
"""


def test_a_worker_that_dies_is_one_line_and_no_stack(tmp_path: Path) -> None:
    """Neither Java's nor that of workers which Java then cuts off."""
    (tmp_path / "dying.py").write_text(_DYING)
    done = subprocess.run(
        [sys.executable, "dying.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    told = "Spark: a Python worker has died (killed, crashed, or out of memory); run it again"
    assert done.stderr.splitlines() == [told] * 3


def _alive(session: int) -> list[str]:
    """Processes of a session that still run, after a moment to end in."""
    for _ in range(50):
        shown = subprocess.run(
            ["ps", "-o", "stat=,args=", "--sid", str(session)], capture_output=True, text=True, check=False
        ).stdout
        left = [line for line in shown.splitlines() if not line.startswith("Z")]
        if not left:
            break
        time.sleep(0.1)
    return left


def test_a_stream_and_a_query_in_a_folder_of_any_name(captures: Path, tmp_path: Path) -> None:
    """Nothing is made elsewhere, nor where the commands are run."""
    lake, here = tmp_path / ODD, tmp_path / "here"
    here.mkdir()
    streamed = _run("stream", str(captures), "--lake", str(lake), "--once", "--no-computed", cwd=here)
    assert streamed.returncode == 0, streamed.stderr
    expected = tmp_path / "lake"
    build([captures], expected)
    rows = Lake(expected).arrow("orders").num_rows
    assert Lake(lake).arrow("orders").num_rows == rows > 0
    asked = _run(
        "query", "select count(*) n from orders", "--lake", str(lake), "--engine", "spark", "--format", "csv",
        cwd=here,
    )  # fmt: skip
    assert (asked.returncode, asked.stdout) == (0, f"n\n{rows}\n"), asked.stderr
    assert list(here.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(("here", "lake", ODD))


@pytest.mark.parametrize("name", ["file/lake", "sealed/lake"])
def test_a_stream_into_a_lake_that_cannot_be_is_one_line(captures: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "sealed").mkdir()
    (tmp_path / "sealed").chmod(0o500)
    if name.startswith("sealed") and os.access(tmp_path / "sealed", os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    streamed = _run("stream", str(captures), "--lake", str(tmp_path / name), "--once", cwd=tmp_path)
    assert streamed.returncode == 2, streamed.stderr
    assert len(streamed.stderr.splitlines()) == 1, streamed.stderr
    assert str(tmp_path / name) in streamed.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "sealed"]


def test_a_lake_that_becomes_unwritable_is_one_line(captures: Path, tmp_path: Path) -> None:
    """A file stands where a table should be."""
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "orders").touch()
    streamed = _run("stream", str(captures), "--lake", str(lake), "--once", "--no-computed", cwd=tmp_path)
    assert streamed.returncode == 2, streamed.stderr
    said = [line for line in streamed.stderr.splitlines() if "orders" in line]
    assert len(said) == 1, streamed.stderr
    assert "Traceback" not in streamed.stderr
