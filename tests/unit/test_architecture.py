"""The drawing of the house in docs/architecture.md is that of the imports."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pregao"
# Below everything, or of the package itself.
LEFT_OUT = {"model", "kernels", "kernel_cache", "extras", "__version__"}
ROOMS = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}


def imported_rooms(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "pregao":
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pregao."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {name.name.split(".")[1] for name in node.names if name.name.startswith("pregao.")}
    return found & ROOMS


def test_what_is_drawn_is_what_is_imported() -> None:
    drawing = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```mermaid")[1]
    drawn = set(re.findall(r"^    (\w+) --> (\w+)$", drawing, re.MULTILINE))
    imported = {
        (room, other)
        for room in ROOMS - LEFT_OUT - {"services"}  # old paths, for one version
        for file in (SOURCE / room).rglob("*.py")
        for other in imported_rooms(file) - {room} - LEFT_OUT
    }
    assert len(imported) > 30
    assert drawn == imported


def test_every_room_has_its_line() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == ROOMS - {"services"}


def imports_of(room: str) -> set[str]:
    """Modules of ours that a room or a package in it (`lake.plan`) imports, by their full names."""
    found = set()
    for file in (SOURCE / room.replace(".", "/")).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pregao"):
                found |= {f"{node.module}.{each.name}.".removeprefix("pregao.") for each in node.names}
    return found


def test_the_ways_of_a_packet_go_through_rooms_that_know_each_other() -> None:
    """Of two that follow each other one imports the other, or a third of the same drawing drives both."""
    for drawing in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```mermaid")[2:]:
        room_of = dict(re.findall(r"(\w+)\[([\w.]+):", drawing.split("```")[0]))
        ways = re.findall(r"^    (\w+)(?:\[.*?\])? --> (\w+)", drawing.split("```")[0], re.MULTILINE)
        rooms = set(room_of.values())
        taken = {room: imports_of(room) for room in rooms}
        knows = {
            (room, other)
            for room in rooms
            for other in rooms
            if room == other or any(name.startswith(f"{other}.") for name in taken[room])
        }
        assert len(ways) >= 6
        for start, end in ways:
            one, other = room_of[start], room_of[end]
            driven = any({(room, one), (room, other)} <= knows for room in rooms)
            assert driven or (one, other) in knows or (other, one) in knows, (one, other)
