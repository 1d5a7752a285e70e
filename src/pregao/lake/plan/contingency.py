"""Feed C, which the contingency site sends (6.1, 6.5.3). It numbers its packets by itself, so it is never
merged with A and B by number. Where A and B fall silent and C goes on, the unit goes on with it, as with a
further sequence: from the first packet that C sent after the last of A and B. Where these come back, which
they do with a sequence of their own (6.5.5.1), the unit goes on with them again."""

from collections.abc import Iterable, Iterator, Sequence
from ctypes import string_at
from typing import Final, NamedTuple

import numpy as np

from pregao.feeds.registry import load_system
from pregao.lake.plan.captures import PieceReader, flow_headers, read_units
from pregao.lake.plan.index import NUMBER_BITS, FileIndex, StreamIndex, as_date, calendar_day
from pregao.lake.plan.presence import union
from pregao.lake.plan.units import LakeUnit, UnitStream, placed_runs, settle
from pregao.model.streams import Feed, Stream

# C sends what A sends a little later: only what goes on for longer is a takeover.
TAKEOVER_NS: Final = 5_000_000_000
_LAST: Final = (1 << 63) - 1


class _Silence(NamedTuple):
    """Of A and B: after which of their sequences, from their last packet to the first of the next."""

    after: int
    ended_ns: int
    back_ns: int  # _LAST: they do not come back


def go_on_with_contingency(
    unit: LakeUnit, streams: Iterable[tuple[int, StreamIndex]], files: Sequence[FileIndex]
) -> None:
    mine = [each for each in streams if each[1].stream is Stream.INCREMENTAL and each[1].feed is Feed.C]
    if unit.left_out or not mine:  # it has nothing else
        return
    found = ((silence, _taken(unit, silence, mine, files)) for silence in _silences(unit))
    takeovers = [(silence, taken) for silence, taken in found if taken]
    if takeovers:
        _insert(unit, takeovers)


def _silences(unit: LakeUnit) -> Iterator[_Silence]:
    runs = unit.all_runs
    appearances = runs["first"] >> NUMBER_BITS
    last = len(unit.versions) - 1
    for number in range(len(unit.versions)):
        before, after = runs[appearances <= number], runs[appearances > number]
        if len(before):
            back_ns = _LAST if number == last or not len(after) else int(after["first_ns"].min())
            yield _Silence(number, int(before["last_ns"].max()), back_ns)


def _taken(
    unit: LakeUnit, silence: _Silence, streams: Sequence[tuple[int, StreamIndex]], files: Sequence[FileIndex]
) -> list[UnitStream]:
    """What C sent while A and B were silent."""
    found = []
    for number, stream in streams:
        until_ns = min(int(stream.pieces["last_ns"].max()), silence.back_ns)
        if until_ns <= silence.ended_ns + TAKEOVER_NS or not _same_day(unit, until_ns):
            continue
        first = first_key_after(
            files[number], stream, silence.ended_ns, _last_messages(unit, files, silence.ended_ns)
        )
        end = _LAST if silence.back_ns == _LAST else _first_key_since(files[number], stream, silence.back_ns)
        if first < end:
            found.append(UnitStream(number, stream, first, end))
    return found


def _same_day(unit: LakeUnit, sent_ns: int) -> bool:
    return as_date(calendar_day(sent_ns)) == unit.trade_date


def _insert(unit: LakeUnit, takeovers: list[tuple[_Silence, list[UnitStream]]]) -> None:
    """Sequences of C between those of A and B. Its rows stand with A's."""
    by_silence = {silence.after: (silence, taken) for silence, taken in takeovers}
    versions, version_ns = list(unit.versions), list(unit.version_ns)
    primary = [stream for streams in unit.feeds.values() for stream in streams]
    moved = np.zeros(len(versions), np.int64)
    unit.versions, unit.version_ns = [], []
    for number, version in enumerate(versions):
        moved[number] = len(unit.versions)
        unit.versions.append(version)
        unit.version_ns.append(version_ns[number])
        if number in by_silence:
            silence, taken = by_silence[number]
            unit.taken_spans.append((silence.ended_ns, silence.back_ns))
            _append(unit, silence, taken)
    for stream in primary:
        stream.appearances = moved[stream.appearances]
    contingency = [stream for _, taken in takeovers for stream in taken]
    unit.feeds.setdefault(Feed.A, []).extend(contingency)
    unit.files.update(stream.file for stream in contingency)
    settle(unit)
    of_c = [placed_runs(stream) for stream in contingency]
    for feed in unit.feeds:  # B is not said to have lost what it never sends
        unit.runs[feed] = union([unit.runs[feed], *of_c])


def _append(unit: LakeUnit, silence: _Silence, taken: Sequence[UnitStream]) -> None:
    """Sequences of C in the order in which they began; files of C may have the same ones."""
    began: dict[int, int] = {}
    for stream in taken:
        runs = stream.index.runs
        used = (runs["last"] >= stream.first) & (runs["first"] < stream.end)
        for local in np.unique(runs["first"][used] >> NUMBER_BITS).tolist():
            version, sent_ns = stream.index.counted_versions[local], stream.index.version_ns[local]
            began[version] = min(began.get(version, _LAST), max(sent_ns, silence.ended_ns + 1))
    appearance: dict[int, int] = {}
    for version in sorted(began, key=lambda each: (began[each], each)):
        appearance[version] = len(unit.versions)
        unit.taken_over.append(len(unit.versions))
        unit.versions.append(version)
        unit.version_ns.append(began[version])
    for stream in taken:
        stream.appearances = np.array(
            [appearance.get(version, 0) for version in stream.index.counted_versions], np.int64
        )


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


def _first_key_since(file: FileIndex, stream: StreamIndex, sent_ns: int) -> int:
    """The key of the first packet that was not sent before a time."""
    for row in stream.pieces[np.argsort(stream.pieces["first_ns"], kind="stable")]:
        if row["last_ns"] < sent_ns:
            continue
        later = [each for each in _packets(file, stream, int(row["piece"])) if each.sent_ns >= sent_ns]
        if later:
            return stream.versions.index(later[0].epoch) << NUMBER_BITS | later[0].number
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


def _last_messages(unit: LakeUnit, files: Sequence[FileIndex], until_ns: int) -> bytes:
    """Of the last packet that A or B have up to a time."""
    found: list[_Packet] = []
    for stream in (stream for streams in unit.feeds.values() for stream in streams):
        pieces = stream.index.pieces[stream.index.pieces["first_ns"] <= until_ns]
        if len(pieces):
            piece = int(pieces["piece"][np.argmax(pieces["first_ns"])])
            packets = _packets(files[stream.file], stream.index, piece)
            found += [each for each in packets if each.sent_ns <= until_ns]
    return max(found, key=lambda each: each.sent_ns).messages if found else b""
