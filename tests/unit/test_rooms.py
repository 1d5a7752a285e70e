"""Rules of the house that import-linter cannot say."""

import ast
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
    assert contracts.count(" -> pregao.feeds.binary") <= 49


# The tests have rooms too.

TESTS = Path(__file__).parents[1]


def imported(file: Path) -> set[str]:
    """Full names of the modules that a file imports, and of what it takes from them."""
    place = file.relative_to(TESTS.parent if TESTS in file.parents else SOURCE.parent).with_suffix("").parts
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = place[: len(place) - node.level] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{module}.{each.name}" for each in node.names}
    return found


def importing(room: str, *others: str) -> list[tuple[str, str]]:
    return [
        (str(file.relative_to(TESTS)), name)
        for file in sorted((TESTS / room).rglob("*.py"))
        for name in sorted(imported(file))
        if name.startswith(tuple(f"tests.{other}." for other in others))
    ]


def test_folders_of_unit_tests_are_those_of_the_source() -> None:
    unit = TESTS / "unit"
    folders = {file.parent.relative_to(unit) for file in unit.rglob("*.py")}
    assert len(folders) > 30
    assert [str(folder) for folder in sorted(folders) if not (SOURCE / folder).is_dir()] == []


def test_unit_tests_take_nothing_from_longer_ones() -> None:
    assert importing("unit", "integration", "proofs", "benchmarks") == []


def test_twins_and_kits_take_nothing_from_tests() -> None:
    tests = ("unit", "integration", "proofs", "benchmarks", "conformance")
    assert importing("twins", *tests) == []
    assert importing("kits", *tests) == []


def test_plain_twins_live_with_the_twins() -> None:
    named = {str(file.relative_to(TESTS)) for file in TESTS.rglob("*.py") if is_twin(file.stem)}
    assert len(named) > 10
    assert {name for name in named if not name.startswith("twins/")} == set()


def is_twin(name: str) -> bool:
    return name.startswith(("plain_", "naive_")) or (name.endswith("_twin") and not name.startswith("test_"))
