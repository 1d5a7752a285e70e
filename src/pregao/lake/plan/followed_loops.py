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
    """Loops of all snapshot streams of a unit, given with the numbers of their files. Where A and B both have
    snapshots, a loop that neither has whole is what both have of it together."""
    chains = list(_chains(streams))
    done: set[int] = set()
    for number, chain in enumerate(chains):
        for parts, loop in chain:
            if id(loop) in done:
                continue
            copies = [] if loop.complete else _copies(loop, chains[:number] + chains[number + 1 :])
            if not copies or any(copy.complete for _, copy in copies):
                yield loop
                continue
            done.update(id(copy) for _, copy in copies)
            yield _together([(parts, loop), *copies])


_Chain = list[tuple[list["_Part"], FollowedLoop]]


def _chains(streams: Sequence[tuple[int, StreamIndex]]) -> Iterator[_Chain]:
    """The loops of each flow, over its files."""
    flows: dict[tuple[int, Feed], list[tuple[int, StreamIndex]]] = {}
    for file, stream in streams:
        if len(stream.loops):
            flows.setdefault((stream.flow, stream.feed), []).append((file, stream))
    for flow in flows.values():
        flow.sort(key=lambda each: (int(each[1].loops["sent_ns"].min()), each[0]))
        joined: list[list[_Part]] = []
        for part in (part for file, stream in flow for part in _parts(file, stream)):
            if joined and _goes_on(joined[-1][-1], part):
                joined[-1].append(part)
            else:
                joined.append([part])
        yield [(parts, _loop(parts, is_last=parts is joined[-1])) for parts in joined]


def _copies(loop: FollowedLoop, chains: list[_Chain]) -> _Chain:
    """The same loop as other feeds of its site have it: loops of a feed follow each other, so those that were
    sent at the same time are one. What a feed has of a snapshot must be all of it, or it cannot be told what
    the other has to add."""
    site = loop.places[0].stream.feed is Feed.C
    return [
        (parts, copy)
        for chain in chains
        for parts, copy in chain
        if (copy.places[0].stream.feed is Feed.C) == site and _is_same(loop, copy)
        and all(_is_of_wholes(each) for each in (loop, copy))
    ]  # fmt: skip


def _is_same(loop: FollowedLoop, copy: FollowedLoop) -> bool:
    """One that a reset broke off may have been sent in the same millisecond as the next."""
    begins_ns, ends_ns = max(loop.sent_ns, copy.sent_ns), min(loop.ended_ns, copy.ended_ns)
    if begins_ns > ends_ns:
        return False
    (ends, listed, greatest), (their_ends, their_listed, their_greatest) = _facts(loop), _facts(copy)
    if (ends or their_ends or max(greatest, their_greatest)) < max(greatest, their_greatest):
        return False
    if any(a and b and a != b for a, b in ((ends, their_ends), (listed, their_listed))):
        return False
    _, ours, theirs = np.intersect1d(loop.snapshots["unit"], copy.snapshots["unit"], return_indices=True)
    only_touch = begins_ns == ends_ns and loop.sent_ns != copy.sent_ns
    same: Array = loop.snapshots[_WHO][ours] == copy.snapshots[_WHO][theirs]
    return bool(same.all()) and (len(ours) > 0 or not only_touch)


_WHO: Final = ["security_id", "number", "rpt_seq"]


def _facts(loop: FollowedLoop) -> list[int]:
    """Number of the packet that ends it, and how many snapshots it has, 0 where it does not say; and the
    greatest number of a packet."""
    rows = [place.stream.loops[place.stream.loops["loop"] == place.loop] for place in loop.places]
    return [max(int(row[name].max()) for row in rows) for name in ("ends", "listed", "greatest")]


def _is_of_wholes(loop: FollowedLoop) -> bool:
    return bool(loop.whole.all()) and not any(
        place.stream.loops[f"lead_{name}"][place.stream.loops["loop"] == place.loop].any()
        for place in loop.places
        for name in _ENTRIES
    )


def _together(copies: _Chain) -> FollowedLoop:
    parts = [part for own, _ in copies for part in own]
    snapshots = np.concatenate([loop.snapshots for _, loop in copies])
    _, firsts = np.unique(snapshots["unit"], return_index=True)
    ends = max(int(part.row["ends"]) for part in parts)
    listed = max(int(part.row["listed"]) for part in parts)
    whole, alone = (
        np.concatenate([getattr(loop, name) for _, loop in copies])[firsts] for name in ("whole", "alone")
    )
    return FollowedLoop(
        [part.place for part in parts], min(loop.sent_ns for _, loop in copies),
        max(loop.ended_ns for _, loop in copies), _all_there(parts, ends) and listed == len(firsts) > 0,
        not ends and any(loop.is_open for _, loop in copies), snapshots[firsts], whole, alone,
    )  # fmt: skip


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
    order = np.lexsort((stream.snapshots["unit"], stream.snapshots["loop"]))
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
    snapshots = _followed_snapshots(parts)
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


def _followed_snapshots(parts: list[_Part]) -> Array:
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
