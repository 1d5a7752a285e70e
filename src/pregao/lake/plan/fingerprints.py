"""What a unit was built from: equal fingerprint, nothing to do."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pregao import __version__
from pregao.feeds.registry import DEFAULT, load_tabled_system
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import content_of
from pregao.lake.plan.stored import look
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location, is_remote
from pregao.lake.tables.table import UnitKey
from pregao.model.errors import CaptureError

SCHEMA_VERSION: Final = 7
BUILD_VERSION: Final = 7  # raised when the same captures give other rows
CODE_VERSION: Final = f"{__version__}+{BUILD_VERSION}"


class UnitInput(NamedTuple):
    """`version` only saves reading the file again; it is no part of the fingerprint."""

    path: str
    size: int
    content: str
    version: str

    @classmethod
    def of(cls, file: FileIndex) -> "UnitInput":
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


def fingerprint(inputs: Iterable[UnitInput], settings: Any = None) -> str:
    told = [[each.path, each.size, each.content] for each in sorted(inputs)]
    text = json.dumps([told, SCHEMA_VERSION, CODE_VERSION, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def unit_fingerprint(
    inputs: Iterable[UnitInput], begins: str | None, *, bars: Sequence[int], derive: bool, system: str
) -> str:
    """`begins`: digest of the books of the day before that it was built upon."""
    return fingerprint(inputs, {"bars": bars, "derive": derive, "begins": begins, "system": system})


def to_json(inputs: Iterable[UnitInput]) -> str:
    return json.dumps([each._asdict() for each in sorted(inputs)])


def from_json(text: str) -> list[UnitInput]:
    """A lake of before has no versions: its files are compared by content."""
    return [
        UnitInput(each["path"], each["size"], each["content"], each.get("version", ""))
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


# The books that a unit ends with, as the next unit of its source begins with them.
#
# B3 does not restart daily: numbers run on and orders that are good till cancelled stay (design, "Slices").


Start = tuple[int, int]  # sequenceVersion and number of the first packet of a unit


@dataclass(frozen=True, slots=True)
class CarriedBooks:
    """Whose they are, as of which packet, and in which files of `book_checkpoints`. Equal digest, equal
    books."""

    key: UnitKey
    version: int
    number: int
    sent_ns: int
    reports: int  # the greatest rptSeq of a book without doubt
    digest: str
    system: str = DEFAULT
    files: tuple[DataFile, ...] = ()

    def runs_on_to(self, start: Start) -> bool:
        """Whether what begins there goes on from here. After a gap in which any rptSeq could have come round
        again (a whole day, say) no book could be proven, so there is nothing to go on from."""
        lost = start[1] - self.number - 1
        reports = lost * load_tabled_system(self.system).policy.reports_in_a_unit
        return self.version == start[0] and lost >= 0 and reports < max(self.reports, 1)

    def to_plan(self) -> list[Any]:
        """As the column `plan` of the unit's row has it: where the files are is known to the log."""
        return [self.version, self.number, self.sent_ns, self.reports, self.digest, self.system]


def together(parts: Sequence[CarriedBooks | None]) -> CarriedBooks | None:
    """Of the shards of one slice, which share out its instruments."""
    known = [part for part in parts if part is not None]
    if len(known) < 2:
        return known[0] if known else None
    digest = hashlib.sha256(" ".join(part.digest for part in known).encode()).hexdigest()[:32]
    files = tuple(file for part in known for file in part.files)
    return replace(known[0], reports=max(part.reports for part in known), digest=digest, files=files)


def digest_of(carried: CarriedBooks | None) -> str | None:
    return None if carried is None else carried.digest


@dataclass(slots=True)
class Chain:
    """What the units of each source end with; of those that are being built it is not known yet."""

    _ends: dict[UnitKey, CarriedBooks | None] = field(default_factory=dict)
    _open: set[UnitKey] = field(default_factory=set)

    @classmethod
    def of(cls, ends: Mapping[UnitKey, CarriedBooks | None]) -> "Chain":
        return cls(dict(ends))

    def expect(self, keys: Iterable[UnitKey]) -> None:
        for key in keys:
            self._ends.setdefault(key, None)
            self._open.add(key)

    def end(self, key: UnitKey, carried: CarriedBooks | None) -> None:
        self._ends[key] = carried
        self._open.discard(key)

    def settle(self, key: UnitKey) -> None:
        """It stays as it was."""
        self._open.discard(key)

    def waits(self, key: UnitKey) -> bool:
        """Whether the end of the unit before it is still to come."""
        return self.before(key) in self._open

    def begins(self, key: UnitKey, start: Start) -> CarriedBooks | None:
        """What a unit begins with; None: nothing is known of its books."""
        before = self.before(key)
        carried = None if before is None else self._ends[before]
        return carried if carried is not None and carried.runs_on_to(start) else None

    def before(self, key: UnitKey) -> UnitKey | None:
        """The unit of the nearest earlier date of its source."""
        days = (each for each in self._ends if each.feed == key.feed and each.trade_date < key.trade_date)
        return max(days, default=None)
