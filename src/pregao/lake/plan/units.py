"""Units (system × source × trade date) of a set of captures, with all that planning needs to know of them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from typing import Final

import numpy as np

from pregao.captures.glance import FlowFacts, name_feeds
from pregao.feeds.registry import DEFAULT, has_sessions, load_system, load_tabled_system
from pregao.lake.plan.index import (
    MARK,
    NUMBER_BITS,
    NUMBER_MASK,
    RUN,
    Array,
    DateRange,
    Defined,
    FileIndex,
    NewsMessage,
    StreamIndex,
    Timeline,
    as_date,
    date_ranges,
)
from pregao.lake.plan.presence import union
from pregao.lake.tables.table import UnitKey
from pregao.model.streams import Destination, Feed, Stream

NOWHERE: Final = -1
_FIRST_EPOCH: Final = 1


@dataclass(slots=True)
class UnitStream:
    """A stream of a file, as far as it is of this unit. `places` has the appearance of each of its
    sequenceVersions in the unit."""

    file: int
    index: StreamIndex
    first: int
    end: int
    appearances: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def places(self, keys: Array) -> Array:
        """Where packets of these keys stand in the unit's stream."""
        placed: Array = (self.appearances[keys >> NUMBER_BITS] << NUMBER_BITS) | (keys & NUMBER_MASK)
        return placed

    def inside(self, keys: Array) -> Array:
        chosen: Array = (keys >= self.first) & (keys < self.end)
        return chosen


@dataclass(slots=True)
class LakeUnit:
    channel: int
    trade_date: date
    feeds: dict[Feed, list[UnitStream]] = field(default_factory=dict)
    versions: list[int] = field(default_factory=list)  # sequenceVersions in order of appearance
    version_ns: list[int] = field(default_factory=list)
    runs: dict[Feed, Array] = field(default_factory=dict)  # presence on each feed, by place
    snapshots: list[tuple[int, StreamIndex]] = field(default_factory=list)  # file, stream
    definitions: list[Defined] = field(default_factory=list)
    news: list[tuple[int, NewsMessage]] = field(default_factory=list)  # place
    marks: Array = field(default_factory=lambda: np.zeros(0, MARK))  # keys are places
    files: set[int] = field(default_factory=set)  # all that feed it
    since_ns: int = 0  # recovery streams from here to there are of this unit
    until_ns: int = (1 << 63) - 1
    system: str = DEFAULT
    # Appearances that are of the contingency site, which numbers by itself: see `contingency`.
    taken_over: list[int] = field(default_factory=list)
    taken_spans: list[tuple[int, int]] = field(default_factory=list)  # when: the last of A and B, the next
    left_out: list[str] = field(default_factory=list)  # for people: what of its captures nothing was made of
    learned: bytes = b""  # how its channel is to be read: see `feeds.wire`
    source: str = ""  # of a session: its name
    journals: list[int] = field(default_factory=list)  # of a session: its files, in the order of their times

    @property
    def key(self) -> UnitKey:
        source = self.source or str(self.channel)
        return UnitKey(load_tabled_system(self.system).name, self.trade_date, source)

    @property
    def first_ns(self) -> int:
        return min(int(runs["first_ns"].min()) for runs in self.runs.values() if len(runs))

    @property
    def last_ns(self) -> int:
        return max(int(runs["last_ns"].max()) for runs in self.runs.values() if len(runs))

    @property
    def all_runs(self) -> Array:
        return union(list(self.runs.values()))


def find_units(files: Sequence[FileIndex]) -> list[LakeUnit]:
    """In order of source and date. All files are of one system: it is that of the build."""
    from pregao.lake.plan.contingency import go_on_with_contingency  # these stand on this module
    from pregao.lake.plan.parts import join_parts
    from pregao.lake.plan.sessions import find_session_units

    if files and has_sessions(files[0].system):
        return find_session_units(files)
    streams = [(number, stream) for number, file in enumerate(files) for stream in file.streams]
    _name_feeds(streams)
    units: list[LakeUnit] = []
    for channel in sorted({stream.channel for _, stream in streams}):
        mine = [(number, stream) for number, stream in streams if stream.channel == channel]
        system = files[mine[0][0]].system
        if load_system(system).policy.epochs_by_time:
            for kind in (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT):
                same = [each for each in mine if each[1].stream is kind]
                number_epochs([stream for _, stream in same])
                join_parts(same, files, system)
        found = _incremental_units(channel, mine, system)
        for unit in found:
            go_on_with_contingency(unit, mine, files)
        _share_times(found)
        for unit in found:
            _add_recovery(unit, mine)
            unit.learned = _learned(unit, mine)
        units += found
    return units


def number_epochs(streams: Sequence[StreamIndex]) -> None:
    """Sequences that no packet names are counted by each file for itself. Here they get the same numbers in
    all files: each begins after the last packet of the one before it and not after its own first one, as any
    file has heard them, and beginnings of different files that may be the same are."""
    spans = sorted(
        (first_ns, -since_ns, number, file)
        for file, stream in enumerate(streams)
        for number, (first_ns, since_ns) in enumerate(_beginnings(stream))
    )
    begun: list[int] = []
    numbers: list[list[int]] = [[] for _ in streams]  # which beginnings each file has
    for first_ns, minus_since_ns, _, file in spans:
        newest = len(begun) - 1
        if not begun or -minus_since_ns > begun[-1] or newest in numbers[file]:
            begun.append(first_ns)
        numbers[file].append(len(begun) - 1)
    for stream, mine in zip(streams, numbers, strict=True):
        first = bisect_right(begun, stream.version_ns[0]) if stream.version_ns else 0
        first = min([first, *mine[:1]])
        stream.epochs = [_FIRST_EPOCH + first, *(_FIRST_EPOCH + 1 + each for each in mine)]


def _beginnings(stream: StreamIndex) -> Iterator[tuple[int, int]]:
    """Of each sequence but the first of a file: when its first packet was sent, and the last of the one
    before it."""
    runs = stream.runs
    for number in range(1, len(stream.versions)):
        before = runs["last_ns"][runs["first"] >> NUMBER_BITS == number - 1]
        since_ns = int(before.max()) if len(before) else stream.version_ns[number - 1]
        yield stream.version_ns[number], min(since_ns, stream.version_ns[number])


def _name_feeds(streams: Iterable[tuple[int, StreamIndex]]) -> None:
    """Feeds that neither configuration nor names tell."""
    indexes = [stream for _, stream in streams]
    facts = [
        FlowFacts(
            stream.channel, Destination.of_flow(stream.flow),
            versions=set(stream.versions), units=stream.packets, stream=stream.stream, feed=stream.feed,
        )
        for stream in indexes
    ]  # fmt: skip
    name_feeds(facts)
    for stream, flow in zip(indexes, facts, strict=True):
        stream.feed = flow.feed


def _incremental_units(channel: int, streams: list[tuple[int, StreamIndex]], system: str) -> list[LakeUnit]:
    timeline = Timeline(stream for _, stream in streams)
    units: dict[int, LakeUnit] = {}
    incremental = [each for each in streams if each[1].stream is Stream.INCREMENTAL]
    # The contingency site numbers its packets by itself: another stream, not a third copy. Where nothing else
    # is there, it is the day.
    primary = [each for each in incremental if each[1].feed is not Feed.C]
    for number, stream in primary or incremental:
        for first, end, trade_date in date_ranges(stream, timeline):
            if not has_packets(stream, DateRange(first, end, trade_date)):
                continue
            unit = units.setdefault(trade_date, LakeUnit(channel, as_date(trade_date), system=system))
            feed = stream.feed if primary else Feed.A
            unit.feeds.setdefault(feed, []).append(UnitStream(number, stream, first, end))
            unit.files.add(number)
            if not primary and not unit.left_out:
                unit.left_out.append("only feed C is there: its times of receiving stand in the place of A's")
    found = [units[trade_date] for trade_date in sorted(units)]
    for unit in found:
        _place(unit)
    return found


def has_packets(stream: StreamIndex, dates: DateRange) -> bool:
    return bool(((stream.runs["last"] >= dates.first) & (stream.runs["first"] < dates.end)).any())


def _place(unit: LakeUnit) -> None:
    """Sequence versions in order of appearance over all files."""
    began: dict[int, int] = {}
    each = [stream for streams in unit.feeds.values() for stream in streams]
    for stream in each:
        used = np.unique(stream.index.runs["first"][_used(stream)] >> NUMBER_BITS)
        for local in used.tolist():
            version, sent_ns = stream.index.counted_versions[local], stream.index.version_ns[local]
            began[version] = min(sent_ns, began.get(version, sent_ns))
    unit.versions = sorted(began, key=lambda version: (began[version], version))
    unit.version_ns = [began[version] for version in unit.versions]
    appearance = {version: number for number, version in enumerate(unit.versions)}
    for stream in each:
        stream.appearances = np.array(
            [appearance.get(version, 0) for version in stream.index.counted_versions], np.int64
        )
    settle(unit)


def settle(unit: LakeUnit) -> None:
    """Everything by place, once it is known which sequence of which file appears where."""
    each = [stream for streams in unit.feeds.values() for stream in streams]
    for feed, streams in unit.feeds.items():
        unit.runs[feed] = union([placed_runs(stream) for stream in streams])
    unit.marks = marks_of(each)
    unit.news = news_of(each)
    unit.definitions = definitions_of(each)


def definitions_of(each: list[UnitStream]) -> list[Defined]:
    """Of the incremental stream; the same file on another feed says the same."""
    return [
        Defined(told.instrument, told.action, told.sent_ns, int(stream.places(np.array([told.key]))[0]),
                told.index)
        for stream in each[:1] + [one for one in each[1:] if one.file != each[0].file]
        for told in stream.index.definitions
        if stream.first <= told.key < stream.end
    ]  # fmt: skip


def _used(stream: UnitStream) -> Array:
    runs = stream.index.runs
    used: Array = (runs["last"] >= stream.first) & (runs["first"] < stream.end)
    return used


def placed_runs(stream: UnitStream) -> Array:
    runs = stream.index.runs[_used(stream)].copy()
    runs["first"] = np.maximum(runs["first"], stream.first)
    runs["last"] = np.minimum(runs["last"], stream.end - 1)
    placed = np.zeros(len(runs), RUN)
    placed["first"], placed["last"] = stream.places(runs["first"]), stream.places(runs["last"])
    placed["first_ns"], placed["last_ns"] = runs["first_ns"], runs["last_ns"]
    return placed


def marks_of(streams: Iterable[UnitStream]) -> Array:
    """Each message once, though both feeds have it."""
    parts = []
    for stream in streams:
        mine = stream.index.marks[stream.inside(stream.index.marks["key"])].copy()
        mine["key"] = stream.places(mine["key"])
        parts.append(mine)
    marks = np.concatenate(parts) if parts else np.zeros(0, MARK)
    _, firsts = np.unique(np.stack((marks["key"], marks["index"])), axis=1, return_index=True)
    return marks[firsts]


def news_of(streams: Iterable[UnitStream]) -> list[tuple[int, NewsMessage]]:
    """Each part once, with the times at which each feed had it first."""
    found: dict[tuple[int, int], NewsMessage] = {}
    for stream in streams:
        for part in stream.index.news:
            if stream.first <= part.key < stream.end:
                place = int(stream.places(np.array([part.key]))[0])
                kept = found.setdefault((place, part.index), replace(part, received={}))
                kept.received.setdefault(stream.index.feed, part.received_ns)
    return [(place, part) for (place, _), part in sorted(found.items(), key=lambda item: item[0])]


def _learned(unit: LakeUnit, streams: Iterable[tuple[int, StreamIndex]]) -> bytes:
    """What a stream of the unit's files says of how its channel is to be read: snapshots know best, then
    lists of instruments."""
    order = (Stream.SNAPSHOT, Stream.DEFINITION, Stream.INCREMENTAL)
    told = [(order.index(stream.stream), number, stream.learned) for number, stream in streams
            if stream.learned and number in unit.files]  # fmt: skip
    return min(told)[2] if told else b""


def _share_times(units: list[LakeUnit]) -> None:
    """What recovery streams say between two days belongs to the nearer one."""
    for before, after in pairwise(units):
        middle = before.last_ns + (after.first_ns - before.last_ns) // 2
        before.until_ns = after.since_ns = middle


def _add_recovery(unit: LakeUnit, streams: Iterable[tuple[int, StreamIndex]]) -> None:
    for number, stream in streams:
        wanted = stream.feed is not Feed.C or unit.taken_over or unit.left_out
        if not wanted or stream.stream is Stream.INCREMENTAL or not len(stream.pieces):
            continue
        first_ns, last_ns = int(stream.pieces["first_ns"].min()), int(stream.pieces["last_ns"].max())
        if last_ns < unit.since_ns or first_ns >= unit.until_ns:
            continue
        unit.files.add(number)
        if stream.stream is Stream.SNAPSHOT:
            unit.snapshots.append((number, stream))
        else:
            unit.definitions += [
                told for told in stream.definitions if unit.since_ns <= told.sent_ns < unit.until_ns
            ]
