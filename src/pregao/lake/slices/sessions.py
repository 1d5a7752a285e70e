"""Messages of a session's unit, in the order of their places, as slices take them.

All files of the unit are read in the order of their times, with one state of connections and journals. A
message is of the day on which it was sent. Those of the days before are read for the books and not told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

import numpy as np

from pregao.captures.session_batches import Item, SessionBatch, SessionBreak, SessionFinding
from pregao.captures.session_units import SessionUnits
from pregao.feeds.registry import load_stored_sessions
from pregao.lake.plan.index import EPOCH, NUMBER_BITS, NUMBER_MASK, Array
from pregao.lake.plan.sessions import days_of, times_of
from pregao.lake.plan.slicing import Slice
from pregao.lake.plan.stored import on_this_machine
from pregao.lake.slices.feeds import Merged
from pregao.lake.slices.kernels.merging import ABSENT
from pregao.model.rows import NULL

WINDOW_MESSAGES: Final = 100_000
WINDOW_BYTES: Final = 64 << 20
MOST_FAULTS: Final = 10_000  # of a unit that are told one by one


@dataclass(slots=True)
class PlacedBatch:
    """Messages with their places. `is_told`: they are of the unit's day."""

    batch: SessionBatch
    places: Array
    sent: Array
    is_told: bool


@dataclass(frozen=True, slots=True)
class PlacedFault:
    """What is wrong in a journal, before the message that comes next. `is_gap`: messages are missing;
    `is_cut`: the connection was another before."""

    place: int
    sent_ns: int | None
    detail: str
    is_gap: bool = False
    is_cut: bool = False


@dataclass(slots=True)
class SessionPlaces:
    """Which sequence of numbers a message is of, and where it stands in it. Sequences count as they come; one
    that comes again (the same session in another capture) is passed over, and so is what stands before what
    was already taken."""

    day: int
    current: tuple[int, int] | None = None  # line and epoch
    sequences: int = 0
    last_place: int = -1
    newest_ns: int = 0
    repeated: int = 0
    known: set[tuple[int, int, int]] = field(default_factory=set)  # line, first number, when it was sent
    is_passed_over: bool = False

    def place(self, batch: SessionBatch) -> Iterator[PlacedBatch]:
        sent = times_of(batch)
        key = batch.line, batch.epoch
        if key != self.current:
            self.current = key
            begins = batch.line, int(batch.numbers[0]), int(sent[0])
            self.is_passed_over = begins in self.known or int(sent[0]) < self.newest_ns
            self.known.add(begins)
            if not self.is_passed_over:
                self.sequences += 1
        if self.is_passed_over:
            newer = sent > self.newest_ns
            if not newer.any():
                self.repeated += len(batch)
                return
            self.repeated += int(np.argmax(newer))
            batch, sent = _part(batch, int(np.argmax(newer)), len(batch)), sent[int(np.argmax(newer)) :]
            self.is_passed_over = False
            self.sequences += 1
        places = (self.sequences - 1 << NUMBER_BITS) | np.minimum(batch.numbers, NUMBER_MASK)
        self.newest_ns = max(self.newest_ns, int(sent.max()))
        yield from self._by_day(batch, places, sent)

    def _by_day(self, batch: SessionBatch, places: Array, sent: Array) -> Iterator[PlacedBatch]:
        days = np.maximum.accumulate(days_of(sent))
        before, after = int(np.searchsorted(days, self.day)), int(np.searchsorted(days, self.day + 1))
        for first, end, is_told in ((0, before, False), (before, after, True)):
            if end > first:
                part = _part(batch, first, end)
                yield PlacedBatch(part, places[first:end], sent[first:end], is_told)


def _part(batch: SessionBatch, first: int, end: int) -> SessionBatch:
    if first == 0 and end == len(batch):
        return batch
    mine = slice(first, end)
    return SessionBatch(
        batch.source, batch.line, batch.epoch, batch.numbers[mine], batch.sent_ns[mine],
        batch.received_ns[mine], batch.record_at[mine], batch.file, batch.buffer, batch.offsets[mine],
        batch.lengths[mine],
    )  # fmt: skip


def read_places(slice_: Slice) -> Iterator[PlacedBatch | PlacedFault]:
    """All of a unit's messages, and what is wrong between them."""
    system = load_stored_sessions(slice_.system)
    day = (date.fromisoformat(slice_.trade_date) - EPOCH).days
    units, places = SessionUnits(system, slice_.source), SessionPlaces(day)
    for item in _items(units, slice_.journals):
        if isinstance(item, SessionBatch):
            for placed in places.place(item):
                places.last_place = int(placed.places[-1])
                yield placed
        elif item.source == slice_.source:
            fault = _fault(item, places)
            if fault is not None:
                yield fault
    if places.repeated:
        detail = f"{places.repeated:,} messages of captures that overlap are left out"
        yield PlacedFault(max(places.last_place, 0), places.newest_ns, detail)


def _items(units: SessionUnits, paths: list[str]) -> Iterator[Item]:
    for path in paths:
        with on_this_machine(path) as copy:
            yield from units.read(path, copy)
    yield from units.finish()


def _fault(item: SessionBreak | SessionFinding, places: SessionPlaces) -> PlacedFault | None:
    place = max(places.last_place, 0)
    if isinstance(item, SessionBreak):
        if places.last_place < 0:
            return None
        return PlacedFault(place, item.ts_ns, "another connection", is_cut=True)
    if places.is_passed_over:
        return None
    return PlacedFault(place, item.ts_ns or None, str(item.finding), is_gap=item.is_gap)


class SessionWindows:
    """Messages of a unit as windows of a slice. `faults` are those of the window that was given last, `files`
    and `record_at` say where its messages are."""

    def __init__(self, slice_: Slice) -> None:
        self._slice = slice_
        self.faults: list[PlacedFault] = []
        self.files: list[tuple[int, str]] = []  # first message, and of which file
        self.record_at: Array = np.zeros(0, np.int64)
        self.first_told: int | None = None  # place of the unit's first message

    def __iter__(self) -> Iterator[Merged]:
        """At least one."""
        batches: list[PlacedBatch] = []
        faults: list[PlacedFault] = []
        count = size = 0
        for item in read_places(self._slice):
            if isinstance(item, PlacedFault):
                faults.append(item)
                continue
            if self.first_told is None and item.is_told:
                self.first_told = int(item.places[0])
            batches.append(item)
            count += len(item.places)
            size += int(item.batch.lengths.sum(dtype=np.int64))
            if count >= WINDOW_MESSAGES or size >= WINDOW_BYTES:
                yield self._window(batches, faults)
                batches, faults, count, size = [], [], 0, 0
        yield self._window(batches, faults)

    def _window(self, batches: list[PlacedBatch], faults: list[PlacedFault]) -> Merged:
        self.faults = faults
        firsts = np.cumsum([0, *(len(each.places) for each in batches)]).tolist()
        self.files = [(first, each.batch.file) for first, each in zip(firsts, batches, strict=False)]
        whole = [each.batch for each in batches]
        self.record_at = _joined([each.record_at for each in whole])
        place = _joined([each.places for each in batches])
        buffers = list({id(each.buffer): each.buffer for each in whole}.values())
        held = np.concatenate([np.zeros(0, np.uint8), *buffers])  # kernels want one stretch of memory
        starts = np.cumsum([0, *(len(each) for each in buffers)]).tolist()
        base = {id(each): held.ctypes.data + start for each, start in zip(buffers, starts, strict=False)}
        address = _joined([base[id(each.buffer)] + each.offsets for each in whole])
        none, one = np.zeros(len(place), np.int64), np.ones(len(place), np.int64)
        return Merged(
            place, address, _joined([each.lengths.astype(np.int64) for each in whole]),
            _joined([each.sent for each in batches]), _joined([each.received_ns for each in whole]),
            np.full(len(place), NULL), none, np.full(len(place), ABSENT), one, none.copy(),
            ((place >> NUMBER_BITS) + 1).astype(np.uint16), [held],
        )  # fmt: skip

    def where(self, message: int) -> str:
        """The file and byte of a message of this window."""
        file = next(path for first, path in reversed(self.files) if first <= message)
        return f"{file}, byte {int(self.record_at[message])}"


def _joined(parts: list[Any]) -> Array:
    found: Array = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64, copy=False)
    return found
