"""How a lake is streamed into, and what a batch has to say."""

from dataclasses import dataclass, field
from typing import Final

from pregao.feeds.registry import DEFAULT
from pregao.lake.build import USUAL_BARS
from pregao.lake.streaming.indexes import LeftOut
from pregao.lake.tables.table import UnitKey
from pregao.model.channel_map import ChannelMap

SECOND_NS: Final = 1_000_000_000
PIECE_PACKETS: Final = 256  # finer than a build's: a batch can only end where a piece begins


@dataclass(frozen=True, slots=True)
class StreamSettings:
    wait_ns: int = 60 * SECOND_NS  # of recorded time, for a stream that is silent
    derive_every_ns: int = 300 * SECOND_NS  # of wall time
    channels: frozenset[int] | None = None
    bars: tuple[int, ...] = USUAL_BARS
    map: ChannelMap | None = None
    scratch: str = ""
    piece_packets: int = PIECE_PACKETS
    derive: bool = True
    compact: bool = True
    join: int = 16  # so many neighbouring segments of a running day become one
    system: str = DEFAULT


@dataclass(slots=True)
class Latency:
    """From the packet to the row that everybody can read. `of_files`: the packets are of another time than
    now, so it is from the file's own time."""

    newest_ns: int
    p99_ns: int
    of_files: bool


@dataclass(slots=True)
class BatchReport:
    version: int  # of the lake
    files: int = 0
    units: list[UnitKey] = field(default_factory=list)
    finished: list[UnitKey] = field(default_factory=list)
    rebuilt: int = 0  # segments that were in the lake already
    counts: dict[str, int] = field(default_factory=dict)
    horizon_ns: int | None = None
    derived: bool = False
    compacted: int = 0  # files that became fewer
    seconds: float = 0.0
    latency: Latency | None = None
    left_out: list[LeftOut] = field(default_factory=list)
    postponed: bool = False  # days that begin with the books of one that is built now

    def add(self, later: "BatchReport") -> None:
        """What was done right after it."""
        self.version, self.postponed = later.version, later.postponed
        self.units += later.units
        self.finished += later.finished
        self.rebuilt += later.rebuilt
        self.compacted += later.compacted
        self.seconds += later.seconds
        self.derived |= later.derived
        self.horizon_ns = later.horizon_ns or self.horizon_ns
        self.latency = later.latency or self.latency
        for name, count in later.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
