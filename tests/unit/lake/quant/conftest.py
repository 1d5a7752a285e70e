"""Two simulated days, one lake: with losses, so that snapshots heal books in the middle of it."""

from pathlib import Path

import pytest

from pregao.lake.lake import Lake
from tests.kits.lakes import build, make_days


@pytest.fixture(scope="session")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("quant-days")
    return make_days(folder, seed=11, faults="loss=1%,both=4", loops=8, messages=1_500, days=2)


@pytest.fixture(scope="session")
def lake(days: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("quant-lake") / "lake"
    build(days, path, derive=True)
    return Lake(path)
