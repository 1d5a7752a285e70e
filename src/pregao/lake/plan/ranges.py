"""One huge plain capture, scanned in ranges by several tasks: its index is that of a scan by one.

Lines are at every multiple of `range_bytes` of a file. No piece crosses one, whoever scans it (`Content`), so
ranges have the pieces of the whole. A range begins with the record that its line falls into. A task finds
that record by itself: by headers of records that follow each other, of plausible times and lengths. That is a
guess, and is proven: the first range begins where the file does, and each must end exactly where the next one
has begun. What a range cannot know (which sequenceVersions came before it, whose snapshot it begins in, which
definitions were told already) is put right when ranges are joined, in their order.

Whatever makes ranges depend on each other in another way makes one task scan the file whole: a guess that is
not proven, a file that cannot be read to its end, IP fragments, a sequenceVersion that comes back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from pregao.captures.runs import RunReader
from pregao.codecs.pcap.formats import (
    HEAD_SIZE,
    MAX_RECORD,
    NS_PER_SECOND,
    RECORD_HEADER_SIZE,
    PcapHeader,
    recognise,
)
from pregao.codecs.pcap.outcomes import Skip
from pregao.io.captures import WINDOW_SIZE, Window
from pregao.lake.plan.captures import CaptureLayout, needs_wire, walk_source
from pregao.lake.plan.contents import CaptureForm, Content, form_of
from pregao.lake.plan.flows import Flow
from pregao.lake.plan.index import Array, FileIndex
from pregao.lake.plan.scan import Scanner, ScanSettings, content_of, index_of
from pregao.lake.plan.stored import Stored, open_stored
from pregao.lake.runners import may_pass
from pregao.model.errors import CaptureError
from pregao.model.streams import Stream

# Bytes before a line in which a record begins: nearly always, and always.
_BACK: Final = (1 << 14, 2 * MAX_RECORD)
_AHEAD: Final = 1 << 14
_CHAIN: Final = 8  # headers in a row that look like some
_LONGEST_S: Final = 31 * 86_400  # of one capture


class Verdicts(NamedTuple):
    """What each flow is, by flow and channel, as a scan of all ranges has found."""

    streams: tuple[tuple[tuple[int, int], Stream], ...] = ()


UNJUDGED: Final = Verdicts()


class FileRange(NamedTuple):
    """What a task scans: records from the one on that byte `number` × range_bytes falls into."""

    stored: Stored
    number: int
    verdicts: Verdicts = UNJUDGED


class WholeHash(NamedTuple):
    """All bytes of a file are hashed by one task, beside those that scan it. A hash put together of ranges
    would be another one, and a file that has not changed would look as if it had."""

    stored: Stored


def parts_of(stored: Stored, ranges: int, verdicts: Verdicts = UNJUDGED) -> list[FileRange | WholeHash]:
    """Tasks: the hash, which takes longest, then the ranges in their order."""
    return [WholeHash(stored), *(FileRange(stored, number, verdicts) for number in range(ranges))]


@dataclass(slots=True)
class RangeScan:
    """What a task found. `whole`: it depends on no other range in a way that joining does not know."""

    start: int
    end: int
    whole: bool
    layout: CaptureLayout
    flows: dict[tuple[int, int], Flow] = field(default_factory=dict)


def ranges_of(stored: Stored, settings: ScanSettings) -> int:
    """How many; 1: it is scanned by one task. Only its head is looked at."""
    if stored.size <= settings.range_bytes or needs_wire(settings.system):
        return 1
    try:
        if form_of(stored.path) is not CaptureForm.PLAIN:
            return 1
        with open_stored(stored.path) as file:
            header = recognise(file.read(HEAD_SIZE))
    except CaptureError:  # whoever scans it says why
        return 1
    return -(-stored.size // settings.range_bytes) if isinstance(header, PcapHeader) else 1


# In a task


class RangeSource:
    """From a record on, to the line `end`: after the head of the file, which says how to read it."""

    compression = "none"

    def __init__(self, content: Content, start: int, end: int) -> None:
        self._content, self._start, self._end = content, start, end

    @property
    def length(self) -> int:
        return self._content.length

    def windows(self, window_size: int = WINDOW_SIZE) -> Iterator[Window]:
        if self._start:
            self._content.length = HEAD_SIZE
            yield Window(0, self._content.between(0, HEAD_SIZE).data)
        yield from self._content.windows_from(self._start, window_size, self._end)


def run_part(part: FileRange | WholeHash, settings: ScanSettings) -> RangeScan | str | None:
    """None: it cannot be read, and who scans the file whole says why."""
    try:
        if isinstance(part, WholeHash):
            return content_of(part.stored)
        return scan_range(part, settings)
    except CaptureError as error:
        if may_pass(error):
            raise
        return None


def scan_range(part: FileRange, settings: ScanSettings) -> RangeScan:
    stored, line = part.stored, part.number * settings.range_bytes
    layout = CaptureLayout(stored, CaptureForm.PLAIN, settings.scratch)
    reader = RunReader(stored.path, settings.piece_packets)
    scanner = Scanner(stored.path, settings, dict(part.verdicts.streams))
    content = Content(stored, CaptureForm.PLAIN, settings.scratch, settings.range_bytes)
    try:
        start = find_record(content, line) if line else 0
        if start < 0:
            return RangeScan(start, start, False, layout)
        source = RangeSource(content, start, line + settings.range_bytes)
        for number, packets in walk_source(layout, reader, source):
            scanner.take(number, packets)
    finally:
        content.close()
    chain = reader.runs.reader
    alone = chain.records.stopped or chain.unknown_links or reader.runs.skipped[Skip.FRAGMENT_PENDING]
    return RangeScan(start, source.length, not alone, layout, scanner.flows)


def find_record(content: Content, line: int) -> int:
    """Where the record begins that has byte `line`; -1: nothing there looks like one."""
    header = recognise(content.between(0, HEAD_SIZE).data)
    if not isinstance(header, PcapHeader):
        return -1
    first = content.between(HEAD_SIZE, min(HEAD_SIZE + RECORD_HEADER_SIZE, content.size))
    first_s = int(_numbers(first, 0, header)[0])
    for back in _BACK:
        low = max(HEAD_SIZE, line - back)
        data = content.between(low, min(line + _AHEAD, content.size))
        lengths, good = _headers(data, header, first_s)
        starts = np.flatnonzero(good)
        if len(starts) and low + int(starts[0]) <= line:
            at = int(starts[0])
            while at < len(lengths) and low + at + RECORD_HEADER_SIZE + int(lengths[at]) <= line:
                at += RECORD_HEADER_SIZE + int(lengths[at])
            return low + at
    return -1


def _headers(data: Array, header: PcapHeader, first_s: int) -> tuple[Array, Array]:
    """For each byte the length of a record that would begin there, and whether one may: so many headers in a
    row look like some."""
    seconds, fraction, lengths = (_numbers(data, place, header) for place in (0, 4, 8))
    looks = (np.abs(seconds - first_s) < _LONGEST_S) & (lengths <= MAX_RECORD)
    looks &= fraction < NS_PER_SECOND // header.ts_unit_ns
    good, count = looks, len(looks)
    after = np.arange(count) + RECORD_HEADER_SIZE + lengths
    inside = after < count
    after[~inside] = 0
    for _ in range(_CHAIN):
        good = looks & (~inside | good[after])
    return lengths, good


def _numbers(data: Array, place: int, header: PcapHeader) -> Array:
    """Of four bytes, so many bytes after each."""
    count = len(data) - RECORD_HEADER_SIZE + 1
    shifts = (24, 16, 8, 0) if header.big_endian else (0, 8, 16, 24)
    found = np.zeros(count, np.int64)
    for index, shift in enumerate(shifts):
        found |= data[place + index : place + index + count].astype(np.int64) << shift
    return found


# Where all are known


def join_ranges(
    stored: Stored, scans: Sequence[RangeScan | None], content: str | None, settings: ScanSettings,
    verdicts: Verdicts = UNJUDGED,
) -> FileIndex | Verdicts | None:  # fmt: skip
    """The index; or what each flow is, where ranges took one for something else: they are to be scanned again
    with that, as a whole file is. None: the file must be scanned whole."""
    known = [scan for scan in scans if scan is not None and scan.whole]
    if content is None or len(known) < len(scans):
        return None
    if any(scan.end != after.start for scan, after in pairwise(known)):
        return None
    layout = CaptureLayout(stored, CaptureForm.PLAIN, settings.scratch)
    scanner = Scanner(stored.path, settings, dict(verdicts.streams))
    for scan in known:
        before, mine = len(layout.pieces), scan.layout
        layout.shapes = layout.shapes or mine.shapes
        layout.pieces += mine.pieces
        layout.odd.update((before + number, each) for number, each in mine.odd.items())
        layout.damage += mine.damage
        if not scanner.join(scan.flows, before):
            return None
    scanner.judge()
    if not scanner.is_settled and not verdicts.streams:
        return Verdicts(tuple(scanner.verdicts.items()))
    layout.content = content
    try:
        return index_of(layout, scanner, settings)
    except CaptureError:  # it has changed
        return None
