"""What a unit was built from: equal fingerprint, nothing to do."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pregao import __version__
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import content_of
from pregao.lake.plan.stored import look
from pregao.lake.store.location import Location, is_remote
from pregao.model.errors import CaptureError

SCHEMA_VERSION: Final = 4
BUILD_VERSION: Final = 7  # raised when the same captures give other rows
CODE_VERSION: Final = f"{__version__}+{BUILD_VERSION}"


class Input(NamedTuple):
    """`version` only saves reading the file again; it is no part of the fingerprint."""

    path: str
    size: int
    content: str
    version: str

    @classmethod
    def of(cls, file: FileIndex) -> "Input":
        return cls(file.path, file.size, file.content, file.version)

    def unchanged(self) -> bool:
        """Whether the file is still what it was: its content is only read when its time is another."""
        try:
            now = look(self.path)
            if now.size != self.size:
                return False
            return now.version == self.version or content_of(now) == self.content
        except CaptureError:
            return False


def fingerprint(inputs: Iterable[Input], settings: Any = None) -> str:
    told = [[each.path, each.size, each.content] for each in sorted(inputs)]
    text = json.dumps([told, SCHEMA_VERSION, CODE_VERSION, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def unit_fingerprint(
    inputs: Iterable[Input], begins: str | None, *, bars: Sequence[int], derive: bool, system: str
) -> str:
    """`begins`: digest of the books of the day before that it was built upon."""
    return fingerprint(inputs, {"bars": bars, "derive": derive, "begins": begins, "system": system})


def to_json(inputs: Iterable[Input]) -> str:
    return json.dumps([each._asdict() for each in sorted(inputs)])


def from_json(text: str) -> list[Input]:
    """A lake of before has no versions: its files are compared by content."""
    return [
        Input(each["path"], each["size"], each["content"], each.get("version", ""))
        for each in json.loads(text)
    ]


_ENDINGS: Final = (".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz", ".pcap.zst", ".pcapng.zst")


def find_captures(paths: Iterable[str]) -> list[str]:
    """Files as given, and the captures below folders, each once and in order."""
    found: dict[str, None] = {}
    for path in paths:
        below = _below_uri(path) if is_remote(path) else _below_path(path)
        found.update(dict.fromkeys(below))
    return list(found)


def _below_path(text: str) -> list[str]:
    path = Path(Location(text).root)
    if path.is_dir():
        # A link to nowhere is told when it is read, not passed over.
        files = (str(file) for file in path.rglob("*") if file.is_file() or not file.exists())
        return sorted(file for file in files if file.endswith(_ENDINGS))
    if path.exists():
        return [str(path)]
    raise CaptureError("no such file or directory", file=text)


def _below_uri(uri: str) -> list[str]:
    """A store has no folders, only names that begin alike."""
    place = Location(uri)
    if place.size() is not None:
        return [place.uri]
    files = [file.path for file in place.files()]
    if not files:
        raise CaptureError("no such file or directory", file=uri)
    return sorted(place.full(file) for file in files if file.endswith(_ENDINGS))
