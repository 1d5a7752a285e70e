"""Snapshot loops of a unit by the places they cover, and which of them a slice can begin with.

A loop is an anchor when what is known after it does not depend on anything before it: it is complete, of
this unit's sequence, and while it and the loop before it ran nothing happened that withholds instruments
from loops (6.5.11, 6.5.12) or that might have been lost. Only then does absence from it mean an empty book.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from pregao.lake.plan.followed_loops import FollowedLoop, LoopPlace, follow
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK, Array
from pregao.lake.plan.presence import holes, lost_beginnings
from pregao.lake.plan.units import NOWHERE, LakeUnit
from pregao.model.rows import Kind
from pregao.model.streams import Feed

_CHECKPOINT_NS: Final = 600_000_000_000  # a stored book every ten minutes
_WITHHOLD: Final = (Kind.CHANNEL_RESET, Kind.EMPTY_BOOK, Kind.SEQUENCE_RESET, Kind.DEFINITION)


@dataclass(slots=True)
class Loop:
    """`begun` is the place at which its list of instruments was made; NOWHERE: not known."""

    number: int  # in the unit
    parts: list[LoopPlace]  # where it is, file by file; none in a task
    sent_ns: int
    ended_ns: int
    complete: bool
    is_open: bool  # its end may be in a file that is not there yet
    security_ids: Array
    places: Array  # of each snapshot, NOWHERE where it is of another sequence
    rpt_seqs: Array
    alone: Array
    whole: Array
    begun: int = NOWHERE
    quiet: bool = False
    saved: Array | None = None  # which books are stored; None: none
    tells_others: bool = False  # it is stored that whoever is not in it has an empty book

    @property
    def first(self) -> int:
        """The least place that a slice must have seen after it began with this loop."""
        placed = self.places[self.places != NOWHERE]
        least = int(placed.min()) if len(placed) else self.begun
        return least if self.begun == NOWHERE else min(least, self.begun)

    @property
    def last(self) -> int:
        return int(self.places.max()) if len(self.places) else self.begun

    @property
    def is_anchor(self) -> bool:
        return self.complete and self.quiet and self.begun != NOWHERE and bool((self.places != NOWHERE).all())


def find_loops(unit: LakeUnit) -> list[Loop]:
    found = [
        _loop(unit, followed)
        for followed in _without_copies(list(follow(unit.snapshots)))
        if len(followed.snapshots) and unit.since_ns <= followed.sent_ns < unit.until_ns
        and (not _is_contingency(followed) or _is_of_takeover(unit, followed))
    ]  # fmt: skip
    found.sort(key=lambda loop: (loop.sent_ns, loop.parts[0].stream.flow, loop.parts[0].loop))
    _judge(unit, found)
    _choose_saved(found)
    _choose_tellers(found)
    return found


def _without_copies(loops: list[FollowedLoop]) -> list[FollowedLoop]:
    """Where snapshots are sent on A and B, of the copies of a loop one that is complete is enough."""
    complete: dict[int, FollowedLoop] = {}
    for loop in loops:
        if loop.complete:
            complete.setdefault(loop.sent_ns, loop)
    return [
        loop
        for loop in loops
        if complete.get(loop.sent_ns, loop) is loop or _feed(loop) is _feed(complete[loop.sent_ns])
    ]


def _feed(loop: FollowedLoop) -> Feed:
    return loop.places[0].stream.feed


def _is_contingency(followed: FollowedLoop) -> bool:
    return _feed(followed) is Feed.C


def _is_of_takeover(unit: LakeUnit, followed: FollowedLoop) -> bool:
    """Loops of the contingency site count while the unit goes on with it; all, where it has no other."""
    if not unit.taken_spans:
        return True
    return any(first < followed.sent_ns and followed.ended_ns < end for first, end in unit.taken_spans)


def _loop(unit: LakeUnit, followed: FollowedLoop) -> Loop:
    mine = followed.snapshots
    theirs = [number for number in range(len(unit.versions)) if number in unit.taken_over]
    ours = [number for number in range(len(unit.versions)) if number not in unit.taken_over]
    site = theirs if unit.taken_over and _is_contingency(followed) else ours
    places = _places(unit, mine, followed.sent_ns, site)
    listed = mine["in_first"] & (places != NOWHERE)
    begun = int(places[listed][0]) if listed.any() else NOWHERE
    return Loop(
        0, followed.places, followed.sent_ns, followed.ended_ns, followed.complete, followed.is_open,
        mine["security_id"], places, mine["rpt_seq"], followed.alone, followed.whole, begun,
    )  # fmt: skip


def _places(unit: LakeUnit, snapshots: Array, sent_ns: int, site: list[int]) -> Array:
    """`site`: the appearances that may be meant. Below wire version 15 a snapshot does not say of which
    sequence it is: of the one at that time."""
    appearance = np.full(len(snapshots), NOWHERE, np.int64)
    for number in site:
        appearance[snapshots["version"] == unit.versions[number]] = number
    if (snapshots["version"] < 0).any():
        sent = np.where(snapshots["sent_ns"] > 0, snapshots["sent_ns"], sent_ns)
        began = np.array([unit.version_ns[number] for number in site] or [0], np.int64)
        at_that_time = np.maximum(np.searchsorted(began, sent, side="right") - 1, 0)
        appearance = np.where(snapshots["version"] < 0, np.array(site or [0])[at_that_time], appearance)
    numbers = np.where(snapshots["number"] < 0, 0, snapshots["number"])
    return np.where(appearance < 0, NOWHERE, appearance << NUMBER_BITS | numbers)


def _judge(unit: LakeUnit, loops: list[Loop]) -> None:
    troubles, gaps = np.sort(np.concatenate([_withholding(unit), _begun(unit)])), _lost(unit)
    before: Loop | None = None
    for number, loop in enumerate(loops):
        loop.number = number
        if loop.begun == NOWHERE and before is not None and before.last != NOWHERE:
            loop.begun = before.last
        since = loop.first if before is None else min(before.first, loop.first)
        same = before is None or before.first >> NUMBER_BITS == loop.last >> NUMBER_BITS
        first, last = np.searchsorted(troubles, [since, loop.last + 1])
        # A loop may lie within a gap, so its ends need not be near.
        lost = np.searchsorted(gaps["first"], loop.last + 1) > np.searchsorted(gaps["last"], since)
        loop.quiet = same and first == last and not lost and before is not None
        before = loop


def _withholding(unit: LakeUnit) -> Array:
    places: Array = unit.marks["key"][np.isin(unit.marks["kind"], _WITHHOLD)]
    return places


def _begun(unit: LakeUnit) -> Array:
    """The beginnings of further sequences, and where packets come again."""
    runs = unit.all_runs
    begun = np.arange(1, len(unit.versions), dtype=np.int64) << NUMBER_BITS
    first_of_all = runs["first"][:1]
    late = runs["first"][((runs["first"] & NUMBER_MASK) != 1) & (runs["first"] != first_of_all)]
    return np.concatenate([begun, late])


def _lost(unit: LakeUnit) -> Array:
    """Runs of packets that nobody has, by place: also those after the last of a sequence, if there are."""
    runs = unit.all_runs
    ends = runs[np.flatnonzero(np.diff(runs["last"] >> NUMBER_BITS))].copy()
    ends["first"], ends["last"] = ends["last"] + 1, ends["last"] | NUMBER_MASK
    lost = np.concatenate([holes(runs), lost_beginnings(runs, unit.taken_over), ends])
    return lost[np.argsort(lost["first"], kind="stable")]


def _choose_saved(loops: list[Loop]) -> None:
    """The first complete loop of each ten minutes stores the books that have changed since the one before:
    where the rptSeq is the same, so is the book."""
    told: dict[int, tuple[int, int]] = {}
    last_bucket = -1
    for loop in loops:
        bucket = loop.sent_ns // _CHECKPOINT_NS
        if not loop.complete or bucket == last_bucket:
            continue
        last_bucket = bucket
        saved = np.zeros(len(loop.places), np.bool_)
        listed = zip(loop.security_ids.tolist(), loop.places.tolist(), loop.rpt_seqs.tolist(), strict=True)
        for row, (security_id, place, rpt_seq) in enumerate(listed):
            key = place >> NUMBER_BITS, rpt_seq
            saved[row] = place != NOWHERE and told.get(security_id) != key
            told[security_id] = key
        loop.saved = saved


def _choose_tellers(loops: list[Loop]) -> None:
    """The first anchor of each ten minutes, for only an anchor tells anything by silence."""
    last_bucket = -1
    for loop in loops:
        bucket = loop.sent_ns // _CHECKPOINT_NS
        if loop.is_anchor and loop.whole.all() and bucket != last_bucket:
            last_bucket, loop.tells_others = bucket, True
