"""What a unit was built from: equal fingerprint, nothing to do."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from pregao import __version__
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import hash_file
from pregao.model.errors import CaptureError

SCHEMA_VERSION: Final = 1
BUILD_VERSION: Final = 1  # raised when the same captures give other rows
CODE_VERSION: Final = f"{__version__}+{BUILD_VERSION}"


class Input(NamedTuple):
    """`modified_ns` only saves reading the file again; it is no part of the fingerprint."""

    path: str
    size: int
    content: str
    modified_ns: int

    @classmethod
    def of(cls, file: FileIndex) -> "Input":
        return cls(file.path, file.size, file.content, file.modified_ns)

    def unchanged(self) -> bool:
        """Whether the file is still what it was: its content is only read when its time is another."""
        try:
            about = Path(self.path).stat()
        except OSError:
            return False
        if about.st_size != self.size:
            return False
        return about.st_mtime_ns == self.modified_ns or hash_file(self.path) == self.content


def fingerprint(inputs: Iterable[Input], settings: Any = None) -> str:
    told = [[each.path, each.size, each.content] for each in sorted(inputs)]
    text = json.dumps([told, SCHEMA_VERSION, CODE_VERSION, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def to_json(inputs: Iterable[Input]) -> str:
    return json.dumps([each._asdict() for each in sorted(inputs)])


def from_json(text: str) -> list[Input]:
    return [Input(**each) for each in json.loads(text)]


_ENDINGS: Final = (".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz", ".pcap.zst", ".pcapng.zst")


def find_captures(paths: Iterable[str]) -> list[str]:
    """Files as given, and the captures below folders, each once and in order."""
    found: dict[str, None] = {}
    for text in paths:
        path = Path(text).absolute()
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.is_file() and file.name.endswith(_ENDINGS):
                    found[str(file)] = None
        elif path.exists():
            found[str(path)] = None
        else:
            raise CaptureError("no such file or directory", file=text)
    return list(found)
