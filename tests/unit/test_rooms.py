"""Rules of the house that import-linter cannot say."""

import re
from pathlib import Path

from pregao.kernel_cache import kernel_files

SOURCE = Path(__file__).parents[2] / "src" / "pregao"


def importers(package: str) -> set[str]:
    pattern = re.compile(rf"^\s*(import|from) {package}\b", re.MULTILINE)
    return {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if pattern.search(file.read_text(encoding="utf-8"))
    }


def test_numba_lives_in_files_named_kernels() -> None:
    assert importers("numba") == {"kernels.py"}


def test_kernels_are_made_only_in_files_or_packages_named_kernels() -> None:
    decorated = {
        file
        for file in SOURCE.rglob("*.py")
        if re.search(r"^@(kernel|inlined)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert decorated
    assert decorated <= set(kernel_files())


def test_no_room_is_only_for_a_kernel() -> None:
    """A package that holds one kernel file and nothing else is a cupboard."""
    cupboards = [
        str(file.parent.relative_to(SOURCE))
        for file in SOURCE.rglob("kernels.py")
        if {each.name for each in file.parent.glob("*.py")} <= {"kernels.py", "__init__.py"}
    ]
    assert not cupboards


def test_only_the_lake_imports_pyspark() -> None:
    assert all(name.startswith("lake/") for name in importers("pyspark"))


def test_no_sockets_or_clocks_in_machines() -> None:
    rooms = ("model/", "codecs/", "books/", "recovery/", "feeds/", "exchange/")
    found = importers("socket") | importers("asyncio") | importers("time")
    assert not {name for name in found if name.startswith(rooms)}


def test_exceptions_of_the_port_only_get_fewer() -> None:
    """Imports of Binary UMDF above `feeds`: what is left of the time when it was the only system."""
    contracts = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert contracts.count(" -> pregao.feeds.binary") <= 31
