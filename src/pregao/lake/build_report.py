"""What a build is told, and what it has to say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from pregao.feeds.registry import DEFAULT
from pregao.lake.errors import FewerCapturesError
from pregao.lake.plan.captures import PIECE_PACKETS
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.units import Unit
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.run import SliceDone
from pregao.lake.unit_work import Refused, Unreadable
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


def left_out(indexes: Sequence[FileIndex], units: Sequence[Unit]) -> list[str]:
    """Flows that cannot be told, and channels without anything that makes a unit."""
    told = [f"{index.path}: {flow.reason}" for index in indexes for flow in index.left_out]
    built = {unit.channel for unit in units}
    found: dict[int, set[str]] = {}
    for index in indexes:
        for stream in index.streams:
            if stream.channel not in built:
                found.setdefault(stream.channel, set()).add(stream.stream.name.lower())
    told += [f"channel {unit.channel}, {unit.trade_date}: {each}" for unit in units for each in unit.left_out]
    told += [
        f"channel {channel} has no incremental stream that can be built, only {', '.join(sorted(streams))}"
        for channel, streams in sorted(found.items())
    ]
    return told
