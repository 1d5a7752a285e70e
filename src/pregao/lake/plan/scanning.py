"""Captures to their indexes: each is scanned once, and its index is kept in the lake.

An index is found by what the capture was when it was scanned (path, size, version) and by how it was scanned.
What is not wanted is not read: a file whose name says another channel, or that begins after the dates asked
for, is only looked at. Small files share a task, for a task of Spark costs more than a small scan; a huge one
is shared out to several (`ranges`).
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import uuid4

from pregao.captures.reader import CaptureReader
from pregao.captures.streams import stream_of_file_name
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.pcap.tcp import SegmentReader
from pregao.feeds.identity import UNTOLD_CHANNEL
from pregao.feeds.registry import has_sessions, load_identity
from pregao.io.captures import open_capture
from pregao.lake.errors import LakeError, named
from pregao.lake.plan.fingerprints import CODE_VERSION
from pregao.lake.plan.index import EPOCH, FileIndex, calendar_day
from pregao.lake.plan.index_arrow import FORMAT, StoredIndexError, from_bytes, to_bytes
from pregao.lake.plan.ranges import FileRange, Verdicts, WholeHash, join_ranges, parts_of, ranges_of, run_part
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.stored import Stored, look
from pregao.lake.runners import Runner, described
from pregao.lake.store.location import Location, is_remote
from pregao.model.errors import CaptureError

FOLDER: Final = "_indexes"
_GROUP_BYTES: Final = 8 << 20  # of a task
_GROUP_FILES: Final = 64
_FEWEST_GROUPS: Final = 16  # so that all cores have something to do
_LOOKED_AT: Final = 64  # packets

Progress = Callable[[int, int], None]
Scan = Callable[[str, ScanSettings], Any]  # to an index, or to whatever says why there is none


def _silent(done: int, total: int) -> None:
    return


def name_of_capture(stored: Stored) -> str:
    """In the names of its indexes: `vacuum` asks for those of captures that the lake was made from."""
    return _digest(repr(tuple(stored)))


def capture_of(name: str) -> str:
    """The part of an index's name that says of which capture it is."""
    return name.partition("-")[0]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class IndexStore:
    """The indexes that a lake has."""

    def __init__(self, location: Location, settings: ScanSettings) -> None:
        self._location = location
        chosen = settings.piece_packets, settings.scratch, settings.channels, settings.system
        self._made_by = _digest(repr((CODE_VERSION, FORMAT, *chosen)))

    def name(self, stored: Stored) -> str:
        """Of which capture it is, and how it was made."""
        return f"{name_of_capture(stored)}-{self._made_by}.arrow"

    def known(self, captures: Sequence[Stored]) -> set[Stored]:
        """Those of which there is an index. Asked for one by one: there are more with every day."""
        sizes = self._location.sizes([f"{FOLDER}/{self.name(each)}" for each in captures])
        return {each for each, size in zip(captures, sizes, strict=True) if size is not None}

    def load(self, stored: Stored) -> FileIndex | None:
        """None: it cannot be used, and is made again."""
        try:
            (found,) = from_bytes(self._location.read(FOLDER, self.name(stored)))
        except (StoredIndexError, LakeError, ValueError):
            return None
        return found if found.layout.stored == stored else None

    def save(self, index: FileIndex) -> None:
        """Whole or not at all, also when two attempts of a task do it at once: a store puts objects whole."""
        place, files, name = self._location, self._location.filesystem, self.name(index.layout.stored)
        place.make_folder(FOLDER)
        target = place.path(FOLDER, name)
        written = f"{target}.{uuid4().hex[:8]}.part" if place.is_local else target
        with named(place.full(FOLDER, name)):
            with files.open_output_stream(written) as stream:
                stream.write(to_bytes([index]))
            if written != target:
                files.move(written, target)


class WantedCaptures(NamedTuple):
    """None: all."""

    channels: frozenset[int] | None = None
    dates: frozenset[date] | None = None
    begins_before_ns: int = (1 << 63) - 1


class Scanning:
    """`scanned` captures were read, `known` were not: their indexes are in the lake."""

    def __init__(
        self, location: Location, runner: Runner, settings: ScanSettings,
        wanted: WantedCaptures | None = None, *,
        scan: Scan = scan_capture,
    ) -> None:  # fmt: skip
        self._scan, self.others = scan, list[Any]()  # what a scan gave that is no index
        self._location, self._runner, self._settings = location, runner, settings
        self._wanted = wanted or WantedCaptures()
        self._store = IndexStore(location, settings)
        self.scanned, self.known = 0, 0

    def indexes(self, files: Sequence[str], progress: Progress) -> list[FileIndex]:
        """In the order of the files, without those of which nothing is wanted."""
        given, found, new = [_look(path) for path in files], dict[str, FileIndex](), list[Stored]()
        known = self._store.known(given)
        for stored in given:
            index = self._store.load(stored) if stored in known else None
            if index is not None:
                found[stored.path] = index
            elif may_have(stored.path, self._wanted, self._settings.system):
                new.append(stored)
        self.known, self.scanned = len(found), len(new)
        for each in self._scanned(new, progress) if new else ():
            index = self._load(each) if isinstance(each, Stored) else each
            if isinstance(index, FileIndex):
                found[index.path] = index
            else:
                self.others.append(index)
        ordered = [found[path] for path in dict.fromkeys(files) if path in found]
        return [index for index in ordered if self._is_wanted(index)]

    def _scanned(self, new: list[Stored], progress: Progress) -> Iterator[Any]:
        """Ranges of huge files are tasks like any, and all run at once. What they do not settle is done after
        them: ranges again where flows turned out to be something else, or a file whole."""
        huge = {stored: count for stored in new if (count := ranges_of(stored, self._settings)) > 1}
        parts: list[FileRange | WholeHash] = [
            part for stored, count in huge.items() for part in parts_of(stored, count)
        ]
        groups = list(_groups([stored for stored in new if stored not in huge]))
        done = self._run([*parts, *groups], progress)
        for outcomes in done[len(parts) :]:
            yield from outcomes
        if huge:
            yield from self._joined(huge, dict(zip(parts, done, strict=False)))

    def _joined(self, huge: dict[Stored, int], made: dict[Any, Any]) -> Iterator[Any]:
        whole: list[Stored] = []
        for stored, count in huge.items():
            first, *rest = parts_of(stored, count)
            index = join_ranges(stored, [made[part] for part in rest], made[first], self._settings)
            if isinstance(index, Verdicts):
                again = parts_of(stored, count, index)[1:]
                index = join_ranges(stored, self._run(again, _silent), made[first], self._settings, index)
            if isinstance(index, FileIndex):
                self._store.save(index)
                yield index
            else:
                whole.append(stored)
        for outcomes in self._run([(stored.path,) for stored in whole], _silent):
            yield from outcomes

    def _load(self, stored: Stored) -> FileIndex:
        """What a task has just put there."""
        found = self._store.load(stored)
        if found is None:
            raise LakeError(f"{self._location.full(FOLDER)}: the index of {stored.path} cannot be read back")
        return found

    def _run(self, items: Sequence[Any], progress: Progress) -> list[Any]:
        task = partial(_scan_item, settings=self._settings, location=self._location, scan=self._scan)
        with described(f"scan {self.scanned} captures"):
            return self._runner.run(task, items, progress) if items else []

    def _is_wanted(self, index: FileIndex) -> bool:
        channels = self._wanted.channels
        told = {stream.channel for stream in index.streams} | {flow.channel for flow in index.left_out}
        return channels is None or not told or not told.isdisjoint(channels)


def _look(path: str) -> Stored:
    """Of one that is gone the scan says why."""
    try:
        return look(path)
    except CaptureError:
        return Stored(path, 0, "")


def _scan_item(item: Any, settings: ScanSettings, location: Location, scan: Scan) -> Any:
    if isinstance(item, FileRange | WholeHash):
        return run_part(item, settings)
    return _scan_group(item, settings, location, scan)


def _scan_group(paths: tuple[str, ...], settings: ScanSettings, location: Location, scan: Scan) -> list[Any]:
    """Indexes are stored where the driver finds them: they are not sent through Spark."""
    store, found = IndexStore(location, settings), []
    for path in paths:
        outcome = scan(path, settings)
        if isinstance(outcome, FileIndex):
            store.save(outcome)
            outcome = outcome.layout.stored
        found.append(outcome)
    return found


def _groups(files: Sequence[Stored]) -> Iterator[tuple[str, ...]]:
    """Files of a task, in their order: many small ones, or one."""
    most = min(_GROUP_BYTES, sum(file.size for file in files) // _FEWEST_GROUPS)
    most_files = min(_GROUP_FILES, -(-len(files) // _FEWEST_GROUPS))
    group: list[str] = []
    size = 0
    for file in files:
        if group and (size + file.size > most or len(group) >= most_files):
            yield tuple(group)
            group, size = [], 0
        group.append(file.path)
        size += file.size
    if group:
        yield tuple(group)


def may_have(path: str, wanted: WantedCaptures, system: str) -> bool:
    """Whether there may be something of the channels and dates in a capture, judged by its name and its
    beginning: a name is believed as long as nothing contradicts it."""
    if wanted == WantedCaptures():
        return True
    named_channel = stream_of_file_name(path).channel
    elsewhere = wanted.channels is not None and named_channel not in (None, *wanted.channels)
    if is_remote(path):
        return not elsewhere
    try:
        channels, first_ns = _beginning(path, system)
    except CaptureError:  # whoever scans it says why
        return True
    if elsewhere and channels <= {named_channel, UNTOLD_CHANNEL}:
        return False
    if first_ns is None:
        return True
    if first_ns >= wanted.begins_before_ns:
        return False
    if wanted.dates is None:
        return True
    return calendar_day(first_ns) <= (max(wanted.dates) - EPOCH).days + 1


def first_day(path: str, system: str) -> date | None:
    """The day on which a capture begins; None: not known without scanning it."""
    if is_remote(path):
        return None
    try:
        _, first_ns = _beginning(path, system)
    except CaptureError:
        return None
    return None if first_ns is None else EPOCH + timedelta(days=calendar_day(first_ns))


def _beginning(path: str, system: str) -> tuple[set[int], int | None]:
    """Channels of the first packets, and when the first was captured."""
    if has_sessions(system):
        return set(), _first_ns(path)
    identity, channels, first_ns, packets = load_identity(system), set[int](), None, 0
    with open_capture(path) as source:
        for item in CaptureReader(path).read(source, 1 << 16):
            if not isinstance(item, Datagram):
                continue
            channel = identity.channel_of(item.payload)
            channels |= set() if channel is None else {channel}
            first_ns, packets = item.ts_ns if first_ns is None else first_ns, packets + 1
            if packets >= _LOOKED_AT:
                break
    return channels, first_ns


def _first_ns(path: str) -> int | None:
    """When the first segment of a capture of sessions was captured."""
    reader = SegmentReader()
    with open_capture(path) as source:
        for _ in CaptureReader(path, reader).read(source, 1 << 16):
            if reader.segments:
                return reader.segments[0].ts_ns
    return None
