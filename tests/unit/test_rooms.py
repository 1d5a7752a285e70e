"""Rules of the house that import-linter cannot say."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pregao.kernel_cache import kernel_files

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "pregao"


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
        if re.search(r"^@(kernel|inlined|hooked)$", file.read_text(encoding="utf-8"), re.MULTILINE)
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


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def ours(name: str) -> bool:
    return name.startswith(("pregao.", "tests."))


def is_private(name: str) -> bool:
    """Not so what tuples and enums call `_replace` or `_value2member_map_`: those are their face."""
    public = ("_asdict", "_fields", "_make", "_replace")
    return name.startswith("_") and not name.endswith("_") and name not in public


def private_names_taken(file: Path) -> Iterator[str]:
    """What a file imports or asks of a module that its own module calls private."""
    taken: set[str] = set()
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom) and (node.level or ours(f"{node.module}.")):
            taken |= {each.asname or each.name for each in node.names}
            yield from (each.name for each in node.names if is_private(each.name))
        elif isinstance(node, ast.Import):
            taken |= {each.asname for each in node.names if each.asname and ours(each.name)}
    for node in nodes(file):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) in taken:
            yield ast.unparse(node)


def private_names_of_others(file: Path) -> Iterator[str]:
    """Private attributes of an object that no class of the file has."""
    asked = [node for node in nodes(file) if isinstance(node, ast.Attribute) and is_private(node.attr)]
    own = {node.attr for node in asked if ast.unparse(node.value) in ("self", "cls")}
    for node in nodes(file):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            own.add(ast.unparse(node.target))
    yield from (ast.unparse(node) for node in asked if node.attr not in own)


def test_no_module_takes_a_private_name_of_another() -> None:
    files = [*SOURCE.rglob("*.py"), *TESTS.rglob("*.py")]
    assert len(files) > 800
    assert [(file.name, *found) for file in files if (found := list(private_names_taken(file)))] == []


def test_no_object_is_asked_for_what_its_class_calls_private() -> None:
    found = {(file.name, name) for file in SOURCE.rglob("*.py") for name in private_names_of_others(file)}
    jvm = {("sparkframes.py", "spark._jvm"), ("sparkframes.py", "spark._jsc")}  # pyspark has no other way
    assert found == jvm


def test_only_the_lake_imports_pyspark() -> None:
    assert all(name.startswith("lake/") for name in importers("pyspark"))


def test_no_sockets_or_clocks_in_machines() -> None:
    rooms = ("model/", "codecs/", "books/", "recovery/", "sessions/", "feeds/", "exchange/")
    found = importers("socket") | importers("asyncio") | importers("time")
    assert not {name for name in found if name.startswith(rooms)}


def test_nothing_above_feeds_imports_a_system() -> None:
    """Also not inside functions; import-linter holds the same, and the contract has no exceptions."""
    contracts = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert " -> pregao.feeds." not in contracts
    systems = [folder.name for folder in (SOURCE / "feeds").iterdir() if (folder / "__init__.py").exists()]
    assert "binary" in systems
    importing_them = {name for system in systems for name in importers(rf"pregao\.feeds\.{system}")}
    assert {name for name in importing_them if not name.startswith("feeds/")} == set()


def test_one_way_from_a_file_to_packets() -> None:
    """`captures.reader` reads captures; whoever wants packets stands on it. The column
    kernels of a system take records themselves, in the loop of `codecs.pcap.runs`. A glance at the first
    bytes of a file needs no pass over it."""
    by_kernel = {file for file in SOURCE.rglob("*.py") if " take_run(" in file.read_text("utf-8")}
    plain = {file for file in SOURCE.rglob("*.py") if "DatagramReader()" in file.read_text("utf-8")}
    assert {str(file.relative_to(SOURCE)) for file in by_kernel} == {
        "codecs/pcap/kernels.py", "codecs/pcap/runs.py", "feeds/binary/kernels/packets.py",
    }  # fmt: skip
    assert {str(file.relative_to(SOURCE)) for file in plain} == {
        "codecs/pcap/runs.py", "captures/reader.py", "captures/glance.py",
    }  # fmt: skip


# Events of the library (`market`) have the names of what they tell of: updates of the model, and what the
# machine of a channel or session says.
TOLD_AGAIN = {
    "model/updates.py", "model/events.py", "model/clearing.py", "recovery/events.py",
    "recovery/instrument_events.py", "feeds/session_port.py",
}  # fmt: skip


def test_one_name_is_one_class() -> None:
    """But for events told again, and for systems: they do not know each other, and each has its publisher."""
    places: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, set()).add(str(file.relative_to(SOURCE)))
    assert len(places) > 1_000
    shared = {name: where for name, where in places.items() if len({_teller(each) for each in where}) > 1}
    assert not shared


def _teller(place: str) -> str:
    """Files that may share a name count as one."""
    if place.startswith("market/") or place in TOLD_AGAIN:
        return "events"
    return "systems" if place.startswith("feeds/") and place.count("/") > 1 else place


# The tests have rooms too.


def imported(file: Path) -> set[str]:
    """Full names of the modules that a file imports, and of what it takes from them."""
    place = file.relative_to(TESTS.parent if TESTS in file.parents else SOURCE.parent).with_suffix("").parts
    found = set()
    for node in nodes(file):
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


def test_twins_of_computed_tables_share_no_code_with_them() -> None:
    """What a table's columns are is all that both are told."""
    files = sorted((TESTS / "twins" / "analytics").glob("*.py"))
    assert len(files) > 10
    taken = {name for file in files for name in imported(file) if name.startswith(("pregao", "tests"))}
    assert {name for name in taken if not name.startswith("tests.twins.analytics.")} == {
        "pregao.lake.tables.catalogue.find_table"
    }


def test_plain_twins_live_with_the_twins() -> None:
    named = {str(file.relative_to(TESTS)) for file in TESTS.rglob("*.py") if is_twin(file.stem)}
    assert len(named) > 10
    assert {name for name in named if not name.startswith("twins/")} == set()


def is_twin(name: str) -> bool:
    return name.startswith(("plain_", "naive_")) or (name.endswith("_twin") and not name.startswith("test_"))
