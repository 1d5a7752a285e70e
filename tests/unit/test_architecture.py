"""The drawing of the house in docs/architecture.md is that of the imports."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pregao"
# Below everything, or of the package itself.
LEFT_OUT = {"model", "kernels", "kernel_context", "kernel_cache", "environment", "extras", "__version__"}
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
