"""A unit with all that planning finds of it, and the tables that need no slice."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pregao.feeds.registry import load_tabled_system
from pregao.io.clock import WallClock
from pregao.lake.plan.anchors import Loop, find_loops
from pregao.lake.plan.fingerprints import (
    CODE_VERSION,
    SCHEMA_VERSION,
    CarriedBooks,
    Start,
    UnitInput,
    digest_of,
    to_json,
)
from pregao.lake.plan.index import (
    MOST_UNKNOWN,
    NUMBER_BITS,
    NUMBER_MASK,
    OTHERS,
    Array,
    FileIndex,
    StreamIndex,
    UnknownSeen,
)
from pregao.lake.plan.marks import (
    NONE_DELETED,
    Deleted,
    Groups,
    Symbols,
    Version,
    assemble,
    deleted,
    groups,
    symbols,
    versions,
)
from pregao.lake.plan.scales import NO_SCALES, scales
from pregao.lake.plan.slicing import FROM_FIRST, TO_LAST, Slice
from pregao.lake.plan.units import LakeUnit
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.location import Location
from pregao.lake.tables.instruments import INSTRUMENTS
from pregao.lake.tables.messages import NEWS
from pregao.lake.tables.table import Table, UnitKey
from pregao.lake.tables.types import FEEDS
from pregao.lake.tasks.plan_tables import InputFinding, instruments_table, news_table, timed
from pregao.model.streams import Feed, Stream

PLAN: str = "plan"  # label of files of the plan


@dataclass(slots=True)
class UnitPlan:
    unit: LakeUnit
    loops: list[Loop]
    versions: list[Version]
    symbols: Symbols
    groups: Groups
    inputs: list[UnitInput]
    damage: list[InputFinding]
    scales: Array = field(default_factory=lambda: NO_SCALES)
    deleted: Deleted = NONE_DELETED
    begins: CarriedBooks | None = None  # the books of the day before

    @classmethod
    def of(cls, unit: LakeUnit, indexes: list[FileIndex]) -> "UnitPlan":
        told, files = versions(unit.definitions), sorted(unit.files)
        damage = [
            InputFinding("DAMAGED_INPUT", "ERROR", f"{indexes[number].path}: {what}")
            for number in files
            for what in indexes[number].layout.damage
        ]
        damage += [
            InputFinding("UNKNOWN_STREAM", "WARNING", f"{index.path}: {flow.reason}")
            for index in indexes
            for flow in index.left_out
            if flow.channel == unit.channel
        ]
        damage += [InputFinding("OTHER", "WARNING", each) for each in unit.left_out]
        damage += [
            InputFinding("OTHER", "WARNING", f"A and B end; feed C goes on as sequence {unit.versions[each]}")
            for each in unit.taken_over
        ]
        damage += [
            InputFinding("OTHER", "WARNING", f"A and B are back as sequence {unit.versions[each + 1]}")
            for each in unit.taken_over
            if each + 1 < len(unit.versions) and each + 1 not in unit.taken_over
        ]
        damage += unknown_findings(unit, indexes) + _joined_findings(unit)
        inputs = [UnitInput.of(indexes[number]) for number in files]
        loops, scaled = find_loops(unit), scales(told, load_tabled_system(unit.system))
        gone = deleted(unit.definitions, unit.marks)
        return cls(unit, loops, told, symbols(told), groups(told), inputs, damage, scaled, gone)

    @property
    def key(self) -> UnitKey:
        return self.unit.key

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What slices share, beside symbols and loops."""
        return (*self.groups, self.scales, *self.deleted)

    def equip(self, slices: Iterable[Slice]) -> None:
        """With what all slices of the unit share, and the first of them with the books of the day before."""
        for slice_ in slices:
            slice_.symbols, slice_.groups = self.symbols, self.groups
            slice_.scales, slice_.deleted = self.scales, self.deleted
            if slice_.start == FROM_FIRST:
                slice_.begin_with(self.begins)

    @property
    def start(self) -> Start:
        return start_of(self.unit)

    @property
    def partition(self) -> dict[str, str]:
        return self.key.partition

    def write(self, location: Location, tables: Iterable[tuple[Table, Any]], label: str) -> list[DataFile]:
        """Files of those tables that have rows."""
        return [
            write_file(location, table, self.partition, rows, label=label)
            for table, rows in tables
            if rows.num_rows
        ]

    def instruments(self, build_id: str) -> tuple[Table, Any]:
        return INSTRUMENTS, instruments_table(self.unit, self.versions, build_id, exact=len(self.scales) > 0)

    def news(self, build_id: str, until: int = TO_LAST) -> tuple[Table, Any]:
        told = assemble(self.unit.channel, self.unit.news, self.unit.system)
        before = [news for news in told if news.place < until]
        return NEWS, news_table(self.unit, before, self.symbols, build_id)

    def unit_row(
        self, fingerprint: str, plan: dict[str, Any], ends: CarriedBooks | None, build_id: str
    ) -> dict[str, Any]:
        told = {
            **plan, "start": list(self.start), "begins": digest_of(self.begins),
            "ends": None if ends is None else ends.to_plan(),
        }  # fmt: skip
        return {
            "partition": self.partition, "channel": self.key.channel, "fingerprint": fingerprint,
            "inputs": to_json(self.inputs), "plan": json.dumps(told), "schema_version": SCHEMA_VERSION,
            "code_version": CODE_VERSION, "build_id": build_id, "built_ns": WallClock().now_ns(),
        }  # fmt: skip


def start_of(unit: LakeUnit) -> Start:
    """Its first packet."""
    first = int(unit.all_runs["first"].min())
    return unit.versions[first >> NUMBER_BITS], first & NUMBER_MASK


# What the system of a unit has no word for


_STREAMS: Final = {Stream.DEFINITION: "INSTRUMENTS"}  # where tables have another word


class _Sighting(NamedTuple):
    """Of a template or value that is unknown, in one file."""

    path: str
    stream: StreamIndex
    seen: UnknownSeen


def unknown_findings(unit: LakeUnit, files: Sequence[FileIndex]) -> list[InputFinding]:
    """A finding for each template and value of a stream: as often as the feed had it that had it most, for
    both feeds tell the same. It says where it came first."""
    found: dict[tuple[Any, ...], dict[Feed, list[_Sighting]]] = {}
    for number in sorted(unit.files):
        for stream in files[number].streams:
            for seen in stream.unknown if stream.channel == unit.channel else ():
                if _is_of(unit, number, stream, seen):
                    feeds = found.setdefault((stream.stream, seen.field, seen.value), {})
                    sighting = _Sighting(files[number].path, stream, seen)
                    feeds.setdefault(stream.feed, []).append(sighting)
    return [_unknown_finding(max(feeds.values(), key=_total)) for feeds in found.values()]


def _joined_findings(unit: LakeUnit) -> list[InputFinding]:
    """Units that no feed has whole: see `plan.parts`."""
    each = [stream for streams in unit.feeds.values() for stream in streams if stream.index.joined]
    joined = sum(int(one.inside(one.index.pieces["least"][-one.index.joined :]).sum()) for one in each)
    detail = f"{joined} messages were put together from parts that captures had each"
    return [InputFinding("OTHER", "INFO", detail, {"count": joined})] if joined else []


def _total(sightings: list[_Sighting]) -> int:
    return sum(each.seen.times for each in sightings)


def _is_of(unit: LakeUnit, file: int, stream: StreamIndex, seen: UnknownSeen) -> bool:
    """A capture may be of several trade dates."""
    if stream.stream is not Stream.INCREMENTAL:
        return unit.since_ns <= seen.sent_ns < unit.until_ns
    mine = (each for streams in unit.feeds.values() for each in streams if each.file == file)
    return any(each.index is stream and each.first <= seen.key < each.end for each in mine)


def _unknown_finding(sightings: list[_Sighting]) -> InputFinding:
    path, stream, seen = min(sightings, key=lambda each: each.seen.sent_ns)
    version, number = stream.versions[seen.key >> NUMBER_BITS], seen.key & NUMBER_MASK
    where = f"{path}: channel {stream.channel}, packet {number}, message {seen.message}"
    more = {
        "stream": _STREAMS.get(stream.stream, stream.stream.name), "count": _total(sightings),
        "feed": stream.feed.name if stream.feed.name in FEEDS else None, "found": str(seen.value),
        "first_seq_num": number, "ts_from": seen.sent_ns, "seq_version": version, "seq_num": number,
        "msg_index": seen.message, "entry": 0, **timed(seen.sent_ns),
    }  # fmt: skip
    if seen.field == OTHERS:
        detail = f"{where}: the first of the rest, for {MOST_UNKNOWN} different ones are told"
        return InputFinding("UNKNOWN_VALUE", "WARNING", detail, more | {"found": None})
    if not seen.field:
        return InputFinding("UNKNOWN_TEMPLATE", "WARNING", f"{where}: template {seen.value}", more)
    return InputFinding("UNKNOWN_VALUE", "WARNING", f"{where}: {seen.field} {seen.value}", more)
