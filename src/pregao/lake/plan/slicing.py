"""A unit cut into slices: each begins with an anchor, so that all can be built at once.

A slice emits what stands from `start` up to but not including `stop`. It begins to read after `warm`, the
least place that its anchor covers, and reads a little past its end, so that an event that it has begun is
known whole.
"""

from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

import numpy as np

from pregao.feeds.registry import DEFAULT, load_tabled_system
from pregao.lake.plan.anchors import Loop
from pregao.lake.plan.captures import CaptureLayout
from pregao.lake.plan.fingerprints import CarriedBooks
from pregao.lake.plan.index import Array, FileIndex, StreamIndex
from pregao.lake.plan.marks import NONE_DELETED, Deleted, Groups
from pregao.lake.plan.scales import NO_SCALES
from pregao.lake.plan.units import LakeUnit, UnitStream
from pregao.lake.tables.table import UnitKey
from pregao.model.streams import Feed

FROM_FIRST: Final = -1
TO_LAST: Final = (1 << 62) - 1
COOL_PACKETS: Final = 512
SLICE_MESSAGES: Final = 500_000
WINDOW_PACKETS: Final = 250_000  # of a feed that are in memory at once, at 0.2 KB each
# Each shard reads everything, which takes a sixth of the time of one that does it all.
_SHARD_MESSAGES: Final = 2_000_000
_MOST_SHARDS: Final = 4
_SECOND_NS: Final = 1_000_000_000


@dataclass(slots=True)
class FilePart:
    """Pieces of a stream of a file that a slice needs."""

    layout: CaptureLayout
    flow: int
    channel: int
    first: int  # keys
    end: int
    versions: list[int]
    appearances: Array
    system: str = DEFAULT
    reached: Array | None = None  # by piece: the greatest place before it, by which a packet is late
    resumes: list[bytes] | None = None  # by piece: see `StreamIndex`


@dataclass(slots=True)
class LoopPart:
    """A snapshot loop and where its packets are: in one file, or in several that follow each other."""

    loop: Loop
    parts: list[FilePart]


@dataclass(slots=True)
class SliceWindow:
    """A part of a slice that is read at once, up to but not including a place."""

    stop: int
    feeds: dict[Feed, list[FilePart]]


@dataclass(slots=True)
class Slice:
    channel: int
    trade_date: str
    number: int
    start: int
    stop: int
    warm: int
    versions: list[int]
    feeds: dict[Feed, list[FilePart]]
    loops: list[LoopPart]
    anchor: LoopPart | None
    is_last: bool
    symbols: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    groups: Groups = field(default_factory=lambda: Groups(np.zeros(0, np.int64), np.zeros(0, np.int64)))
    deleted: Deleted = NONE_DELETED
    one_clock: bool = False
    begins: CarriedBooks | None = None  # the books of the day before
    shard: int = 0
    shards: int = 1
    system: str = DEFAULT  # for `feeds.registry`: slices go to other processes
    windows: list[SliceWindow] = field(default_factory=list)  # where it is too long to be read at once
    learned: bytes = b""  # how its channel is to be read: see `feeds.wire`
    scales: Array = field(default_factory=lambda: NO_SCALES)  # of its instruments: see `plan.scales`
    depth: int = 0  # of its books, where they are price levels; 0: they are orders
    source: str = ""  # of a session: its name
    journals: list[str] = field(default_factory=list)  # of a session: its files, in the order of their times

    @property
    def key(self) -> UnitKey:
        day = date.fromisoformat(self.trade_date)
        return UnitKey(load_tabled_system(self.system).name, day, self.source or str(self.channel))

    @property
    def is_first_shard(self) -> bool:
        """Of whom all is that is of no instrument."""
        return self.shard == 0

    def has(self, security_id: int) -> bool:
        """Whether it is for this slice to tell of an instrument."""
        return security_id % self.shards == self.shard

    @property
    def packets(self) -> int:
        """To be read, of both feeds."""
        parts = (part for parts in self.feeds.values() for part in parts)
        return sum(piece.packets for part in parts for piece in part.layout.pieces)

    def begin_with(self, carried: CarriedBooks | None) -> None:
        """The first of a unit: what the one before it ended with, as of that place."""
        assert self.start == FROM_FIRST
        if carried is not None:
            self.begins, self.warm = carried, carried.number
            self.loops = [part for part in self.loops if part.loop.last >= self.warm]


@dataclass(frozen=True, slots=True)
class SliceCut:
    start: int
    anchor: int  # number of the loop


def cut_unit(
    unit: LakeUnit,
    loops: list[Loop],
    files: list[FileIndex],
    slices: int | None = None,
    *,
    waits: bool = False,
) -> list[Slice]:
    """`slices`: how many are wanted; there are fewer where anchors are rare. `waits`: the first has to wait
    for another unit, so of several it is as short as can be."""
    return cut_between(unit, loops, files, FROM_FIRST, TO_LAST, slices=slices, waits=waits)


def share_out(whole: Slice, unit: LakeUnit, shards: int | None = None) -> list[Slice]:
    """A unit without any loop has no place at which a second slice could begin. So its instruments are shared
    out: each part reads all packets and tells of its own."""
    messages = int(piece_starts(unit)["messages"].sum())
    count = shards or min(max(1, -(-messages // _SHARD_MESSAGES)), _MOST_SHARDS)
    return [replace(whole, number=shard, shard=shard, shards=count) for shard in range(count)]


def cut_between(
    unit: LakeUnit, loops: list[Loop], files: list[FileIndex], start: int, stop: int, *,
    slices: int | None = None, first_number: int = 0, waits: bool = False,
) -> list[Slice]:  # fmt: skip
    """Slices of a part of a unit. `start` is FROM_FIRST, or a place at which a slice can begin."""
    pieces = piece_starts(unit)
    anchor = None if start == FROM_FIRST else anchor_before(pieces, loops, start)
    inside = pieces[(pieces["place"] >= start) & (pieces["place"] < stop)]
    wanted = slices or max(1, -(-int(inside["messages"].sum()) // SLICE_MESSAGES))
    candidates = [cut for cut in _candidates(pieces, loops) if start < cut.start < stop]
    cuts = _choose(inside, candidates, wanted, waits=waits)
    starts = [start, *(cut.start for cut in cuts)]
    stops = [*starts[1:], stop]
    anchors = [anchor, *(loops[cut.anchor] for cut in cuts)]
    return [
        _slice(unit, loops, files, first_number + number, start, stop, anchor)
        for number, (start, stop, anchor) in enumerate(zip(starts, stops, anchors, strict=True))
    ]


def anchor_before(pieces: Array, loops: list[Loop], place: int) -> Loop | None:
    """The newest anchor that a slice from this place on can begin with."""
    usable = [cut.anchor for cut in _candidates(pieces, loops) if cut.start <= place]
    return loops[max(usable)] if usable else None


_START = np.dtype([(name, "<i8") for name in ("place", "sent_ns", "last_ns", "messages", "packets")])


def piece_starts(unit: LakeUnit) -> Array:
    """Places at which a cut may be, of the feed with the most packets, by place."""
    feed = max(unit.feeds, key=lambda feed: sum(stream.index.packets for stream in unit.feeds[feed]))
    parts = []
    for stream in unit.feeds[feed]:
        pieces = stream.index.pieces
        pieces = pieces[: len(pieces) - stream.index.joined]  # which lie within others
        pieces = pieces[stream.inside(pieces["least"])]
        found = np.zeros(len(pieces), _START)
        found["place"], found["sent_ns"] = stream.places(pieces["least"]), pieces["first_ns"]
        for name in ("last_ns", "messages", "packets"):
            found[name] = pieces[name]
        parts.append(found)
    starts = np.concatenate(parts)
    return starts[np.argsort(starts["place"], kind="stable")]


def _candidates(pieces: Array, loops: list[Loop]) -> list[SliceCut]:
    """For each place the newest anchor before it that leaves the whole second before the cut to warm up:
    what changed in that second must be known, also by the last snapshot of the loop itself."""
    found: list[SliceCut] = []
    for loop in loops:
        if not loop.is_anchor:
            continue
        # Of the piece that the loop ends in only its end is known for certain.
        inside = int(np.searchsorted(pieces["place"], loop.last, side="right")) - 1
        warm_ns = int(pieces["last_ns"][inside]) if inside >= 0 else 0
        first = int(np.searchsorted(pieces["place"], loop.last, side="right"))
        seconds = pieces["sent_ns"][first:] // _SECOND_NS * _SECOND_NS
        usable = np.flatnonzero(seconds > warm_ns)
        if len(usable):
            found.append(SliceCut(int(pieces["place"][first + int(usable[0])]), loop.number))
    return found


def _choose(pieces: Array, candidates: list[SliceCut], wanted: int, *, waits: bool) -> list[SliceCut]:
    """The candidates nearest to equal shares; of those with the same start the newest anchor."""
    newest = {cut.start: cut for cut in candidates}
    starts = np.array(sorted(newest), np.int64)
    if not len(starts) or wanted < 2:
        return []
    done = np.cumsum(pieces["messages"]) - pieces["messages"]
    at_start = done[np.searchsorted(pieces["place"], starts)]
    chosen: set[int] = {int(starts[0])} if waits else set()
    for share in range(1, wanted):
        target = pieces["messages"].sum() * share / wanted
        best = int(starts[np.argmin(np.abs(at_start - target))])
        chosen.add(best)
    return [newest[start] for start in sorted(chosen) if start > pieces["place"][0]]


def _slice(
    unit: LakeUnit, loops: list[Loop], files: list[FileIndex], number: int, start: int, stop: int,
    anchor: Loop | None,
) -> Slice:  # fmt: skip
    warm = FROM_FIRST if anchor is None else anchor.first
    reach = stop if stop == TO_LAST else stop + COOL_PACKETS
    wanted = [
        loop
        for loop in loops
        if (anchor is None or loop.number > anchor.number) and loop.first < stop and loop.last >= warm
    ]
    feeds = {
        feed: [_part(files, stream, warm, reach) for stream in streams]
        for feed, streams in unit.feeds.items()
    }
    return Slice(
        unit.channel, unit.trade_date.isoformat(), number, start, stop, warm, unit.versions, feeds,
        [_loop_part(unit, files, loop) for loop in wanted],
        None if anchor is None else _loop_part(unit, files, anchor), stop == TO_LAST,
        one_clock=len({stream.file for streams in unit.feeds.values() for stream in streams}) == 1,
        system=unit.system, windows=_windows(unit, files, wanted, warm, reach), learned=unit.learned,
        depth=max((int(each.snapshots["depth"].max(initial=0)) for _, each in unit.snapshots), default=0),
    )  # fmt: skip


def _windows(
    unit: LakeUnit, files: list[FileIndex], loops: list[Loop], warm: int, reach: int
) -> list[SliceWindow]:
    """Of a slice that is long. Not within a loop, for what one tells stands at places all over it. None where
    one would do."""
    pieces = piece_starts(unit)
    pieces = pieces[(pieces["place"] > warm) & (pieces["place"] < reach)]
    done, cuts, before = np.cumsum(pieces["packets"]) - pieces["packets"], [], 0
    may_cut = np.ones(len(pieces), np.bool_)
    for loop in loops:
        may_cut &= (pieces["place"] < loop.first) | (pieces["place"] > loop.last + 1)
    for piece in np.flatnonzero(may_cut).tolist():
        if done[piece] - before >= WINDOW_PACKETS:
            before = int(done[piece])
            cuts.append(int(pieces["place"][piece]))
    if not cuts:
        return []
    return [
        SliceWindow(stop, {
            feed: [_part(files, stream, after, stop) for stream in streams]
            for feed, streams in unit.feeds.items()
        })
        for after, stop in zip([warm, *(cut - 1 for cut in cuts)], [*cuts, reach], strict=True)
    ]  # fmt: skip


def _part(files: list[FileIndex], stream: UnitStream, warm: int, reach: int) -> FilePart:
    pieces = stream.index.pieces
    near = (stream.places(pieces["greatest"]) > warm) & (stream.places(pieces["least"]) < reach)
    near |= stream.appearances[pieces["least"] >> 32] != stream.appearances[pieces["greatest"] >> 32]
    inside = (pieces["greatest"] >= stream.first) & (pieces["greatest"] < stream.end)
    greatest = np.maximum.accumulate(np.where(inside, stream.places(pieces["greatest"]), -1))
    return FilePart(
        _only(files[stream.file].layout, pieces["piece"][near].tolist()), stream.index.flow,
        stream.index.channel, stream.first, stream.end, stream.index.versions, stream.appearances,
        files[stream.file].system, np.append(-1, greatest[:-1])[near], _resumes(stream.index, near),
    )  # fmt: skip


def _loop_part(unit: LakeUnit, files: list[FileIndex], loop: Loop) -> LoopPart:
    """The places of a loop's packets are their numbers, in whichever file they are."""
    parts = []
    for file, stream, number in loop.parts:
        first, end = number << 32, (number + 1) << 32
        pieces = stream.pieces
        near = (pieces["greatest"] >= first) & (pieces["least"] < end)
        layout = _only(files[file].layout, pieces["piece"][near].tolist())
        same = np.zeros(len(stream.versions), np.int64)
        parts.append(
            FilePart(layout, stream.flow, stream.channel, first, end, stream.versions, same, unit.system,
                     resumes=_resumes(stream, near))
        )  # fmt: skip
    # What a slice needs of the loop itself is not in which indexes it was found.
    return LoopPart(replace(loop, parts=[]), parts)


def _resumes(stream: StreamIndex, pieces: Array) -> list[bytes] | None:
    return [stream.resumes[piece] for piece in np.flatnonzero(pieces).tolist()] if stream.resumes else None


def _only(layout: CaptureLayout, pieces: list[int]) -> CaptureLayout:
    odd = {number: layout.odd[piece] for number, piece in enumerate(pieces) if piece in layout.odd}
    return replace(layout, pieces=[layout.pieces[piece] for piece in pieces], odd=odd, damage=[])
