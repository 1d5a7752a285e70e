"""What the days of `impaired-days` suffer: one scenario a seed, in turn. Every one has losses that no feed
can fill."""

from dataclasses import dataclass
from random import Random

from pregao.feeds.publishing import Habits

_UNFILLABLE = ("both=4", "both=3x3", "both=2x12", "both=1%", "both=1x60,both=6")
_SCENARIOS = (
    ("no independent loss", ""),
    ("loss of 0.1 %", "loss=0.1%"),
    ("loss of 1 %", "loss=1%"),
    ("loss of 5 %", "loss=5%"),
    ("loss on recovery streams too", "loss=1%,loss=3%@I+S,dup=1%@I+S"),
    ("one feed gone", "gone=B"),
    ("a feed cut", "cut=A@?+30s,loss=0.5%"),
    ("bursts", "burst=3x400@?,loss=1%"),
    ("reorder", "reorder=40:100,loss=0.5%"),
    ("late and twice", "delay=2%:20ms,dup=2%"),
    ("silence", "silence=?+10s,loss=0.5%"),
    ("stream reset", "reset=stream@?,loss=1%"),
    ("stream reset in a loop", "reset=stream@loop,both=2x8"),
    ("channel reset", "reset=channel@?,loss=1%"),
    ("channel reset in a loop", "reset=channel@loop,both=2x8"),
    ("channel reset with definitions", "reset=definitions@?,loss=1%"),
    ("books emptied", "reset=4xbook@?,both=4x2"),
    ("book emptied in a loop", "reset=2xbook@loop,loss=1%"),
    ("failover", "reset=failover@?,loss=1%"),
    ("failover in a loop", "reset=failover@loop,both=2x8"),
    ("week", "reset=week@?,loss=1%"),
    ("many resets", "reset=2xbook@?,reset=stream@?,reset=channel@?,reset=failover@?,both=1%"),
)
EVERY_EVENT_OF = 12  # one seed in so many is compared after every event
LATE_JOIN_OF = 5
OLD_VERSION_OF = 4
QUIET_OF = 6  # one in so many has hardly any orders: heartbeats and loops
MESSAGES, QUIET_MESSAGES = 2_500, 250
INSTRUMENTS, RELISTINGS = 60, 48
# Packet by packet, or as a live market by default: what there is, all channels and streams together.
_BATCHES = (0, 1, 64, 1_024)
# A book told again in one event or in many; loops of definitions with and without a SequenceReset (6.5.8);
# snapshots that send the number of the phase as a state (14).
_HABITS = (
    Habits(), Habits(1), Habits(4), Habits(0, False), Habits(3, False),
    Habits(phases_as_states=True), Habits(2, False, phases_as_states=True),
)  # fmt: skip
OWN_HEADERS_OF = 3  # SendingTime and Reserved of B are its own, but for one seed in so many
OLD, NEW = 8, 16


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    faults: str
    version: int
    every_event: bool
    joins_at: float  # share of the day that passes before anybody listens; late ones join a silence
    mid_week: bool
    batch: int  # packets that are taken at once; 0: one by one
    quiet: bool
    habits: Habits

    def __str__(self) -> str:
        return (
            f"{self.name} ({self.faults}), version {self.version}, joined after {self.joins_at:.0%}, "
            f"{'mid-week' if self.mid_week else 'Monday'}{', every event' if self.every_event else ''}"
            f"{', quiet' if self.quiet else ''}, batches of {self.batch}, {self.habits}"
        )


def scenario_of(seed: int) -> Scenario:
    chance = Random(f"impaired/{seed}")
    name, faults = _SCENARIOS[seed % len(_SCENARIOS)]
    both = _UNFILLABLE[seed // len(_SCENARIOS) % len(_UNFILLABLE)]
    if "both" not in faults:
        faults = ",".join(filter(None, (faults, both)))
    if seed % OWN_HEADERS_OF:
        faults += ",header=B"
    late = seed % LATE_JOIN_OF == LATE_JOIN_OF - 1
    return Scenario(
        name,
        faults,
        version=OLD if seed % OLD_VERSION_OF == OLD_VERSION_OF - 1 else NEW,
        every_event=seed % EVERY_EVENT_OF == 0,
        joins_at=round(chance.uniform(0.05, 0.93), 3) if late else 0.0,
        mid_week=chance.random() < 0.5,
        batch=chance.choice(_BATCHES),
        quiet=chance.randrange(QUIET_OF) == 0,
        habits=chance.choice(_HABITS),
    )
