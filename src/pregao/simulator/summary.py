"""What a simulation made, counted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pregao.model.streams import Stream
from pregao.simulator.driver import Driver
from pregao.simulator.fault_plan import FaultLog
from pregao.simulator.line import PublishingLine


@dataclass(slots=True)
class SimulationSummary:
    """What a simulation made. Counts are those of the first system."""

    folders: list[Path] = field(default_factory=list)
    beside: list[Path] = field(default_factory=list)  # of other systems
    commands: Counter[type] = field(default_factory=Counter)
    rejections: Counter[str] = field(default_factory=Counter)
    kinds: Counter[type] = field(default_factory=Counter)
    sizes: dict[Stream, Counter[int]] = field(default_factory=dict)
    by_channel: dict[int, Counter[int]] = field(default_factory=dict)  # sizes of incremental packets
    messages: int = 0
    packets: int = 0
    bytes: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)

    def sum_up(self, driver: Driver, lines: Sequence[PublishingLine], log: FaultLog) -> None:
        """At the end of the last day."""
        self.commands, self.kinds = driver.commands, driver.kinds
        self.rejections = Counter({reason.name: n for reason, n in driver.rejections.items()})
        self.messages, self.faults = driver.messages, log.counts
        first = [line for line in lines if line.system is lines[0].system]
        self.packets = sum(line.packets for line in first)
        for stream in Stream:
            self.sizes[stream] = sum((line.sizes[stream] for line in first), Counter())
        self.by_channel = {line.channel: line.sizes[Stream.INCREMENTAL] for line in first}
