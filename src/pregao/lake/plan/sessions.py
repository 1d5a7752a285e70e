"""Journals of sessions in a plan: one capture to the sessions in it, and sessions to units.

A session has no A and B and no loops, and what its messages mean hangs on all that came before in its
connection. So the plan knows only whose sessions a file has and of which days; the task that builds a unit
reads its files in the order of their times (`slices.sessions`).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from pregao.captures.session_batches import Item, SessionBatch, SessionFinding
from pregao.captures.session_units import SessionUnits
from pregao.feeds.registry import load_stored_sessions
from pregao.lake.plan.captures import open_layout
from pregao.lake.plan.index import (
    PIECE,
    RUN,
    Array,
    FileIndex,
    LeftOutFlow,
    StreamIndex,
    as_date,
    calendar_day,
)
from pregao.lake.plan.scan import ScanSettings, content_of
from pregao.lake.plan.slicing import FROM_FIRST, TO_LAST, Slice
from pregao.lake.plan.stored import look, on_this_machine
from pregao.lake.plan.units import LakeUnit, UnitStream
from pregao.model.errors import CaptureError, Fault
from pregao.model.streams import Feed, Stream

_SECOND_NS: Final = 1_000_000_000
_NO_CHANNEL: Final = 0
_LAST: Final = (1 << 63) - 1
_FIRST_NUMBERS: Final = 16  # the first message behind a logon has one of these


def days_of(sent_ns: Array) -> Array:
    """The exchange's day of each time."""
    seconds, which = np.unique(sent_ns // (60 * _SECOND_NS), return_inverse=True)
    days = np.array([calendar_day(minute * 60 * _SECOND_NS) for minute in seconds.tolist()], np.int64)
    found: Array = days[which]
    return found


def times_of(batch: SessionBatch) -> Array:
    """When messages were sent; where one does not say it, when it was received."""
    found: Array = np.where(batch.sent_ns > 0, batch.sent_ns, batch.received_ns)
    return found


@dataclass(slots=True)
class _Seen:
    """A session in a file. By day: messages, first and last number, first and last time."""

    is_begun: bool
    days: dict[int, list[int]] = field(default_factory=dict)

    def take(self, batch: SessionBatch) -> None:
        sent = times_of(batch)
        days = days_of(sent)
        for day in np.unique(days).tolist():
            mine = days == day
            numbers, times = batch.numbers[mine], sent[mine]
            known = self.days.setdefault(day, [0, int(numbers[0]), 0, int(times.min()), 0])
            known[0] += int(mine.sum())
            known[2], known[3] = int(numbers[-1]), min(known[3], int(times.min()))
            known[4] = max(known[4], int(times.max()))


def scan_sessions(path: str, settings: ScanSettings) -> FileIndex:
    """As `scan.scan_capture`, of a capture of sessions."""
    layout = open_layout(path, settings.scratch)
    units = SessionUnits(load_stored_sessions(settings.system))
    seen: dict[str, _Seen] = {}
    left_out: list[LeftOutFlow] = []
    for item in _items(units, path):
        if isinstance(item, SessionBatch):
            if item.source not in seen:
                seen[item.source] = _Seen(is_begun=int(item.numbers[0]) <= _FIRST_NUMBERS)
            seen[item.source].take(item)
        elif isinstance(item, SessionFinding) and not item.source:
            layout.damage.append(str(item.finding).removeprefix(f"{path}: "))
    if not seen and any(Fault.NOT_A_CAPTURE.label in each for each in layout.damage):
        raise CaptureError("is not a capture", file=path)
    if not seen:
        left_out.append(LeftOutFlow(_NO_CHANNEL, "no session of this system is in it; left out"))
    streams = [_stream(source, each) for source, each in seen.items()]
    stored = layout.stored
    index = FileIndex(
        path, stored.size, stored.version, content_of(stored), layout, streams, left_out, settings.system
    )
    if look(path) != stored:
        raise CaptureError("changes while it is read", file=path)
    return index


def _items(units: SessionUnits, path: str) -> Iterator[Item]:
    with on_this_machine(path) as copy:
        yield from units.read(path, copy)
    yield from units.finish()


def _stream(source: str, seen: _Seen) -> StreamIndex:
    told = sorted((day, *about) for day, about in seen.days.items())
    pieces = [(0, count, count, first, last, first_ns, last_ns)
              for _, count, first, last, first_ns, last_ns in told]  # fmt: skip
    runs = [(first, max(first, last), first_ns, last_ns) for _, _, first, last, first_ns, last_ns in told]
    return StreamIndex(
        _NO_CHANNEL, Stream.INCREMENTAL, Feed.A, 0, [1], [told[0][4]], np.array(pieces, PIECE),
        np.array(runs, RUN), days=[(first, day) for day, _, first, *_ in told], source=source,
        goes_on=not seen.is_begun,
    )  # fmt: skip


# Units


def find_session_units(files: Sequence[FileIndex], days: Collection[int] | None = None) -> list[LakeUnit]:
    """In order of source and date, of those days or of all. A file that begins in the middle of a session is
    read behind the one before it."""
    units: list[LakeUnit] = []
    for source, mine in _by_source(files):
        there = {day for _, stream in mine for _, day in stream.days}
        for day in sorted(there if days is None else there.intersection(days)):
            units.append(_unit(source, day, mine, files[mine[0][0]].system))
    return units


def days_concerned(files: Sequence[FileIndex], new: Collection[str]) -> set[int]:
    """Days whose units are made from new files: those that they tell of, and those of files that go on
    behind them."""
    found: set[int] = set()
    for _, mine in _by_source(files):
        behind = False
        for number, stream in mine:
            behind = files[number].path in new or (behind and stream.goes_on)
            if behind:
                found.update(day for _, day in stream.days)
    return found


def _by_source(files: Sequence[FileIndex]) -> list[tuple[str, list[tuple[int, StreamIndex]]]]:
    """Streams of each session with the numbers of their files, in the order of their times."""
    found: dict[str, list[tuple[int, StreamIndex]]] = {}
    for number, file in enumerate(files):
        for stream in file.streams:
            found.setdefault(stream.source, []).append((number, stream))
    for mine in found.values():
        mine.sort(key=lambda each: (each[1].version_ns[0], files[each[0]].path))
    return sorted(found.items())


def _unit(source: str, day: int, streams: list[tuple[int, StreamIndex]], system: str) -> LakeUnit:
    chosen = [place for place, (_, stream) in enumerate(streams) if day in dict(stream.days).values()]
    first = chosen[0]
    while first > 0 and streams[first][1].goes_on:
        first -= 1
    unit = LakeUnit(_NO_CHANNEL, as_date(day), system=system, source=source, versions=[1])
    runs = []
    for place in sorted({*chosen, *range(first, chosen[0])}):
        number, stream = streams[place]
        unit.files.add(number)
        unit.journals.append(number)
        if place in chosen:
            of_day = [which for which, (_, told) in enumerate(stream.days) if told == day]
            runs.append(stream.runs[of_day])
            mine = replace(stream, pieces=stream.pieces[of_day])
            of_unit = UnitStream(number, mine, 0, _LAST, np.zeros(1, np.int64))
            unit.feeds.setdefault(Feed.A, []).append(of_unit)
    all_runs = np.concatenate(runs)
    whole = np.zeros(1, RUN)
    whole["first"], whole["last"] = all_runs["first"].min(), all_runs["last"].max()
    whole["first_ns"], whole["last_ns"] = all_runs["first_ns"].min(), all_runs["last_ns"].max()
    unit.runs[Feed.A] = whole
    unit.version_ns = [unit.first_ns]
    return unit


def session_slice(unit: LakeUnit, files: Sequence[FileIndex]) -> Slice:
    """The whole unit."""
    return Slice(
        unit.channel, unit.trade_date.isoformat(), 0, FROM_FIRST, TO_LAST, FROM_FIRST, [1], {Feed.A: []}, [],
        None, is_last=True, system=unit.system, source=unit.source,
        journals=[files[number].path for number in unit.journals],
    )  # fmt: skip
