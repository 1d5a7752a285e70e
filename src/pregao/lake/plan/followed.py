"""Snapshot loops followed over the files of a stream: results must not depend on where captures are cut.

A loop is complete when all its packets were heard, from number 1 to the one that ends it, and each of its
snapshots is whole: it has just the entries that its header promises.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK, RUN, Array, StreamIndex
from pregao.lake.plan.presence import union
from pregao.model.streams import Feed

_ENTRIES: Final = ("bids", "offers", "statistics")


class LoopPlace(NamedTuple):
    """A loop in a file: `loop` is its version among those of the file's stream."""

    file: int
    stream: StreamIndex
    loop: int


@dataclass(slots=True)
class FollowedLoop:
    """`is_open`: its end may still come, in a file that is not there yet."""

    places: list[LoopPlace]
    sent_ns: int
    ended_ns: int
    complete: bool
    is_open: bool
    snapshots: Array
    whole: Array  # which of them are
    alone: Array  # which of them have no entries


def follow(streams: Sequence[tuple[int, StreamIndex]]) -> Iterator[FollowedLoop]:
    """Loops of all snapshot streams of a unit, given with the numbers of their files."""
    chains: dict[tuple[int, Feed], list[tuple[int, StreamIndex]]] = {}
    for file, stream in streams:
        if len(stream.loops):
            chains.setdefault((stream.flow, stream.feed), []).append((file, stream))
    for chain in chains.values():
        chain.sort(key=lambda each: (int(each[1].loops["sent_ns"].min()), each[0]))
        joined: list[list[_Part]] = []
        for part in (part for file, stream in chain for part in _parts(file, stream)):
            if joined and _goes_on(joined[-1][-1], part):
                joined[-1].append(part)
            else:
                joined.append([part])
        yield from (_loop(parts, is_last=parts is joined[-1]) for parts in joined)


class _Part(NamedTuple):
    """What a file has of a loop."""

    place: LoopPlace
    is_first: bool  # of the file
    row: Any
    snapshots: Array
    runs: Array

    @property
    def version(self) -> int:
        return self.place.stream.versions[self.place.loop]


def _parts(file: int, stream: StreamIndex) -> Iterator[_Part]:
    order = np.argsort(stream.snapshots["loop"], kind="stable")
    snapshots, runs = stream.snapshots[order], stream.runs
    numbers, of_runs = snapshots["loop"], runs["first"] >> NUMBER_BITS  # runs are in order
    for number, row in enumerate(stream.loops):
        loop = int(row["loop"])
        first, end = np.searchsorted(numbers, [loop, loop + 1])
        first_run, end_run = np.searchsorted(of_runs, [loop, loop + 1])
        place = LoopPlace(file, stream, loop)
        yield _Part(place, number == 0, row, snapshots[first:end], runs[first_run:end_run])


def _goes_on(before: _Part, part: _Part) -> bool:
    """Whether a file begins in the middle of the loop that another ends with."""
    if part.place.file == before.place.file or not part.is_first or before.version != part.version:
        return False
    return not before.row["ends"] and bool(part.row["least"] > before.row["greatest"])


def _loop(parts: list[_Part], *, is_last: bool) -> FollowedLoop:
    snapshots = _snapshots(parts)
    whole = snapshots["foreign"] == 0
    alone = np.ones(len(snapshots), np.bool_)
    for name in _ENTRIES:
        whole &= snapshots[name] == snapshots[f"promised_{name}"]
        alone &= snapshots[f"promised_{name}"] == 0
    rows = [part.row for part in parts]
    ends, listed = int(rows[-1]["ends"]), [int(row["listed"]) for row in rows if row["listed"]]
    complete = _all_there(parts, ends) and bool(whole.all()) and listed[-1:] == [len(snapshots)]
    return FollowedLoop(
        [part.place for part in parts], int(rows[0]["sent_ns"]), int(rows[-1]["ended_ns"]), complete,
        is_last and not ends, snapshots, whole, alone,
    )  # fmt: skip


def _snapshots(parts: list[_Part]) -> Array:
    """Of all files; what one begins with belongs to the last snapshot of those before it."""
    found: list[Array] = []
    for part in parts:
        row = part.row
        last = next((each for each in reversed(found) if len(each)), None)
        if last is not None and any(row[f"lead_{name}"] for name in _ENTRIES):
            for name in _ENTRIES:
                last[name][-1] += row[f"lead_{name}"]
            last["foreign"][-1] += int(row["lead_id"] != last["security_id"][-1])
        found.append(part.snapshots.copy())
    return np.concatenate(found)


def _all_there(parts: list[_Part], ends: int) -> bool:
    """Every number from 1 to that of the packet which ends the loop."""
    runs = np.concatenate([np.zeros(0, RUN), *(part.runs for part in parts)])
    runs["first"] &= NUMBER_MASK
    runs["last"] &= NUMBER_MASK
    heard = union([runs])
    return len(heard) == 1 and int(heard["first"][0]) == 1 and int(heard["last"][0]) == ends
