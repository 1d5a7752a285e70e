"""A plan of faults drawn for one day of one channel: what happens to each of its captures, and when."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, NamedTuple, Protocol

import pyarrow as pa

from pregao.model.streams import Feed, Stream
from pregao.simulator.faults import ANY_TIME, PRIMARY, CutFeed, FaultPlan, Runs
from pregao.simulator.pace import DayClock
from pregao.simulator.tables import ROWS, TruthTable

# What faults did, packet by packet, in order: `faults.parquet`, or a list in memory.
#
#     date         the day's folder
#     kind         loss, both, gap, dup, delay, reorder, cut, silence, gone, site, skew, header, reset,
#                  burst
#     channel, feed, stream, seq_version, seq_num
#                  the packet: number 0 is a heartbeat, known by its time; of a reset the first packet it
#                  sent, on the feed that every other feed of its site equals; none of a skew, header or burst
#     sending_ns   the packet's sendingTime; of the others when they happened
#     amount       nanoseconds of a delay or skew, places of a reorder, orders of a burst, the instrument
#                  of a book reset
#     detail       which reset, and how its books came back


class AppliedFault(NamedTuple):
    date: str
    kind: str
    channel: int
    feed: str
    stream: str
    seq_version: int | None
    seq_num: int | None
    sending_ns: int
    amount: int | None = None
    detail: str | None = None


DEEDS: Final = pa.schema(
    [
        ("date", pa.string()), ("kind", pa.string()), ("channel", pa.int32()), ("feed", pa.string()),
        ("stream", pa.string()), ("seq_version", pa.int32()), ("seq_num", pa.int64()),
        ("sending_ns", pa.int64()), ("amount", pa.int64()), ("detail", pa.string()),
    ]
)  # fmt: skip


class FaultLog(Protocol):
    counts: Counter[str]

    def note(self, deed: AppliedFault) -> None: ...

    def close(self) -> None: ...

    def discard(self) -> None: ...


class FaultList:
    """Kept in memory."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.done: list[AppliedFault] = []

    def note(self, deed: AppliedFault) -> None:
        self.counts[deed.kind] += 1
        self.done.append(deed)

    def close(self) -> None:
        pass

    def discard(self) -> None:
        self.done.clear()


class FaultFile:
    """Written as they are done: a long day loses more packets than fit the memory."""

    def __init__(self, path: Path, spec: str, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        schema = DEEDS.with_metadata({"spec": spec, "seed": str(seed)})
        self._table = TruthTable(path, schema)
        self._rows: list[AppliedFault] = []

    def note(self, deed: AppliedFault) -> None:
        self.counts[deed.kind] += 1
        self._rows.append(deed)
        if len(self._rows) >= ROWS:
            self._write()

    def _write(self) -> None:
        self._table.write(list(zip(*self._rows)) or [[] for _ in DEEDS])  # noqa: B905
        self._rows.clear()

    def close(self) -> None:
        self._write()
        self._table.close()

    def discard(self) -> None:
        self._table.discard()


FIRST_S, LAST_S = 10 * 3600 + 300, 16 * 3600 + 45 * 60  # when things by chance happen, local time
TAKES_OVER_NS: Final = 2_000_000_000  # after the primary site fell silent
_AFTER_NS: Final = 1_000_000_000  # a day's last packets leave a little after its end
TARGETS: Final = {
    (Stream.INCREMENTAL, Feed.A): "A",
    (Stream.INCREMENTAL, Feed.B): "B",
    (Stream.DEFINITION, Feed.A): "I",
    (Stream.SNAPSHOT, Feed.A): "S",
    (Stream.INCREMENTAL, Feed.C): "C",
    (Stream.DEFINITION, Feed.C): "CI",
    (Stream.SNAPSHOT, Feed.C): "CS",
    (Stream.DEFINITION, Feed.B): "BI",
    (Stream.SNAPSHOT, Feed.B): "BS",
}
_INCREMENTAL: Final = ("A", "B")

Run = tuple[int, int]  # from when, and how many packets


@dataclass(frozen=True, slots=True)
class Silence:
    start_ns: int
    end_ns: int
    kind: str


@dataclass(slots=True)
class StreamFaults:
    """What happens to one capture. Lists of moments are in order, the last first."""

    loss: float = 0.0
    dup: float = 0.0
    delay: float = 0.0
    delay_ns: int = 0
    most_places: int = 0
    late: list[int] = field(default_factory=list)
    gaps: list[Run] = field(default_factory=list)
    both: list[Run] = field(default_factory=list)
    both_chance: float = 0.0
    silences: list[Silence] = field(default_factory=list)
    skew_ns: int = 0
    own_header: bool = False


class DayOfFaults:
    """One channel's day. Every draw has a generator of its own, so that none depends on another."""

    def __init__(self, plan: FaultPlan, clock: DayClock, seed: int, channel: int) -> None:
        self._plan, self._clock = plan, clock
        self.name = f"{seed}/{clock.midnight_ns}/{channel}"
        random = Random(f"times/{self.name}")
        self.failures = [
            (start_ns, clock.ends_ns if each.lasts_ns is None else start_ns + each.lasts_ns)
            for each in plan.contingency
            for start_ns in (self.moment(each.at_s, random),)
        ]
        self._silences = [(cut, self._silence(cut, random)) for cut in plan.cuts]
        self._both = self._runs(plan.both, Random(f"both/{self.name}"))

    def of(self, target: str) -> StreamFaults:
        plan, random = self._plan, Random(f"moments/{self.name}/{target}")
        chance, delay_ns = plan.delay.get(target, (0.0, 0))
        packets, places = plan.reorder.get(target, (0, 0))
        silences = [silence for cut, silence in self._silences if target in cut.targets]
        if target in PRIMARY:
            last_ns = self._clock.ends_ns
            silences += [
                Silence(start_ns, end_ns if end_ns < last_ns else last_ns + _AFTER_NS, "site")
                for start_ns, end_ns in self.failures
            ]
        incremental = target in _INCREMENTAL
        return StreamFaults(
            loss=plan.loss.get(target, 0.0),
            dup=plan.dup.get(target, 0.0),
            delay=chance,
            delay_ns=delay_ns,
            most_places=places,
            late=sorted((self.any_time(random) for _ in range(packets)), reverse=True),
            gaps=self._runs(plan.gaps.get(target), random),
            both=list(self._both) if incremental else [],
            both_chance=plan.both_chance if incremental else 0.0,
            silences=silences,
            skew_ns=plan.skew.get(target, 0),
            own_header=target in plan.own_headers,
        )

    def moment(self, at_s: int, random: Random) -> int:
        return self.any_time(random) if at_s == ANY_TIME else self._clock.at(at_s)

    def any_time(self, random: Random) -> int:
        return self._clock.at(random.uniform(FIRST_S, LAST_S))

    def _silence(self, cut: CutFeed, random: Random) -> Silence:
        if cut.lasts_ns is None:
            return Silence(self._clock.starts_ns, self._clock.ends_ns + _AFTER_NS, cut.kind)
        start_ns = self.moment(cut.at_s, random)
        return Silence(start_ns, start_ns + cut.lasts_ns, cut.kind)

    def _runs(self, runs: Runs | None, random: Random) -> list[Run]:
        times = 0 if runs is None else runs.times
        return sorted(
            ((self.any_time(random), runs.packets if runs else 0) for _ in range(times)), reverse=True
        )
