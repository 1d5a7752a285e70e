"""How far a unit has been streamed. It is kept in the unit's own row of the lake, so it changes with the
rows in one commit, and nothing else is needed to go on."""

import json
from collections import Counter
from dataclasses import astuple, dataclass, field
from typing import Any

from pregao.lake.plan.slicing import FROM_FIRST, TO_LAST


@dataclass(slots=True)
class Segment:
    """A slice that is in the lake, or `parts` neighbouring ones that were joined. `digest` is of all that
    its rows follow from, up to its stop: so that of the last part is that of all. `size` in bytes."""

    number: int
    start: int
    stop: int
    digest: str
    size: int = 0
    parts: int = 1


@dataclass(slots=True)
class StreamState:
    """`loops` has what was found of each snapshot loop, by the segments that found it; `unnamed` the first
    segment in which an id stands without a symbol; `reached` the last place that was known."""

    segments: list[Segment] = field(default_factory=list)
    loops: dict[str, dict[int, dict[str, int]]] = field(default_factory=dict)
    unnamed: dict[int, int] = field(default_factory=dict)
    instruments: str = ""
    reached: int = FROM_FIRST
    next_number: int = 0
    derived: bool = False
    ends: list[Any] | None = None  # the books of the last segment, when it is finished: see `plan.carried`

    @property
    def end(self) -> int:
        return self.segments[-1].stop if self.segments else FROM_FIRST

    @property
    def is_finished(self) -> bool:
        return self.end == TO_LAST

    def keep(self, count: int) -> list[Segment]:
        """Only the first segments; those that go."""
        gone, self.segments = self.segments[count:], self.segments[:count]
        numbers = {segment.number for segment in gone}
        for key, found in list(self.loops.items()):
            left = {number: counts for number, counts in found.items() if number not in numbers}
            if left:
                self.loops[key] = left
            else:
                del self.loops[key]
        self.unnamed = {each: number for each, number in self.unnamed.items() if number not in numbers}
        return gone

    def add(self, segment: Segment, loops: dict[str, dict[str, int]], unnamed: list[int]) -> None:
        self.segments.append(segment)
        self.next_number = segment.number + 1
        for key, counts in loops.items():
            self.loops.setdefault(key, {})[segment.number] = counts
        for security_id in unnamed:
            self.unnamed.setdefault(security_id, segment.number)

    def join(self, first: int, end: int) -> Segment:
        """The segments from one up to another become one, with all that they found."""
        gone = self.segments[first:end]
        joined = Segment(
            self.next_number, gone[0].start, gone[-1].stop, gone[-1].digest,
            sum(each.size for each in gone), sum(each.parts for each in gone),
        )  # fmt: skip
        numbers = {each.number for each in gone}
        for found in self.loops.values():
            mine = [found.pop(number) for number in numbers & found.keys()]
            if mine:
                found[joined.number] = dict(sum(map(Counter, mine), Counter[str]()))
        self.unnamed = {
            each: joined.number if number in numbers else number for each, number in self.unnamed.items()
        }
        self.segments[first:end] = [joined]
        self.next_number += 1
        return joined

    def found(self, key: str) -> Counter[str]:
        """Of a loop, by all segments."""
        total: Counter[str] = Counter()
        for counts in self.loops.get(key, {}).values():
            total.update(counts)
        return total

    def to_plan(self, loops: int) -> dict[str, Any]:
        """As the column `plan` of the unit's row has it."""
        told = {
            "segments": [list(astuple(each)) for each in self.segments],
            "loops": self.loops, "unnamed": self.unnamed, "instruments": self.instruments,
            "reached": self.reached, "next_number": self.next_number, "derived": self.derived,
        }  # fmt: skip
        return {"slices": len(self.segments), "loops": loops, "stream": told}

    @classmethod
    def of_plan(cls, text: str | None) -> "StreamState | None":
        """None: the unit was not streamed but built."""
        plan = json.loads(text or "{}")
        told = plan.get("stream")
        if told is None:
            return None
        loops = {
            key: {int(number): counts for number, counts in found.items()}
            for key, found in told["loops"].items()
        }
        unnamed = {int(security_id): number for security_id, number in told["unnamed"].items()}
        return cls(
            [Segment(*each) for each in told["segments"]], loops, unnamed, told["instruments"],
            told["reached"], told["next_number"], told["derived"], plan.get("ends"),
        )  # fmt: skip
