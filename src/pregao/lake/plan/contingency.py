"""Feed C, which the contingency site sends (6.1, 6.5.3). It numbers its packets by itself, so it is never
merged with A and B by number. Where A and B fall silent and C goes on, the unit goes on with it, as with a
further sequence: from the first packet that C sent after the last of A and B."""

from collections.abc import Iterable, Sequence
from ctypes import string_at
from typing import Final, NamedTuple

import numpy as np

from pregao.feeds.registry import load_system
from pregao.lake.plan.captures import PieceReader, flow_headers, read_units
from pregao.lake.plan.index import NUMBER_BITS, FileIndex, StreamIndex, as_date, calendar_day
from pregao.lake.plan.presence import union
from pregao.lake.plan.units import LakeUnit, UnitStream, definitions_of, marks_of, news_of, placed_runs
from pregao.model.streams import Feed, Stream

# C sends what A sends a little later: only what goes on for longer is a takeover.
TAKEOVER_NS: Final = 5_000_000_000
_LAST: Final = (1 << 63) - 1


def go_on_with_contingency(
    unit: LakeUnit, streams: Iterable[tuple[int, StreamIndex]], files: Sequence[FileIndex]
) -> None:
    ended_ns = unit.last_ns
    for number, stream in streams:
        if stream.stream is not Stream.INCREMENTAL or stream.feed is not Feed.C or unit.left_out:
            continue
        until_ns = int(stream.pieces["last_ns"].max())
        if until_ns <= ended_ns + TAKEOVER_NS or not _same_day(unit, until_ns):
            continue
        first = first_key_after(files[number], stream, ended_ns, _last_messages(unit, files))
        if first == _LAST:
            continue
        taken = UnitStream(number, stream, first, _LAST)
        versions = np.unique(stream.runs["first"][stream.runs["last"] >= first] >> NUMBER_BITS).tolist()
        appearances = np.zeros(len(stream.versions), np.int64)
        for local in versions:
            appearances[local] = len(unit.versions)
            unit.taken_over.append(len(unit.versions))
            unit.versions.append(stream.counted_versions[local])
            unit.version_ns.append(max(stream.version_ns[local], ended_ns + 1))
        taken.appearances = appearances
        _add(unit, taken)


def _same_day(unit: LakeUnit, sent_ns: int) -> bool:
    return as_date(calendar_day(sent_ns)) == unit.trade_date


def _add(unit: LakeUnit, taken: UnitStream) -> None:
    """Its rows stand with A's. B is not said to have lost what it never sends."""
    unit.feeds.setdefault(Feed.A, []).append(taken)
    unit.files.add(taken.file)
    runs = placed_runs(taken)
    for feed in unit.feeds:
        unit.runs[feed] = union([unit.runs[feed], runs] if feed in unit.runs else [runs])
    marks = np.concatenate([unit.marks, marks_of([taken])])
    unit.marks = marks[np.argsort(marks["key"], kind="stable")]
    unit.news += news_of([taken])
    unit.definitions += definitions_of([taken])


def first_key_after(file: FileIndex, stream: StreamIndex, sent_ns: int, last: bytes) -> int:
    """The key of the first packet that was sent after a time, and after the copy of the `last` messages of A
    and B, which C may send a little later than they did."""
    for row in stream.pieces[np.argsort(stream.pieces["first_ns"], kind="stable")]:
        if row["last_ns"] <= sent_ns:
            continue
        later = [each for each in _packets(file, stream, int(row["piece"])) if each.sent_ns > sent_ns]
        copies = [number for number, each in enumerate(later) if each.messages == last]
        after = later[copies[-1] + 1 :] if copies else later
        if after:
            return stream.versions.index(after[0].epoch) << NUMBER_BITS | after[0].number
    return _LAST


class _Packet(NamedTuple):
    epoch: int
    number: int
    sent_ns: int
    messages: bytes  # without what is each feed's own


def _packets(file: FileIndex, stream: StreamIndex, piece: int) -> list[_Packet]:
    """Those of a stream in one piece of a file."""
    own = load_system(file.system).policy.own_bytes
    reader = PieceReader(file.layout)
    try:
        packets = reader.read(piece)
        row = int(np.flatnonzero(stream.pieces["piece"] == piece)[0])
        resume = stream.resumes[row] if stream.resumes else None
        units = read_units(flow_headers(file.system, stream.channel), packets, stream.flow, resume)
        count = units.count
        mine = (packets.flow[units.row[:count]] == stream.flow) & (units.number[:count] > 0)
        mine &= units.channel[:count] == stream.channel
        return [
            _Packet(
                int(units.epoch[at]), int(units.number[at]), int(units.sent_ns[at]),
                string_at(int(units.offset[at]), int(units.length[at]))[own:],
            )
            for at in np.flatnonzero(mine).tolist()
        ]  # fmt: skip
    finally:
        reader.close()


def _last_messages(unit: LakeUnit, files: Sequence[FileIndex]) -> bytes:
    """Of the last packet that A or B have."""
    streams = [stream for streams in unit.feeds.values() for stream in streams]
    last = max(streams, key=lambda stream: int(stream.index.pieces["last_ns"].max()))
    pieces = last.index.pieces
    piece = int(pieces["piece"][np.argmax(pieces["last_ns"])])
    return max(_packets(files[last.file], last.index, piece), key=lambda each: each.sent_ns).messages
