"""Paths that README and docs taught before the rooms moved: for one version they work, with a warning."""

import subprocess
import sys
from pathlib import Path

import pytest

NEW = {
    "columns": "pregao.captures.columns",
    "decode": "pregao.captures.decode",
    "replay": "pregao.captures.replay",
    "sample": "pregao.simulator.sample",
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pregao.services.columns", "pregao.captures.columns"),
        ("pregao.services.decode", "pregao.captures.decode"),
        ("pregao.services.replay", "pregao.captures.replay"),
        ("pregao.services.sample", "pregao.simulator.sample"),
        ("pregao.lake.analytics.bars", "pregao.lake.bars"),
    ],
)
def test_an_old_path_is_the_new_module_and_warns(old: str, new: str) -> None:
    code = f"import {old} as old, {new} as new\nassert old is new"
    warned = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    assert "DeprecationWarning" in warned
    assert f"{old.rpartition('.')[2]} is {new}" in warned


@pytest.mark.parametrize("name", ["columns", "decode", "replay", "sample"])
def test_an_old_path_is_an_attribute_of_its_package(name: str) -> None:
    code = f"import pregao.services.{name}\nassert pregao.services.{name}.__name__ == '{NEW[name]}'"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_the_old_sample_can_still_be_run(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "pregao.services.sample", str(tmp_path / "made")]
    subprocess.run(command, check=True, capture_output=True)
    assert list((tmp_path / "made").glob("*.pcap"))
