"""What several tests look at: the sample, and the main job, run once on a small day."""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pregao.jobs.main_job import JobDone, JobSettings, run_main_job
from pregao.simulator.sample import write_sample
from tests.kits.captures import Captured, copy_capture, read_capture
from tests.kits.lakes import make_days

# As `make run` has them, and enough of them for a day of 4,000 messages in sixteen minutes.
FAULTS = "loss=1%,gap=2x8@A,cut=B@14:20+20s,both=4x8,dup=0.5%,delay=0.5%:5ms,skew=B:+180us"
SMALL = {"instruments": 12, "squeeze": 40, "loops": 40, "trading": 5.0}


class Ran(NamedTuple):
    """`root` is where `make run` was run, and may be run again; `copy` is as the first run left it."""

    root: Path
    copy: Path
    settings: JobSettings
    done: JobDone
    steps: list[str]


@pytest.fixture(scope="session")
def sample_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where examples are run: with the sample in `build/sample`."""
    root = tmp_path_factory.mktemp("sample")
    write_sample(root / "build" / "sample")
    return root


@pytest.fixture(scope="session")
def channel_captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A day of one channel, by what its captures are."""
    (day,) = make_days(tmp_path_factory.mktemp("one-channel"), seed=9, messages=1_200)
    names = {
        "a": "Incremental_FeedA", "b": "Incremental_FeedB", "definitions": "InstrumentDefinition",
        "snapshots": "SnapshotRecovery",
    }  # fmt: skip
    return {word: day / f"072_{name}.pcap" for word, name in names.items()}


@pytest.fixture(scope="session")
def midday_captures(
    channel_captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The same, begun in the middle of the session."""
    folder = tmp_path_factory.mktemp("midday")
    packets = read_capture(channel_captures["a"])
    middle = (packets[0].ts_ns + packets[-1].ts_ns) // 2

    def rest(packets: list[Captured]) -> list[Captured]:
        return [each for each in packets if each.ts_ns >= middle]

    return {word: copy_capture(path, folder, rest) for word, path in channel_captures.items()}


@pytest.fixture(scope="session")
def main_job(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = tmp_path_factory.mktemp("main-job")
    settings = JobSettings(root / "build" / "run", 4_000, faults=FAULTS, simulation=SMALL)
    steps: list[str] = []
    done = run_main_job(settings, lambda step, _, __: steps.append(step), spark=spark)
    copy = tmp_path_factory.mktemp("main-job-copy")
    shutil.copytree(root, copy, dirs_exist_ok=True)
    return Ran(root, copy, settings, done, steps)
