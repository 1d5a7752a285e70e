"""Every program of `examples/` is run, and all that it prints is compared with the file of its name in
`examples/output/`.

`VARYING` names what differs from run to run: a name stands for it in the file. After a change that is meant,
`WRITE_PAGES=1 python -m pytest tests/integration/test_examples.py` writes the files again.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kits.exchange_process import write_configuration
from tests.kits.loopback import need_multicast

from .pages import ROOT, WRITE, printed_by_file

FOLDER = ROOT / "examples"
LIVE = "live_market"
SESSION = "conflated_session"
ON_LAKE = ("build_a_lake", "book_at_an_instant")  # in this order: the first makes the lake of the other
CLIENT = "certify_client"  # prints what it is made to see: tests/unit/certification plays the script with it
OTHERS = sorted({path.stem for path in FOLDER.glob("*.py")} - {LIVE, SESSION, CLIENT, *ON_LAKE})
# The live exchange has a clock of its own: how far it is when the books are whole is another each time.
VARYING = {
    LIVE: [
        (r"with \d+ price levels", "with <n> price levels"),
        (r"bid [\d.]+ below [\d.]+", "bid <price> below <price>"),
        (r"\d+ trades and \d+ quotes", "<n> trades and <n> quotes"),
    ],
    SESSION: [
        (r"with \d+ price levels", "with <n> price levels"),
        (r"bid [\d.]+ below [\d.]+", "bid <price> below <price>"),
    ],
}


def check(name: str, folder: Path) -> None:
    printed = printed_by_file(FOLDER / f"{name}.py", folder)
    for pattern, instead in VARYING.get(name, ()):
        printed, times = re.subn(pattern, instead, printed)
        assert times == 1, (pattern, printed)
    expected = FOLDER / "output" / f"{name}.txt"
    if os.environ.get(WRITE):
        expected.write_text(printed, encoding="utf-8")
    assert printed == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OTHERS)
def test_example_prints_what_it_should(name: str, sample_root: Path) -> None:
    check(name, sample_root)


def test_a_live_market(sample_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_multicast("a live market")
    monkeypatch.setattr(sys, "argv", ["live_market.py", *map(str, write_configuration(tmp_path))])
    check(LIVE, sample_root)


def test_a_session(tmp_path: Path) -> None:
    need_multicast("the exchange's channels")
    check(SESSION, tmp_path)


def test_a_lake(spark: Any, sample_root: Path) -> None:
    for name in ON_LAKE:
        check(name, sample_root)


def test_there_are_thirteen_programs_that_say_what_they_show() -> None:
    programs = sorted(FOLDER.glob("*.py"))
    assert len(programs) == 13
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    for program in programs:
        text = program.read_text(encoding="utf-8")
        assert text.startswith('"""'), program.name
        assert 15 <= len(text.splitlines()) <= (200 if program.stem == CLIENT else 45), program.name
        assert f"[{program.name}]({program.name})" in listed
    shown = {path.stem for path in programs} - {CLIENT}
    assert {path.stem for path in (FOLDER / "output").glob("*.txt")} == shown
