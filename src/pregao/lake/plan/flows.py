"""What a scan knows of the flows of a capture: the packets of one channel to one destination."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from pregao.feeds.identity import MARKS
from pregao.feeds.wire import ChannelWire
from pregao.lake.plan.captures import PiecePackets, row_reader
from pregao.lake.plan.index import (
    Array,
    UnknownSeen,
    add_unknown,
    calendar_day,
    renumbered,
    renumbered_key,
)
from pregao.lake.plan.loops import LoopReader
from pregao.lake.plan.marks import MarkReader
from pregao.model.local_time import local_midnight_ns
from pregao.model.packets import Units
from pregao.model.rows import NULL
from pregao.model.streams import Stream

PAUSE_NS: Final = 1_800_000_000_000  # no market is silent for so long: a night may lie in it
_SECOND_NS: Final = 1_000_000_000
_LONG_AGO_NS: Final = 3_600 * _SECOND_NS


class CalendarDays:
    """Where days begin in a stream whose messages may tell old dates: a message is of the exchange's day of
    its newest event, or of when it was sent where it tells none, or one that is long ago: what is told again
    is of the day on which that is done. Days do not go back."""

    def __init__(self) -> None:
        self.begins: list[tuple[int, int]] = []  # first key, and day

    def take(self, keys: Array, sent: Array, events: Callable[[], Array]) -> None:
        """Units of a piece. `events`: their newest times, NULL where there is none; asked for only where a
        day may begin."""
        before, day = self.begins[-1][1] if self.begins else -1, calendar_day(int(sent.min()))
        if day == calendar_day(int(sent.max())):
            if day == before:
                return
            if int(sent.min()) - local_midnight_ns(day) >= _LONG_AGO_NS:  # no event is of the day before
                self.begins += [(int(keys.min()), day)] if day > before else []
                return
        newest = events()
        is_new = (newest != NULL) & (sent - np.maximum(newest, 0) < _LONG_AGO_NS)
        seconds = np.where(is_new, np.minimum(newest, sent), sent) // _SECOND_NS
        known, which = np.unique(seconds, return_inverse=True)
        days = np.array([calendar_day(second * _SECOND_NS) for second in known.tolist()], np.int64)[which]
        for day in np.unique(days[days > before]).tolist():
            self.begins.append((int(keys[days >= day].min()), int(day)))


def newest_events(system: str, units: PiecePackets, keys: Array) -> Array:
    """The newest time that each unit tells; NULL where it tells none."""
    reader, newest = row_reader("days", system), np.full(len(units), NULL)
    reading = reader.read(
        0, np.ascontiguousarray(units.address), np.ascontiguousarray(units.length), keys,
        np.zeros(len(units), np.uint16),
    )  # fmt: skip
    while True:
        np.maximum.at(newest, reading.rows["packet"], reading.rows["time_ns"])
        if reading.whole:
            return newest
        reading = reader.go_on()


@dataclass(slots=True)
class Flow:
    """What is known of a destination's packets. `stream` is what they are read as: by verdict or
    configuration; UNKNOWN: by what has been seen so far, then by the file's name."""

    channel: int
    flow: int
    stream: Stream
    read_as: set[Stream] = field(default_factory=set)
    seen: Array = field(default_factory=lambda: np.zeros(MARKS, np.uint8))
    versions: dict[int, int] = field(default_factory=dict)
    version_ns: list[int] = field(default_factory=list)
    pieces: list[tuple[int, ...]] = field(default_factory=list)
    runs: list[Array] = field(default_factory=list)  # of each piece
    pauses: list[tuple[int, int]] = field(default_factory=list)
    first: tuple[int, int] = (0, 0)  # key of its first packet, and when that was sent
    last_ns: int | None = None
    loops: LoopReader | None = None
    marks: MarkReader | None = None
    unknown: dict[tuple[str, int], UnknownSeen] = field(default_factory=dict)
    resumes: list[bytes] = field(default_factory=list)  # of each piece, where the system needs them
    wire: ChannelWire | None = None  # likewise
    days: CalendarDays | None = None

    def append(self, later: "Flow", pieces: int, system: str) -> bool:
        """What a later range of the file has of it, before which there are so many pieces. False: its
        sequenceVersions have come in another order than there, so that keys are in another one too."""
        for version, sent_ns in zip(later.versions, later.version_ns, strict=True):
            if version not in self.versions:
                self.versions[version] = len(self.versions)
                self.version_ns.append(sent_ns)
        versions = np.array([self.versions[version] for version in later.versions], np.int64)
        if (np.diff(versions) < 0).any():
            return False
        self.read_as |= later.read_as
        self.seen |= later.seen
        for piece in later.pieces:
            least, greatest = renumbered(np.array(piece[3:5]), versions).tolist()
            self.pieces.append((pieces + piece[0], *piece[1:3], least, greatest, *piece[5:]))
        for runs in later.runs:
            runs["first"], runs["last"] = (renumbered(runs[end], versions) for end in ("first", "last"))
        self.runs += later.runs
        pauses = [later.first] if later.first[1] - (self.last_ns or later.first[1]) > PAUSE_NS else []
        for key, sent_ns in (*pauses, *later.pauses):
            self.pauses.append((renumbered_key(key, versions), sent_ns))
        self.last_ns = later.last_ns
        for unknown in later.unknown.values():
            add_unknown(self.unknown, unknown._replace(key=renumbered_key(unknown.key, versions)))
        if later.loops is not None:
            self.loops = self.loops or LoopReader(system)
            self.loops.append(later.loops, versions)
        if later.marks is not None:
            self.marks = self.marks or MarkReader(self.channel, later.marks.stream, system)
            self.marks.append(later.marks, versions)
        return True


class UnitsRead(NamedTuple):
    """Units of a piece, as packets of their own, with what their headers say. Numbers are the reader's: they
    hold until the next piece is read."""

    packets: PiecePackets
    channel: Array
    epoch: Array
    number: Array
    sent_ns: Array

    @classmethod
    def of(cls, packets: PiecePackets, units: Units) -> "UnitsRead":
        count = units.count
        told = (units.channel[:count], units.epoch[:count], units.number[:count], units.sent_ns[:count])
        rows = units.row[:count]
        if count == len(packets) and bool((units.offset[:count] == packets.address).all()):
            return cls(packets, *told)  # a packet is a unit
        address, length = units.offset[:count].copy(), units.length[:count].copy()
        return cls(PiecePackets(packets.ts[rows], address, length, packets.flow[rows], packets.owner), *told)

    def pick(self, which: Array) -> "UnitsRead":
        return UnitsRead(self.packets.pick(which), *(column[which] for column in self[1:]))


def pairs(flows: Array, channels: Array) -> list[tuple[int, int]]:
    """Flows and channels that occur together; nearly always one of each."""
    if not len(flows):
        return []
    if (flows == flows[0]).all() and (channels == channels[0]).all():
        return [(int(flows[0]), int(channels[0]))]
    return sorted(set(zip(flows.tolist(), channels.tolist(), strict=True)))
