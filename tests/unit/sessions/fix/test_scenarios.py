"""Every scenario file of FIX sessions, and that the runner tells differences apart."""

from pathlib import Path

import pytest

from tests.kits.fix_scenarios import FOLDER, Scenario, ScenarioError

FILES = sorted(FOLDER.glob("*.txt"))
# QuickFIX's list of FIX 4.4 rules for acceptors, by its numbers.
RULES = """1a 1b 1c 1d 1e 2a 2b 2c 2d 2e 2f 2g 2i 2k 2m 2o 2q 2r 2t 3b 3c 4a 4b 6 7 8 10 11a 11b 11c 13b
    14a 14b 14c 14d 14e 14f 14g 14h 14i 15 19a 19b 20 21 already reject reverse session"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario(path: Path) -> None:
    Scenario(path).play()


def test_every_rule_of_the_list_has_its_file() -> None:
    assert {path.stem.partition("_")[0] for path in FILES} >= set(RULES.split())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("E 0 34=2 112=OTHER", "tag 112 is 'HELLO', not 'OTHER'"),
        ("E 0 34=2", "tag 112 was not expected"),
        ("E 0 34=2 112=HELLO 58=x", "tag 58 is missing"),
        ("E 0 112=HELLO 34=2", "tag 112 was expected where tag 34 stands"),
        ("silence", "sent and not expected"),
        ("cut", "sent and not expected"),
        ("# nothing", "sent and not expected"),
        ("E 0 34=2 112=HELLO\ncut", "is not cut"),
        ("E 0 34=2 112=HELLO\nE 0 34=3", "nothing was sent"),
    ],
)
def test_a_difference_names_its_tag(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"connect\nI A 34=1 98=0 108=30\nE A 34=1 98=0 108=30\nI 1 34=2 112=HELLO\n{line}\n")
    with pytest.raises(ScenarioError, match=words):
        Scenario(path).play()
