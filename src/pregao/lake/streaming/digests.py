"""What the rows of a segment follow from, as a digest: equal digest, equal rows.

Everything in a plan is felt from some place on: a file from its first packet, a snapshot loop from the
first book that it tells, a sequence from its beginning. The digest of a segment is of all that is felt
before its stop. So a file that comes late changes the digests of just those segments that it concerns.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator

from pregao.lake.plan.anchors import Loop
from pregao.lake.plan.carried import digest_of
from pregao.lake.plan.index import NUMBER_BITS, FileIndex
from pregao.lake.plan.instruments import Symbols, Version
from pregao.lake.plan.units import NOWHERE, UnitStream, placed_runs
from pregao.lake.planned import Planned

_DIGITS = 16
Item = tuple[int, str]  # a place, and what is felt from there


def digests(planned: Planned, indexes: list[FileIndex], stops: Iterable[int]) -> list[str]:
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


def _items(planned: Planned, indexes: list[FileIndex], streams: list[UnitStream]) -> Iterator[Item]:
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
