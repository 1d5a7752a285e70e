"""Systems by name, by `module:name` and by entry point."""

import subprocess
import sys
from pathlib import Path

import pytest

from pregao.feeds.registry import (
    GROUP,
    load_decoding,
    load_session_system,
    load_system,
    load_tabled_system,
    ranks_rates_plainly,
    system_names,
)
from pregao.market.sessions import session_system_of
from pregao.model.errors import ConfigurationError

ROOT = Path(__file__).parents[3]


def test_ours_are_found_by_name_and_others_by_module() -> None:
    assert load_system("binary").name == "binary"
    assert load_system("tests.toy.system:TOY").name == "toy"
    assert {"binary", "fast"} <= set(system_names())


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(ConfigurationError, match="there is no system 'nobody'; there are binary"):
        load_system("nobody")


@pytest.mark.parametrize("place", ["tests.toy.system:NOTHING", "no.such.module:X", "tests.toy:__doc__"])
def test_what_is_no_system_is_refused(place: str) -> None:
    with pytest.raises(ConfigurationError):
        load_system(place)


def test_a_package_of_others_brings_its_system_by_entry_point(tmp_path: Path) -> None:
    """In a process of its own, as Spark's workers are: what is installed there is found there."""
    described = tmp_path / "others-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[{GROUP}]\ntoy = tests.toy.system:TOY\n")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]\n"
        "from pregao.feeds.registry import load_system, system_names\n"
        "assert 'toy' in system_names()\n"
        "print(load_system('toy').title)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == load_system("tests.toy.system:TOY").title


def test_trademate_of_an_exchange_that_ranks_rates_as_prices(tmp_path: Path) -> None:
    """The same system but for ranks: in session files, for journals and for messages."""
    plain, usual = load_session_system("trademate-plain"), load_session_system("trademate")
    assert type(plain) is type(usual)
    assert (plain.name, usual.name) == ("trademate-plain", "trademate")
    assert [ranks_rates_plainly(each.name) for each in (plain, usual)] == [True, False]
    assert load_tabled_system("trademate-plain") is plain
    assert load_decoding("trademate-plain") is load_decoding("trademate")
    config = tmp_path / "session.toml"
    config.write_text('system = "trademate-plain"\n')
    assert session_system_of(str(config)) == "trademate-plain"
