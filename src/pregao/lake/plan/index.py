"""What a scan leaves of a capture file: small enough to be sent to whoever plans, enough to find anything.

Keys are places as the file itself counts them: `version << 32 | sequenceNumber`, where `version` is the
number of the sequenceVersion among those of its stream in this file, in order of appearance.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.feeds.port import UnitPart, UnknownContent
from pregao.feeds.registry import DEFAULT
from pregao.lake.plan.captures import CaptureLayout
from pregao.model.instruments import Instrument
from pregao.model.local_time import local_day
from pregao.model.market import DefinitionAction
from pregao.model.rows import Kind
from pregao.model.streams import Feed, Stream
from pregao.recovery import policy as sequence

Array = np.ndarray[Any, np.dtype[Any]]

NUMBER_BITS: Final = sequence.NUMBER_BITS
NUMBER_MASK: Final = sequence.NUMBER_MASK
MOST_UNKNOWN: Final = 100  # templates and values of a stream of a file that are told one by one
OTHERS: Final = "others"  # in the place of a field: all that are not

PIECE = np.dtype(
    [
        ("piece", "<i8"), ("packets", "<i8"), ("messages", "<i8"), ("least", "<i8"), ("greatest", "<i8"),
        ("first_ns", "<i8"), ("last_ns", "<i8"),
    ]
)  # fmt: skip
# Numbers that are all there, from the first to the last, with when both were sent.
RUN = np.dtype([("first", "<i8"), ("last", "<i8"), ("first_ns", "<i8"), ("last_ns", "<i8")])
# A message that concerns the whole plan.
MARK = np.dtype(
    [("kind", "<i8"), ("key", "<i8"), ("index", "<i8"), ("sent_ns", "<i8"), ("security_id", "<i8"),
     ("trade_date", "<i8")]
)  # fmt: skip
SNAPSHOT = np.dtype(
    [
        ("loop", "<i8"),  # version of the snapshot stream
        ("security_id", "<i8"),
        ("number", "<i8"),  # lastMsgSeqNumProcessed
        ("version", "<i8"),  # lastSequenceVersion; -1: the wire has none
        ("rpt_seq", "<i8"),
        # Entries that its header promises, and those that came after it in this file.
        ("promised_bids", "<i8"), ("promised_offers", "<i8"), ("promised_statistics", "<i8"),
        ("bids", "<i8"), ("offers", "<i8"), ("statistics", "<i8"),
        ("foreign", "<i8"),  # entries of another instrument
        ("in_first", "?"),  # in the first packet of its loop
        ("sent_ns", "<i8"),  # where the wire has no version; 0: not told
        ("depth", "<i8"),  # of a book of price levels; 0: of orders, all of it
        ("unit", "<i8"),  # number of the packet that has its header, in the loop
    ]
)  # fmt: skip
# A loop as far as it is in this file. `ends` is the number of the packet that ends it, 0: it is not here;
# `listed` is how many snapshots it has in all, as the last header says. What comes before the first header of
# the file belongs to a snapshot that another file begins: of `lead_id`, NULL: of several, or none.
LOOP = np.dtype(
    [
        ("loop", "<i8"), ("sent_ns", "<i8"), ("ended_ns", "<i8"), ("least", "<i8"), ("greatest", "<i8"),
        ("ends", "<i8"), ("listed", "<i8"), ("lead_id", "<i8"), ("lead_bids", "<i8"), ("lead_offers", "<i8"),
        ("lead_statistics", "<i8"),
    ]
)  # fmt: skip


def renumbered(keys: Array, versions: Array) -> Array:
    """Keys whose versions are counted otherwise: `versions` has the new number of each."""
    found: Array = (versions[keys >> NUMBER_BITS] << NUMBER_BITS) | (keys & NUMBER_MASK)
    return found


def renumbered_key(key: int, versions: Array) -> int:
    """The same of one; below zero it is none."""
    return key if key < 0 else int(versions[key >> NUMBER_BITS]) << NUMBER_BITS | key & NUMBER_MASK


@dataclass(slots=True)
class Defined:
    """A definition as it was told: again and again in loops, or once on the incremental stream."""

    instrument: Instrument
    action: DefinitionAction
    sent_ns: int
    key: int  # of the incremental stream; -1: of the definition stream
    index: int = 0


@dataclass(slots=True)
class NewsMessage:
    """A part of a news, as bytes of its message, and when its capture had it. `received` by feed: what all
    captures of a unit say."""

    key: int
    index: int
    sent_ns: int
    message: bytes
    received_ns: int = 0
    received: dict[Feed, int] = field(default_factory=dict)


class UnknownSeen(NamedTuple):
    """A template or a value that the system does not know (`feeds.port.UnknownContent`), in all of a stream;
    `key`, `message` and `sent_ns` are where and when it was first."""

    field: str
    value: int
    times: int
    key: int
    message: int
    sent_ns: int


def count_unknown(
    seen: dict[tuple[str, int], UnknownSeen], met: list[UnknownContent], keys: Array, sent: Array
) -> None:
    for each in met:
        place = int(keys[each.unit]), each.message, int(sent[each.unit])
        add_unknown(seen, UnknownSeen(each.field, each.value, each.times, *place))


def add_unknown(seen: dict[tuple[str, int], UnknownSeen], met: UnknownSeen) -> None:
    """MOST_UNKNOWN by themselves, all others as one."""
    what = met.field, met.value
    if what not in seen and len(seen) >= MOST_UNKNOWN:
        what = OTHERS, 0
    known = seen.get(what)
    if known is None:
        seen[what] = met._replace(field=what[0], value=what[1])
    else:
        seen[what] = known._replace(times=known.times + met.times)


@dataclass(slots=True)
class StreamIndex:
    """One stream of one channel in one file."""

    channel: int
    stream: Stream
    feed: Feed
    flow: int
    versions: list[int] = field(default_factory=list)  # sequenceVersions in order of appearance
    version_ns: list[int] = field(default_factory=list)  # when the first packet of each was sent
    pieces: Array = field(default_factory=lambda: np.zeros(0, PIECE))
    runs: Array = field(default_factory=lambda: np.zeros(0, RUN))
    marks: Array = field(default_factory=lambda: np.zeros(0, MARK))
    snapshots: Array = field(default_factory=lambda: np.zeros(0, SNAPSHOT))
    loops: Array = field(default_factory=lambda: np.zeros(0, LOOP))
    definitions: list[Defined] = field(default_factory=list)
    news: list[NewsMessage] = field(default_factory=list)
    pauses: list[tuple[int, int]] = field(default_factory=list)  # key after each, and when it was sent
    unknown: list[UnknownSeen] = field(default_factory=list)  # at most MOST_UNKNOWN, and one for all others
    # Where packets are not understood without those before them: what is to be known at each piece.
    resumes: list[bytes] = field(default_factory=list)
    learned: bytes = b""  # what the stream says of how its channel is to be read (`feeds.wire`)
    days: list[tuple[int, int]] = field(default_factory=list)  # first key of each day, where times tell dates
    epochs: list[int] = field(default_factory=list)  # versions as all files of a plan count them
    parts: list[UnitPart] = field(default_factory=list)  # of units that are not whole in this file
    joined: int = 0  # of its last pieces, which were put together from parts: see `plan.parts`
    source: str = ""  # of a session: its name
    goes_on: bool = False  # a session that began before the file

    @property
    def counted_versions(self) -> list[int]:
        """Versions that mean the same in all files of a plan."""
        return self.epochs or self.versions

    @property
    def packets(self) -> int:
        return int(self.pieces["packets"].sum())

    @property
    def messages(self) -> int:
        return int(self.pieces["messages"].sum())


class LeftOutFlow(NamedTuple):
    """Packets that nothing is made of, and why."""

    channel: int
    reason: str


@dataclass(slots=True)
class FileIndex:
    """`content` is a hash, or what a store has instead."""

    path: str
    size: int
    version: str
    content: str
    layout: CaptureLayout
    streams: list[StreamIndex] = field(default_factory=list)
    left_out: list[LeftOutFlow] = field(default_factory=list)
    system: str = DEFAULT  # whose packets they are: for `feeds.registry`, in any process


# Which trade date the packets of an incremental stream belong to: as messages say, not file names.
#
# The phases of groups tell it. Where two dates follow each other in one file, the cut is at the last long
# pause before the new one is first told, for a night lies there; without a pause, where it is told.


EPOCH: Final = date(1970, 1, 1)
_FIRST, _LAST = -1, (1 << 63) - 1


class DateRange(NamedTuple):
    """Keys `first` up to but not including `end` of a stream are of a date."""

    first: int
    end: int
    trade_date: int  # days since 1970


def as_date(days: int) -> date:
    return EPOCH + timedelta(days=days)


def calendar_day(sent_ns: int) -> int:
    """Days since 1970 where the exchange is: for what no message tells a date of."""
    return local_day(sent_ns)


def date_ranges(stream: StreamIndex, told: "Timeline") -> list[DateRange]:
    if stream.days:  # the calendar says it: see `flows.CalendarDays`
        firsts = [_FIRST, *(key for key, _ in stream.days[1:])]
        ends = [*firsts[1:], _LAST]
        return [DateRange(*each) for each in zip(firsts, ends, (day for _, day in stream.days), strict=True)]
    marks = stream.marks[(stream.marks["kind"] == Kind.PHASE) & (stream.marks["trade_date"] > 0)]
    if not len(marks):
        return [DateRange(_FIRST, _LAST, told.at(int(stream.pieces["first_ns"][0])))]
    marks = marks[np.argsort(marks["key"], kind="stable")]
    newest = np.maximum.accumulate(marks["trade_date"])
    changes = np.flatnonzero(np.diff(newest)) + 1
    ranges, first, current = [], _FIRST, int(newest[0])
    for change in changes.tolist():
        begins = _boundary(stream, int(marks["key"][change - 1]), int(marks["key"][change]))
        ranges.append(DateRange(first, begins, current))
        first, current = begins, int(newest[change])
    return [*ranges, DateRange(first, _LAST, current)]


def _boundary(stream: StreamIndex, before: int, told: int) -> int:
    nights = [key for key, _ in stream.pauses if before < key <= told]
    return nights[-1] if nights else told


class Timeline:
    """Dates told on a channel, by any of its files."""

    def __init__(self, streams: Iterable[StreamIndex]) -> None:
        found = {
            (int(mark["sent_ns"]), int(mark["trade_date"]))
            for stream in streams
            if stream.stream is Stream.INCREMENTAL
            for mark in stream.marks
            if mark["kind"] == Kind.PHASE and mark["trade_date"] > 0
        }
        self._told = sorted(found)

    def at(self, sent_ns: int) -> int:
        """The date in force; on a day of which nothing is told, the calendar's."""
        calendar = calendar_day(sent_ns)
        before = [day for told_ns, day in self._told if told_ns <= sent_ns]
        after = [day for told_ns, day in self._told if told_ns > sent_ns]
        if before and before[-1] >= calendar:
            return before[-1]
        return after[0] if after and after[0] == calendar else calendar
