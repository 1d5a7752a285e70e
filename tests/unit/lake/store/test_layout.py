"""Lakes that were built when tables were partitioned by trade date and channel, and when they had no exact
prices and sizes: every command says what it is and how to build it again. `lakes/lake-layout-1.tar.xz` and
`lake-layout-2.tar.xz` were made by pregao of those times (commits d02e424 and 59ad6e3) from a simulated
morning of one channel, with `make_days(…, messages=300, seed=1)` and `build(…, derive=True, channels={84})`.
"""

import shutil
import tarfile
from pathlib import Path

import pytest

from pregao.cli.main import main
from pregao.lake.errors import OldLakeError
from pregao.lake.lake import Lake
from pregao.lake.state import LakeState
from pregao.lake.store.location import Location
from tests.kits.lakes import build, make_days

LAKES = Path(__file__).with_name("lakes")
COMMANDS = [
    ["tables"], ["query", "select 1"], ["book", "PETR4", "--at", "12:00"], ["report", "--out", "unused.html"],
    ["compact"], ["vacuum"],
]  # fmt: skip


@pytest.fixture(params=[1, 2], ids="layout{}".format)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(LAKES / f"lake-layout-{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "lake"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_days(tmp_path_factory.mktemp("days") / "days", messages=300, seed=1)


def _expected(old: Path) -> str:
    return f"pregao build /tmp/before/captures/2026-11-16 --lake {old}-2"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_says_how_to_build_it_again(
    command: list[str], old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--lake", str(old)]) == 2
    err = capsys.readouterr().err
    assert "built by an older pregao" in err
    assert _expected(old) in err


def test_build_and_stream_say_it_and_change_nothing(
    old: Path, days: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path for path in old.rglob("*") if "_streams" not in path.parts)
    assert main(["build", str(days[0]), "--lake", str(old), "--no-progress"]) == 2
    assert _expected(old) in capsys.readouterr().err
    assert main(["stream", str(days[0]), "--lake", str(old), "--once"]) == 2
    assert _expected(old) in capsys.readouterr().err
    assert sorted(path for path in old.rglob("*") if "_streams" not in path.parts) == before


def test_the_library_says_it(old: Path) -> None:
    with pytest.raises(OldLakeError):
        Lake(old)


def test_captures_that_nobody_knows_any_more(old: Path) -> None:
    """The rows of `units` are gone: the command then leaves the captures to the reader."""
    shutil.rmtree(old / "units")
    with pytest.raises(OldLakeError, match=r"pregao build CAPTURES --lake "):
        Lake(old)


def test_the_command_works(old: Path, days: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Its lake is a new one beside the old, and can be read."""
    build(days, f"{old}-2")
    assert main(["tables", "--lake", f"{old}-2"]) == 0
    assert Lake(f"{old}-2").arrow("trades").num_rows > 0


def test_a_first_build_that_died_before_its_commit(old: Path) -> None:
    """There is an intent and no commit: it is of the old layout all the same."""
    shutil.rmtree(old / "commits")
    with pytest.raises(OldLakeError):
        LakeState.recovered(Location(old))
