"""How far a unit has been streamed. It is kept in the unit's own row of the lake, so it changes with the
rows in one commit, and nothing else is needed to go on."""

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from typing import Any, Final

import numpy as np

from pregao.lake.plan.anchors import Loop
from pregao.lake.plan.fingerprints import digest_of
from pregao.lake.plan.index import NUMBER_BITS, Array, FileIndex
from pregao.lake.plan.marks import Symbols, Version
from pregao.lake.plan.slicing import COOL_PACKETS, FROM_FIRST, TO_LAST, piece_starts
from pregao.lake.plan.unit_plan import UnitPlan
from pregao.lake.plan.units import NOWHERE, UnitStream, placed_runs
from pregao.model.streams import Feed


@dataclass(slots=True)
class Segment:
    """A slice that is in the lake, or `parts` neighbouring ones that were joined. `digest` is of all that
    its rows follow from, up to its stop: so that of the last part is that of all. `size` in bytes."""

    number: int
    start: int
    stop: int
    digest: str
    size: int = 0
    parts: int = 1


@dataclass(slots=True)
class StreamState:
    """`loops` has what was found of each snapshot loop, by the segments that found it; `unnamed` the first
    segment in which an id stands without a symbol; `reached` the last place that was known; `crossed` the
    findings of books that are crossed where a segment ends, by its number: the next may go on with them."""

    segments: list[Segment] = field(default_factory=list)
    loops: dict[str, dict[int, dict[str, int]]] = field(default_factory=dict)
    unnamed: dict[int, int] = field(default_factory=dict)
    instruments: str = ""
    reached: int = FROM_FIRST
    next_number: int = 0
    derived: bool = False
    ends: list[Any] | None = None  # the books of the last segment, when finished: see `plan.fingerprints`
    crossed: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.segments[-1].stop if self.segments else FROM_FIRST

    @property
    def is_finished(self) -> bool:
        return self.end == TO_LAST

    def keep(self, count: int) -> list[Segment]:
        """Only the first segments; those that go."""
        gone, self.segments = self.segments[count:], self.segments[:count]
        numbers = {segment.number for segment in gone}
        for key, found in list(self.loops.items()):
            left = {number: counts for number, counts in found.items() if number not in numbers}
            if left:
                self.loops[key] = left
            else:
                del self.loops[key]
        self.unnamed = {each: number for each, number in self.unnamed.items() if number not in numbers}
        self.crossed = {number: told for number, told in self.crossed.items() if number not in numbers}
        return gone

    @property
    def still_crossed(self) -> list[dict[str, Any]]:
        """Findings of books that are crossed where the last segment ends."""
        return self.crossed.get(self.segments[-1].number, []) if self.segments else []

    def add(self, segment: Segment, loops: dict[str, dict[str, int]], unnamed: list[int]) -> None:
        self.segments.append(segment)
        self.next_number = segment.number + 1
        for key, counts in loops.items():
            self.loops.setdefault(key, {})[segment.number] = counts
        for security_id in unnamed:
            self.unnamed.setdefault(security_id, segment.number)

    def join(self, first: int, end: int) -> Segment:
        """The segments from one up to another become one, with all that they found."""
        gone = self.segments[first:end]
        joined = Segment(
            self.next_number, gone[0].start, gone[-1].stop, gone[-1].digest,
            sum(each.size for each in gone), sum(each.parts for each in gone),
        )  # fmt: skip
        numbers = {each.number for each in gone}
        for found in self.loops.values():
            mine = [found.pop(number) for number in numbers & found.keys()]
            if mine:
                found[joined.number] = dict(sum(map(Counter, mine), Counter[str]()))
        self.unnamed = {
            each: joined.number if number in numbers else number for each, number in self.unnamed.items()
        }
        left = [self.crossed.pop(number, []) for number in (each.number for each in gone)]
        if left[-1]:
            self.crossed[joined.number] = left[-1]
        self.segments[first:end] = [joined]
        self.next_number += 1
        return joined

    def found(self, key: str) -> Counter[str]:
        """Of a loop, by all segments."""
        total: Counter[str] = Counter()
        for counts in self.loops.get(key, {}).values():
            total.update(counts)
        return total

    def to_plan(self, loops: int) -> dict[str, Any]:
        """As the column `plan` of the unit's row has it."""
        told = {
            "segments": [list(astuple(each)) for each in self.segments],
            "loops": self.loops, "unnamed": self.unnamed, "instruments": self.instruments,
            "reached": self.reached, "next_number": self.next_number, "derived": self.derived,
            **({"crossed": self.crossed} if self.crossed else {}),
        }  # fmt: skip
        return {"slices": len(self.segments), "loops": loops, "stream": told}

    @classmethod
    def of_plan(cls, text: str | None) -> "StreamState | None":
        """None: the unit was not streamed but built."""
        plan = json.loads(text or "{}")
        told = plan.get("stream")
        if told is None:
            return None
        loops = {
            key: {int(number): counts for number, counts in found.items()}
            for key, found in told["loops"].items()
        }
        unnamed = {int(security_id): number for security_id, number in told["unnamed"].items()}
        crossed = {int(number): found for number, found in told.get("crossed", {}).items()}
        return cls(
            [Segment(*each) for each in told["segments"]], loops, unnamed, told["instruments"],
            told["reached"], told["next_number"], told["derived"], plan.get("ends"), crossed,
        )  # fmt: skip


# What the rows of a segment follow from, as a digest: equal digest, equal rows.
#
# Everything in a plan is felt from some place on: a file from its first packet, a snapshot loop from the
# first book that it tells, a sequence from its beginning. The digest of a segment is of all that is felt
# before its stop. So a file that comes late changes the digests of just those segments that it concerns.


_DIGITS = 16
Item = tuple[int, str]  # a place, and what is felt from there


def digests(planned: UnitPlan, indexes: list[FileIndex], stops: Iterable[int]) -> list[str]:
    """Of segments that end there, in the order of the stops, which must be ascending."""
    unit = planned.unit
    streams = [stream for streams in unit.feeds.values() for stream in streams]
    items = sorted(_items(planned, indexes, streams))
    one_clock = len({stream.file for stream in streams}) == 1
    upon = f"one clock: {one_clock}, begins with: {digest_of(planned.begins)}"
    running, done, found = hashlib.sha256(upon.encode()), 0, []
    for stop in stops:
        while done < len(items) and items[done][0] < stop:
            running.update(items[done][1].encode())
            done += 1
        found.append(running.hexdigest()[:_DIGITS])
    return found


def _items(planned: UnitPlan, indexes: list[FileIndex], streams: list[UnitStream]) -> Iterator[Item]:
    for feed, each in planned.unit.feeds.items():
        for stream in each:
            file, runs = indexes[stream.file], placed_runs(stream)
            told = f"|{feed.name} {file.path} {file.content} {stream.index.flow}"
            yield int(runs["first"].min()), f"{told} begins"
            yield int(runs["last"].max()) + 1, f"{told} ends"
    for number, version in enumerate(planned.unit.versions):
        yield number << NUMBER_BITS, f"|sequence {version}"
    for loop in planned.loops:
        place = felt_from(loop)
        if place != NOWHERE:
            yield place, _told(loop, indexes)


def felt_from(loop: Loop) -> int:
    """The first place at which a loop tells anything; NOWHERE: it tells nothing of this unit."""
    placed = loop.places[loop.places != NOWHERE]
    if not len(placed):
        return NOWHERE
    return min(int(placed.min()), loop.begun) if loop.is_anchor else int(placed.min())


def _told(loop: Loop, indexes: list[FileIndex]) -> str:
    contents = " ".join(indexes[part.file].content for part in loop.parts)
    saved = b"" if loop.saved is None else loop.saved.tobytes()
    figures = zlib.crc32(saved, zlib.crc32(loop.rpt_seqs.tobytes(), zlib.crc32(loop.places.tobytes())))
    begun = loop.begun if loop.is_anchor else NOWHERE
    return f"|loop {loop.number} {loop_key(loop, indexes)} {contents} {loop.complete} {begun} {figures}"


def loop_key(loop: Loop, indexes: list[FileIndex]) -> str:
    """The same loop in every plan: by the file in which it begins."""
    first = loop.parts[0]
    return f"{zlib.crc32(indexes[first.file].path.encode()):08x}:{first.loop}"


def instruments_digest(versions: Iterable[Version]) -> str:
    running = hashlib.sha256()
    for each in versions:
        running.update(repr((each.instrument, each.from_ns, each.to_ns, each.place, each.index)).encode())
    return running.hexdigest()[:_DIGITS]


def is_renamed(before: Symbols, now: Symbols, until_ns: int) -> bool:
    """Whether an id that had a name has, up to a time, had another one."""
    return any(_up_to(told, until_ns) != _up_to(now.get(each, []), until_ns) for each, told in before.items())


def _up_to(told: list[tuple[int, str]], until_ns: int) -> list[tuple[int, str]]:
    """The first symbol holds from the beginning."""
    return [(0, symbol) for _, symbol in told[:1]] + [each for each in told[1:] if each[0] <= until_ns]


# How far a unit can be built for good: to the place that all streams have passed.
#
# A row must not change because of what is only late. So the stream waits until both feeds have told a place,
# and the snapshot stream too, for it heals books; but for a stream that is silent no longer than `wait_ns` of
# recorded time. Behind the last row there must be room for an event that it belongs to.


_EVENT_NS: Final = 1_000_000_000  # no event is sent for so long
_FEEDS: Final = (Feed.A, Feed.B)


def horizon(planned: UnitPlan, wait_ns: int) -> int:
    """The place up to which (exclusive) everything is known; FROM_FIRST: nothing yet."""
    unit = planned.unit
    pieces = piece_starts(unit)
    waited = _last_place(pieces[pieces["sent_ns"] <= unit.last_ns - wait_ns])
    heard = [int(unit.runs[feed]["last"].max()) for feed in _FEEDS if feed in unit.runs]
    passed = min(max(place, waited) for place in [*heard, *[FROM_FIRST] * (len(_FEEDS) - len(heard))])
    healed = max([waited, *(loop.last for loop in planned.loops)])
    known = pieces[pieces["place"] <= min(passed, healed)]
    if not len(known):
        return FROM_FIRST
    roomy = known["place"] + COOL_PACKETS <= known["place"].max()
    roomy |= known["sent_ns"] + _EVENT_NS <= known["sent_ns"].max()
    return _last_place(known[roomy & (known["place"] <= _settled(planned, passed, wait_ns))])


def _settled(planned: UnitPlan, passed: int, wait_ns: int) -> int:
    """Before the first loop of which it is not known yet whether it can be trusted: packets that were
    lost while it was sent may still come, and so may its end, in the next file."""
    waits_ns = planned.unit.last_ns - wait_ns
    open_loops = [
        felt_from(loop)
        for loop in planned.loops
        if loop.last > passed or (loop.is_open and loop.ended_ns > waits_ns)
    ]
    return min([place for place in open_loops if place != NOWHERE], default=passed)


def _last_place(pieces: Array) -> int:
    return int(np.max(pieces["place"])) if len(pieces) else FROM_FIRST
