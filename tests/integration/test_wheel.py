"""The package as people get it: a wheel in an empty environment, used far from the checkout.

Everything comes from the package index, in the versions of requirements.lock, as for `make` itself.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pregao import Lake
from pregao.kernel_cache import CACHE_DIR
from pregao.kernels import COMPILING

ROOT = Path(__file__).parents[2]
# A day of which the captures are small: few heartbeats.
DAY = ("simulate", "--messages", "1500", "--instruments", "12", "--heartbeat", "60", "--no-progress")
SECONDS = re.compile(r"in [\d.]+ s \([\d,]+ a second\)")
TABLES = ("orders", "trades", "quotes", "statistics", "states", "instruments", "daily", "quality")


class Done(NamedTuple):
    status: int
    out: str
    err: str


class Installed:
    """An environment with the wheel in it, and nothing of the checkout."""

    def __init__(self, folder: Path, wheel: Path, constraints: Path = ROOT / "requirements.lock") -> None:
        self.folder, self._wheel, self._constraints = folder, wheel, constraints
        self._python = folder / "venv" / "bin" / "python"
        venv.create(folder / "venv", with_pip=True)
        self._pip("install", str(wheel))

    def add_extra(self, name: str) -> None:
        self._pip("install", f"{self._wheel}[{name}]")

    def run(self, *line: str) -> Done:
        return run([str(self._python.with_name("pregao")), *line], self.folder)

    def python(self, code: str) -> Done:
        return run([str(self._python), "-c", code], self.folder)

    def _pip(self, *line: str) -> None:
        options = ("--quiet", "--disable-pip-version-check", "--constraint", str(self._constraints))
        done = run([str(self._python), "-m", "pip", *line, *options], self.folder)
        assert done.status == 0, done.err


def run(command: list[str], folder: Path) -> Done:
    """With machine code of its own, for that is what a new machine has."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    environment |= {CACHE_DIR: str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def of_checkout(folder: Path, *line: str) -> Done:
    """The same command by the sources of the checkout."""
    command = [sys.executable, "-m", "pregao", *line]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    (made,) = folder.glob("pregao-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("installed")
    yield Installed(folder, wheel)
    shutil.rmtree(folder)  # half a gigabyte


@pytest.fixture(scope="module")
def days(installed: Installed) -> tuple[Path, Done]:
    """A simulated day of the installed package."""
    done = installed.run(*DAY, "--out", "day")
    assert done.status == 0, done.err
    return installed.folder / "day" / "2026-11-16", done


def test_the_wheel_has_what_the_program_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    sources = {name for name in files_of(ROOT / "src") if "__pycache__" not in name}
    assert {name for name in inside if not name.startswith("pregao-")} == sources
    assert {"pregao/py.typed", "pregao/__init__.pyi"} <= inside
    assert any(name.endswith("licenses/LICENSE") for name in inside)


def test_it_is_the_installed_package_that_runs(installed: Installed) -> None:
    done = installed.python("import pregao; print(pregao.__file__); print(pregao.Market.__name__)")
    file, name = done.out.splitlines()
    assert file.startswith(str(installed.folder))
    assert (name, done.err) == ("Market", "")


def test_simulate_writes_the_bytes_that_the_checkout_writes(
    installed: Installed, days: tuple[Path, Done], tmp_path: Path
) -> None:
    folder, done = days
    here = of_checkout(tmp_path, *DAY, "--out", "day")
    assert here.status == 0
    assert SECONDS.sub("in …", here.err) == SECONDS.sub("in …", done.err)
    ours = tmp_path / "day" / "2026-11-16"
    names = files_of(ours)
    assert len(names) > 16
    assert names == files_of(folder)
    for name in names:
        assert (ours / name).read_bytes() == (folder / name).read_bytes(), name


@pytest.mark.parametrize("format_", ["text", "json", "csv"])
def test_decode_prints_what_the_checkout_prints(
    format_: str, installed: Installed, days: tuple[Path, Done]
) -> None:
    line = ("decode", "--format", format_, "--no-progress", *map(str, sorted(days[0].glob("*_FeedA.pcap"))))
    done = installed.run(*line)
    assert done == of_checkout(installed.folder, *line)
    assert done.status == 0
    assert done.out.count("\n") > 3_000


def test_listen_compiles_once_and_prints_what_the_checkout_prints(
    installed: Installed, days: tuple[Path, Done]
) -> None:
    line = ("listen", str(days[0]), "--show", "trades,quotes,statistics,states,news,definitions,feed,status")
    first, second = installed.run(*line), installed.run(*line)
    here = of_checkout(installed.folder, *line)
    assert first.err.startswith(f"pregao: {COMPILING} …\n")
    assert COMPILING not in second.err
    assert first.out == second.out == here.out
    assert first.status == second.status == here.status == 0
    assert first.out.count("\n") > 5_000


def test_the_library_keeps_books(installed: Installed, days: tuple[Path, Done]) -> None:
    """By the kernels that `listen` has compiled: those of columns would take as long again."""
    code = (
        "from pregao import Market, Replay, decode_capture, read_columns\n"
        f"market = Market.replay({str(days[0])!r}, exact=False).run()\n"
        "print([(book.symbol, book.status.name, book.top) for book in market.books()])\n"
    )
    done = installed.python(code)
    here = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.status, done.out) == (0, here.stdout)
    assert "('PETR4', 'UNVERIFIED', Top(bid=Level(" in done.out


def test_the_lake_names_its_extra(installed: Installed, days: tuple[Path, Done]) -> None:
    lacks = "pregao: deltalake is not installed: pip install 'pregao[lake]'\n"
    assert installed.run("build", str(days[0]), "--lake", "lake") == Done(2, "", lacks)
    done = installed.python("from pregao import Lake")
    assert done.err.endswith("MissingExtraError: deltalake is not installed: pip install 'pregao[lake]'\n")
    checked = installed.run("doctor")
    assert checked.err == "pregao: all that is needed is here\n"
    for name in ("pyspark", "pandas", "deltalake", "duckdb", "polars"):
        assert re.search(rf"^· {name} +not installed$", checked.out, re.MULTILINE), name


@pytest.mark.long
def test_the_oldest_versions_of_the_base_do_the_same(
    wheel: Path, days: tuple[Path, Done], tmp_path: Path
) -> None:
    """Those at which the ranges of pyproject.toml begin."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = [re.sub(r">=([\d.]+).*", r"==\1", line) for line in project["dependencies"]]
    constraints = tmp_path / "oldest.txt"
    constraints.write_text("\n".join(oldest))
    old = Installed(tmp_path, wheel, constraints)
    versions = old.python("import numba, numpy, pyarrow; print(numba.__version__, numpy.__version__)").out
    assert versions == "0.61.0 2.0.1\n"
    for line in (
        ("listen", str(days[0])),
        ("decode", "--no-progress", "--format", "json", *map(str, sorted(days[0].glob("*_FeedA.pcap")))),
    ):
        assert old.run(*line).out == of_checkout(tmp_path, *line).out
    code = (
        "from pregao import read_columns\n"
        f"for batch in read_columns({str(days[0] / '084_Incremental_FeedA.pcap')!r}):\n"
        "    print({name: table.to_pylist() for name, table in batch.to_arrow().items()})\n"
    )
    here = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert old.python(code).out == here.stdout != ""


@pytest.mark.long
def test_with_the_lake_it_builds_what_the_checkout_builds(
    installed: Installed, days: tuple[Path, Done], tmp_path: Path
) -> None:
    installed.add_extra("lake")
    built = installed.run("build", str(days[0]), "--lake", "lake", "--no-progress")
    here = of_checkout(tmp_path, "build", str(days[0]), "--lake", "lake", "--no-progress")
    assert (built.status, here.status) == (0, 0), built.err + here.err
    rows = of_lake(installed.folder / "lake")
    assert rows == of_lake(tmp_path / "lake")
    assert all(len(rows[table]) > 10 for table in TABLES)
    asked = installed.run("query", "select count(*) as rows from orders", "--lake", "lake", "--format", "csv")
    assert (asked.status, asked.out) == (0, f"rows\n{len(rows['orders'])}\n"), asked.err


def of_lake(path: Path) -> dict[str, list[str]]:
    """All rows, without the name of the build that made them."""
    lake = Lake(path)
    found = {}
    for table in TABLES:
        rows = lake.arrow(table).to_pylist()
        found[table] = sorted(str(row | {"build_id": None}) for row in rows)
    return found
