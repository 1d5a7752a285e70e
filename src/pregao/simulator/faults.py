"""What is to go wrong in a simulation, as a plan. `fault_language` reads it from text, `fault_plan` puts it
into days, `impaired` does it to packets."""

from dataclasses import dataclass, field
from typing import Final

RESETS: Final = ("channel", "definitions", "stream", "book", "failover", "week")
PRIMARY: Final = ("A", "B", "I", "S", "BI", "BS")
TARGETS: Final = (*PRIMARY, "C", "CI", "CS")
IN_LOOP: Final = -1  # a moment: when a snapshot loop is under way
ANY_TIME: Final = -2  # a moment: by the seed


@dataclass(frozen=True, slots=True)
class CutFeed:
    """Silence; `at_s` is local time or ANY_TIME, `lasts_ns` None to the end of the day."""

    targets: tuple[str, ...]
    at_s: int
    lasts_ns: int | None
    kind: str = "cut"


@dataclass(frozen=True, slots=True)
class Reset:
    kind: str
    at_s: int  # or IN_LOOP, or ANY_TIME


@dataclass(frozen=True, slots=True)
class Burst:
    orders: int
    at_s: int


@dataclass(frozen=True, slots=True)
class Runs:
    """So many times so many packets in a row."""

    times: int
    packets: int


@dataclass(frozen=True, slots=True)
class SiteFailure:
    at_s: int
    lasts_ns: int | None


@dataclass(frozen=True, slots=True)
class SessionFault:
    """`lasts_ns` is that of a server that stops."""

    kind: str  # cut, stop
    at_s: int
    lasts_ns: int = 0


@dataclass(slots=True)
class FaultPlan:
    """What is to go wrong, by target."""

    loss: dict[str, float] = field(default_factory=dict)
    dup: dict[str, float] = field(default_factory=dict)
    delay: dict[str, tuple[float, int]] = field(default_factory=dict)
    reorder: dict[str, tuple[int, int]] = field(default_factory=dict)  # packets, and the most places
    gaps: dict[str, Runs] = field(default_factory=dict)
    both: Runs | None = None
    both_chance: float = 0.0
    cuts: list[CutFeed] = field(default_factory=list)
    skew: dict[str, int] = field(default_factory=dict)
    own_headers: set[str] = field(default_factory=set)
    resets: list[Reset] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)
    contingency: list[SiteFailure] = field(default_factory=list)
    sessions: list[SessionFault] = field(default_factory=list)

    @property
    def touches_packets(self) -> bool:
        chances = self.loss or self.dup or self.delay or self.both_chance
        runs = self.gaps or self.both or self.cuts
        return bool(chances or runs or self.reorder or self.skew or self.own_headers or self.contingency)
