"""Paths that README and docs taught before the rooms moved: for one version they work, with a warning."""

import subprocess
import sys

import pytest


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
