"""Units that no file has whole, put together from the parts that files have: A lost one chunk, B another.

A scan keeps the parts of units that stayed incomplete (`StreamIndex.parts`). Here those of all files of a
channel meet, by sequence and number. What becomes whole is entered in the index of one of them, as a packet
of its own: whoever plans and reads the unit need not know. A unit that any file has whole, or of which files
have different bytes, is left as it is.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

import numpy as np

from pregao.feeds.port import JoinedPacket, UnitPart
from pregao.feeds.registry import load_system
from pregao.feeds.wire import JoinsParts
from pregao.lake.plan.captures import CapturePiece, channel_reader, flow_headers, odd_packet, read_units
from pregao.lake.plan.flows import CalendarDays, UnitsRead, newest_events
from pregao.lake.plan.index import NUMBER_BITS, PIECE, Array, FileIndex, StreamIndex
from pregao.lake.plan.loops import LoopReader
from pregao.lake.plan.marks import MarkReader
from pregao.lake.plan.presence import runs_of, union
from pregao.model.streams import Feed, Stream

_FileStream = tuple[int, StreamIndex]
_Held = tuple[FileIndex, StreamIndex, UnitPart]  # where a part is


def join_parts(streams: Sequence[_FileStream], files: Sequence[FileIndex], system: str) -> None:
    """Of streams of a channel that tell the same, whose sequences, or loops, have the same numbers in all
    files. To do it again changes nothing."""
    chosen = load_system(system)
    if not isinstance(chosen, JoinsParts):
        return
    # The contingency site numbers by itself: its parts are of other units.
    primary = [each for each in streams if each[1].feed is not Feed.C] or list(streams)
    for epoch, number, held in _incomplete(sorted(primary, key=lambda each: each[1].feed), files):
        if any(_has(stream, epoch, number) for _, stream in primary):
            continue
        parts = _all_parts([part for _, _, part in held])
        if parts is not None:
            file, stream, own = held[0]
            _enter(file, stream, own, chosen.join_parts(own.epoch, parts))


def _incomplete(
    streams: Sequence[_FileStream], files: Sequence[FileIndex]
) -> Iterator[tuple[int, int, list[_Held]]]:
    """Sequence and number of each unit that is somewhere in parts, and where those are."""
    found: dict[tuple[int, int], list[_Held]] = {}
    for file, stream in streams:
        counted = dict(zip(stream.versions, stream.counted_versions, strict=True))
        for part in stream.parts:
            if part.epoch in counted:
                key = counted[part.epoch], part.number
                found.setdefault(key, []).append((files[file], stream, part))
    for (epoch, number), held in sorted(found.items()):
        yield epoch, number, held


def _has(stream: StreamIndex, epoch: int, number: int) -> bool:
    """Whether a file has a unit whole."""
    if epoch not in stream.counted_versions:
        return False
    key = stream.counted_versions.index(epoch) << NUMBER_BITS | number
    runs = stream.runs
    return bool(((runs["first"] <= key) & (runs["last"] >= key)).any())


def _all_parts(parts: Sequence[UnitPart]) -> list[UnitPart] | None:
    """Each once, in order; None: some are missing, or differ."""
    known: dict[int, UnitPart] = {}
    for part in parts:
        other = known.setdefault(part.part, part)
        if other.data != part.data or other.parts != parts[0].parts:
            return None
    return [known[index] for index in sorted(known)] if len(known) == parts[0].parts else None


def _enter(file: FileIndex, stream: StreamIndex, own: UnitPart, joined: JoinedPacket) -> None:
    """As a packet that came when the last part of the unit did. What it is not said to be is left out."""
    packets = odd_packet(own.received_ns, joined.payload, stream.flow)
    headers = flow_headers(file.system, stream.channel)
    read = UnitsRead.of(packets, read_units(headers, packets, stream.flow, joined.resume))
    if read.number.tolist() != [own.number] or read.epoch.tolist() != [own.epoch]:
        return
    key, sent = stream.versions.index(own.epoch) << NUMBER_BITS | own.number, read.sent_ns.copy()
    keys, piece = np.array([key], np.int64), len(file.layout.pieces)
    file.layout.pieces.append(CapturePiece.of_odd())
    file.layout.odd[piece] = own.received_ns, joined.payload, stream.flow
    row = np.array([(piece, 1, 1, key, key, int(sent[0]), int(sent[0]))], PIECE)
    stream.pieces, stream.joined = np.concatenate([stream.pieces, row]), stream.joined + 1
    stream.resumes.append(joined.resume)
    stream.runs = union([stream.runs, runs_of(keys, sent)])
    if stream.days:
        _note_day(file.system, stream, read, keys)
    if stream.stream is Stream.SNAPSHOT:
        _add_snapshots(file.system, stream, read, keys)
    else:
        _note(file.system, stream, read, keys)


def _note_day(system: str, stream: StreamIndex, read: UnitsRead, keys: Array) -> None:
    """A day may begin with it: the file of the day before has its first parts, and nothing else of it."""
    told = CalendarDays()
    told.take(keys, read.sent_ns, partial(newest_events, system, read.packets, keys))
    ((key, day),) = told.begins
    place = bisect_right(stream.days, key, key=itemgetter(0))
    if place and stream.days[place - 1][1] >= day:
        return  # days do not go back
    if place < len(stream.days) and stream.days[place][1] == day:
        stream.days[place] = key, day
    else:
        stream.days.insert(place, (key, day))


def _add_snapshots(system: str, stream: StreamIndex, read: UnitsRead, keys: Array) -> None:
    """What it has of a loop."""
    reader = LoopReader(system, channel_reader("parts", system, stream.channel, Stream.SNAPSHOT))
    reader.take(read.packets, keys, read.sent_ns)
    snapshots, (more,) = reader.finish()
    stream.snapshots = np.concatenate([stream.snapshots, snapshots])
    place = int(np.searchsorted(stream.loops["loop"], more["loop"]))
    if place == len(stream.loops) or stream.loops["loop"][place] != more["loop"]:
        stream.loops = np.insert(stream.loops, place, more)
        return
    known = stream.loops[place]
    for name, better in _OF_A_LOOP:
        known[name] = better(known[name], more[name])


_OF_A_LOOP: Final = (
    ("sent_ns", min), ("ended_ns", max), ("least", min), ("greatest", max), ("ends", max), ("listed", max),
)  # fmt: skip


def _note(system: str, stream: StreamIndex, read: UnitsRead, keys: Array) -> None:
    """What it says of the whole day: instruments, phases, news."""
    units = read.packets
    seen = np.zeros(256, np.uint8)
    noted = load_system(system).inspector().look(0, units.address, units.length, seen).noted
    if not len(noted):
        return
    reader = channel_reader("parts", system, stream.channel, Stream.DEFINITION)
    marks = MarkReader(stream.channel, stream.stream, system, reader)
    marks.take(units, keys, read.sent_ns)
    found, definitions, news = marks.finish()
    stream.marks = np.concatenate([stream.marks, found])
    stream.definitions += definitions
    stream.news += news
