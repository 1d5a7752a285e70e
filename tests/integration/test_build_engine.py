"""`pregao build --engine`: small captures are built without Spark, all others on it."""

from pathlib import Path
from typing import Any

import pytest

from pregao.cli.main import main
from pregao.jobs import build as job
from pregao.lake.lake import Lake
from tests.kits.lakes import make_days


class SparkStartedError(Exception):
    """It was asked for."""


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (day,) = make_days(tmp_path_factory.mktemp("days"), seed=7, loops=6, messages=600)
    return day


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(**_: Any) -> Any:
        raise SparkStartedError

    monkeypatch.setattr(job, "local_session", start)
    monkeypatch.setattr(job, "active_session", lambda: None)


def command(day: Path, lake: Path, *options: str) -> list[str]:
    return ["build", str(day), "--lake", str(lake), "--no-progress", "--no-computed", *options]


@pytest.mark.parametrize("engine", [[], ["--engine", "auto"], ["--engine", "inline"]])
def test_few_captures_need_no_spark(day: Path, tmp_path: Path, engine: list[str]) -> None:
    assert main(command(day, tmp_path / "lake", *engine)) == 0
    assert Lake(tmp_path / "lake").arrow("orders").num_rows > 0


@pytest.mark.parametrize(
    "asked", [["--engine", "spark"], ["--master", "local[1]"], ["--conf", "spark.ui.port=0"]]
)
def test_who_asks_for_spark_gets_it(day: Path, tmp_path: Path, asked: list[str]) -> None:
    with pytest.raises(SparkStartedError):
        main(command(day, tmp_path / "lake", *asked))


def test_many_captures_go_to_spark(day: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "INLINE_BYTES", sum(path.stat().st_size for path in day.glob("*.pcap")) - 1)
    with pytest.raises(SparkStartedError):
        main(command(day, tmp_path / "lake"))
    assert main(command(day, tmp_path / "lake", "--engine", "inline")) == 0


def test_a_cluster_of_the_user_s_settings_is_used(
    day: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "default_settings", lambda: {"spark.master": "spark://somewhere:7077"})
    with pytest.raises(SparkStartedError):
        main(command(day, tmp_path / "lake"))


def test_packed_captures_count_for_what_they_come_to(tmp_path: Path) -> None:
    for name, size in (("a.pcap", job.INLINE_BYTES // 2), ("b.pcap.zst", job.INLINE_BYTES // 10)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    assert job.is_small(job.BuildRequest([str(tmp_path / "a.pcap")], "lake"))
    assert not job.is_small(job.BuildRequest([str(tmp_path)], "lake"))
    assert not job.is_small(job.BuildRequest([str(tmp_path / "a.pcap")], "s3://bucket/lake"))


def test_settings_of_spark_are_not_for_this_process(
    day: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(day, tmp_path / "lake", "--engine", "inline", "--master", "local[1]")) == 2
    assert "leave out --engine inline" in capsys.readouterr().err
