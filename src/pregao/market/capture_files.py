"""Captures by name: files, or folders of them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pregao.model.errors import CaptureError

_ENDINGS: Final = tuple(
    f".{kind}{packed}" for kind in ("pcap", "pcapng", "cap") for packed in ("", ".gz", ".zst")
)


def captures_in(paths: Iterable[str | Path]) -> list[Path]:
    """Files as they are; of a folder all captures in it, at any depth. CaptureError where there is none."""
    found = [each for path in paths for each in _captures(Path(path))]
    if not found:
        raise CaptureError("no captures are named", file="captures")
    return found


def _captures(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    inside = sorted(each for each in path.rglob("*") if each.name.lower().endswith(_ENDINGS))
    if not inside:
        raise CaptureError(f"no captures ({', '.join(_ENDINGS[::3])}) in this folder", file=str(path))
    yield from inside
