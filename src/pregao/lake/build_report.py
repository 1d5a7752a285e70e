"""What a build is told, and what it has to say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Final, NamedTuple

from pregao.feeds.registry import DEFAULT
from pregao.lake.errors import FewerCapturesError
from pregao.lake.plan.captures import PIECE_PACKETS
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.slicing import piece_starts
from pregao.lake.plan.units import LakeUnit
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.run import SliceDone
from pregao.lake.unit_work import Refused, UnitWork, Unreadable
from pregao.model.channel_map import ChannelMap

SECONDS_1, MINUTE_1, DAY_1 = 1_000_000_000, 60_000_000_000, 86_400_000_000_000
USUAL_BARS: Final = (SECONDS_1, MINUTE_1, DAY_1)


@dataclass(frozen=True, slots=True)
class BuildSettings:
    channels: frozenset[int] | None = None
    dates: frozenset[date] | None = None
    rebuild: bool = False
    bars: tuple[int, ...] = USUAL_BARS
    map: ChannelMap | None = None  # which address carries what
    scratch: str = ""
    slices: int | None = None  # of each unit; None: by its size
    piece_packets: int = PIECE_PACKETS
    derive: bool = True
    replace: bool = False  # units of which captures are missing now are built from those that are there
    system: str = DEFAULT  # whose captures they are: see `feeds.registry`


@dataclass(slots=True)
class BuildReport:
    build_id: str
    version: int
    units: list[UnitKey] = field(default_factory=list)
    unchanged: list[UnitKey] = field(default_factory=list)
    slices: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of wall time, by step
    work: dict[str, float] = field(default_factory=dict)  # of all tasks, by step
    bytes: int = 0
    scanned: int = 0  # captures that were read: of others the lake had an index
    warnings: list[str] = field(default_factory=list)  # what of the captures nothing was made of
    unreadable: list[Unreadable] = field(default_factory=list)  # captures
    refused: list[Refused] = field(default_factory=list)  # units whose captures have become fewer
    failed: list[Refused] = field(default_factory=list)  # units of which a capture could not be read

    def count(self, done: Iterable[SliceDone]) -> None:
        for each in done:
            for name, count in each.counts.items():
                self.counts[name] = self.counts.get(name, 0) + count
            for step, seconds in each.seconds.items():
                self.work[step] = self.work.get(step, 0.0) + seconds

    def raise_reason(self) -> None:
        """Where nothing at all could be built, and there is a reason."""
        for unreadable in (*self.unreadable, *(each.unreadable for each in self.failed)):
            if unreadable is not None:
                raise unreadable.error()
        if self.refused:
            raise FewerCapturesError("; ".join(map(str, self.refused)))


def left_out(indexes: Sequence[FileIndex], units: Sequence[LakeUnit]) -> list[str]:
    """Flows that cannot be told, and channels without anything that makes a unit."""
    lines = [f"{index.path}: {flow.reason}" for index in indexes for flow in index.left_out]
    built = {unit.channel for unit in units}
    found: dict[int, set[str]] = {}
    for index in indexes:
        for stream in index.streams:
            if stream.channel not in built:
                found.setdefault(stream.channel, set()).add(stream.stream.name.lower())
    lines += [
        f"channel {unit.channel}, {unit.trade_date}: {each}" for unit in units for each in unit.left_out
    ]
    lines += [
        f"channel {channel} has no incremental stream that can be built, only {', '.join(sorted(streams))}"
        for channel, streams in sorted(found.items())
    ]
    return lines


# What a build would do, without doing it: which captures it would read, which units it would build or
# replace, and about how long that takes and how much room. `pregao build --dry-run`.
#
# Captures that the lake has no index of are scanned for it, which is no work lost: the build finds the
# indexes.


# Measured on two cores with all tables (docs/performance.md), without the part that does not depend on size.
MESSAGES_A_SECOND: Final = 700_000
FIXED_SECONDS: Final = 8.0
BYTES_A_MESSAGE: Final = 24
BYTES_A_UNIT: Final = 250_000  # of its many small files


class UnitVerdict(Enum):
    BUILD = "build"  # it is not in the lake
    REPLACE = "replace"
    LEAVE = "leave"  # it is as its captures are


class UnitForecast(NamedTuple):
    trade_date: date
    source: str  # a channel or a session
    deed: UnitVerdict
    captures: int
    bytes: int  # of the captures
    messages: int
    slices: int

    @classmethod
    def of(cls, work: UnitWork, deed: UnitVerdict) -> "UnitForecast":
        unit, inputs = work.planned.unit, work.planned.inputs
        messages, size = int(piece_starts(unit)["messages"].sum()), sum(each.size for each in inputs)
        return cls(unit.trade_date, unit.key.source, deed, len(inputs), size, messages, len(work.slices))


@dataclass(slots=True)
class Forecast:
    captures: int
    scanned: int  # of them; of the others the lake has an index, or nothing of them is wanted
    units: list[UnitForecast] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def to_build(self) -> list[UnitForecast]:
        return [unit for unit in self.units if unit.deed in (UnitVerdict.BUILD, UnitVerdict.REPLACE)]

    @property
    def messages(self) -> int:
        return sum(unit.messages for unit in self.to_build)

    @property
    def seconds(self) -> float:
        return FIXED_SECONDS + self.messages / MESSAGES_A_SECOND if self.messages else 0.0

    @property
    def bytes(self) -> int:
        return self.messages * BYTES_A_MESSAGE + len(self.to_build) * BYTES_A_UNIT

    def take(self, work: UnitWork, deed: UnitVerdict) -> None:
        self.units.append(UnitForecast.of(work, deed))

    def leave(self, keys: Iterable[UnitKey]) -> None:
        self.units += [
            UnitForecast(key.trade_date, key.source, UnitVerdict.LEAVE, 0, 0, 0, 0) for key in keys
        ]
        self.units.sort(key=lambda unit: unit[:2])

    def lines(self) -> list[str]:
        """A line for each unit, for people and `column -t`."""
        head = "date source deed captures bytes messages slices"
        return [head, *(" ".join(map(str, _shown(unit))) for unit in self.units)]


def _shown(unit: UnitForecast) -> tuple[object, ...]:
    return (
        unit.trade_date, unit.source, unit.deed.value, unit.captures, unit.bytes, unit.messages, unit.slices,
    )  # fmt: skip
