"""Units of a build in the order in which they can be built.

All slices can be built at once but the first of a unit, which begins with the books that the unit before it
ends with. So that one waits for the last of the other, and whether a unit whose captures did not change has
to be built again may show only then.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pregao.lake.plan.carried import Carried, Chain, digest_of, together
from pregao.lake.plan.fingerprints import Input
from pregao.lake.plan.slicing import FROM_FIRST, Slice
from pregao.lake.plan.units import Unit
from pregao.lake.planned import Planned, start_of
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.run import SliceDone

Fingerprint = Callable[[Sequence[Input], str | None], str]  # of captures, and of the books it begins with
Cut = Callable[[Unit, bool], tuple[Planned, list[Slice]]]  # whether its first slice waits
Locate = Callable[[Carried], Carried]
Ready = tuple["UnitWork", int]  # a slice of a unit


@dataclass(slots=True)
class UnitWork:
    """`row`: as the lake has it. `slices` are there when it is to be built."""

    unit: Unit
    inputs: list[Input]
    row: dict[str, Any] | None
    planned: Planned | None = None
    slices: list[Slice] = field(default_factory=list)
    done: dict[int, SliceDone] = field(default_factory=dict)
    waits: bool = False
    ends: Carried | None = None  # known when its last slices are done

    @property
    def firsts(self) -> list[int]:
        """Slices that begin where the unit does: one, or all its shards."""
        return [number for number, slice_ in enumerate(self.slices) if slice_.start == FROM_FIRST]

    @property
    def key(self) -> UnitKey:
        return self.unit.key

    @property
    def fingerprint(self) -> str | None:
        return None if self.row is None else str(self.row["fingerprint"])

    @property
    def begun(self) -> str | None:
        """The digest of the books that it was built upon."""
        plan = {} if self.row is None else json.loads(self.row["plan"] or "{}")
        begins: str | None = plan.get("begins")
        return begins


class Waves:
    """`works` in order of date. `unchanged` and `built` are the outcome."""

    def __init__(
        self, works: Sequence[UnitWork], chain: Chain, *, fingerprint: Fingerprint, cut: Cut, locate: Locate,
        rebuild: bool,
    ) -> None:  # fmt: skip
        self._chain, self._fingerprint, self._cut, self._locate = chain, fingerprint, cut, locate
        self._rebuild = rebuild
        self._undecided = list(works)
        self.unchanged: list[UnitKey] = []
        self.built: list[UnitWork] = []
        chain.expect(work.key for work in works)

    def next(self) -> list[Ready]:
        """Slices that can be built now; none: all is done."""
        undecided, self._undecided = self._undecided, []
        ready = [slice_ for work in undecided for slice_ in self._decide(work)]
        begun = [work for work in self.built if work.waits and not self._chain.waits(work.key)]
        return ready + [each for work in begun for each in self._begin(work)]

    def take(self, ready: Sequence[Ready], done: Sequence[SliceDone]) -> None:
        for (work, number), each in zip(ready, done, strict=True):
            work.done[number] = each
            lasts = [last for last, slice_ in enumerate(work.slices) if slice_.is_last]
            if number in lasts and all(last in work.done for last in lasts):
                work.ends = together([work.done[last].ends for last in lasts])
                self._chain.end(work.key, work.ends)

    def _decide(self, work: UnitWork) -> Iterator[Ready]:
        waits = self._chain.waits(work.key)
        begins = None if waits else self._chain.begins(work.key, start_of(work.unit))
        upon = work.begun if waits else digest_of(begins)
        if not self._rebuild and work.fingerprint == self._fingerprint(work.inputs, upon):
            if waits:
                self._undecided.append(work)  # it depends on what the day before will end with
            else:
                self._chain.settle(work.key)
                self.unchanged.append(work.key)
            return
        work.planned, work.slices = self._cut(work.unit, waits)
        work.waits = waits
        self.built.append(work)
        if not waits:
            yield from self._begin(work)
        firsts = work.firsts
        yield from ((work, number) for number in range(len(work.slices)) if number not in firsts)

    def _begin(self, work: UnitWork) -> list[Ready]:
        assert work.planned is not None
        begins = self._chain.begins(work.key, work.planned.start)
        work.planned.begins = None if begins is None else self._locate(begins)
        for number in work.firsts:
            work.slices[number].begin_with(work.planned.begins)
        work.waits = False
        return [(work, number) for number in work.firsts]
