"""Faults on the way from the exchange to the capture: a small language, and what carries it out.

    loss=0.1%               each feed loses packets by chance; loss=0.1%@B only that one
    dup=0.05%               packets that come twice
    delay=0.1%:5ms          packets that come late, so behind others
    reorder=20              so many packets of each feed that come one to three places late
    both=3                  so many packets of each channel that neither feed has
    cut=B@11:00+30s         a feed is silent for a while (local time)
    skew=B:+250us           the clock of that capture goes wrong by so much
    reset=channel@12:00     channel, stream, book or failover: done by the exchange itself

Items are separated by commas; times have the units ns, us, ms, s, m. A and B are the incremental
feeds, I the instrument definitions, S the snapshots; without a target A and B are meant. All chance
comes from the seed. Every deed is noted and ends up in `faults.json`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pregao.model.errors import ConfigurationError

RESETS: Final = ("channel", "stream", "book", "failover")
TARGETS: Final = ("A", "B", "I", "S")
_UNITS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_CHANCE: Final = re.compile(r"(\d+(?:\.\d+)?)%(?:@([ABIS]))?")
_DELAY: Final = re.compile(r"(\d+(?:\.\d+)?)%:(\d+)(ns|us|ms|s)(?:@([ABIS]))?")
_CUT: Final = re.compile(r"([ABIS])@(\d\d):(\d\d)(?::(\d\d))?\+(\d+)(ms|s|m)")
_SKEW: Final = re.compile(r"([ABIS]):([+-]\d+)(ns|us|ms|s)")
_RESET: Final = re.compile(rf"({'|'.join(RESETS)})@(\d\d):(\d\d)(?::(\d\d))?")
_COUNT: Final = re.compile(r"\d{1,6}")
_INCREMENTAL: Final = ("A", "B")


@dataclass(frozen=True, slots=True)
class Cut:
    target: str
    start_s: int
    lasts_ns: int


@dataclass(frozen=True, slots=True)
class Reset:
    kind: str
    at_s: int


@dataclass(slots=True)
class FaultPlan:
    """What is to go wrong, by target."""

    loss: dict[str, float] = field(default_factory=dict)
    dup: dict[str, float] = field(default_factory=dict)
    delay: dict[str, tuple[float, int]] = field(default_factory=dict)
    reorder: int = 0
    both: int = 0
    cuts: list[Cut] = field(default_factory=list)
    skew: dict[str, int] = field(default_factory=dict)
    resets: list[Reset] = field(default_factory=list)

    @property
    def touches_packets(self) -> bool:
        chances = bool(self.loss or self.dup or self.delay or self.cuts or self.skew)
        return chances or self.reorder > 0 or self.both > 0


def parse_faults(spec: str) -> FaultPlan:
    """Reads the language above; ConfigurationError names the item that is wrong."""
    plan = FaultPlan()
    for item in filter(None, (part.strip() for part in spec.split(","))):
        name, equals, value = item.partition("=")
        reader = _READERS.get(name)
        if not equals or reader is None:
            raise ConfigurationError(f"{item!r} is not one of {', '.join(_READERS)}", key="faults")
        reader(plan, value, item)
    return plan


def _matched(pattern: re.Pattern[str], value: str, item: str) -> re.Match[str]:
    found = pattern.fullmatch(value)
    if found is None:
        raise ConfigurationError(f"{item!r} cannot be read", key="faults")
    return found


def _chance(text: str, item: str) -> float:
    chance = float(text) / 100
    if chance > 1:
        raise ConfigurationError(f"{item!r}: more than all", key="faults")
    return chance


def _targets(letter: str | None) -> tuple[str, ...]:
    return _INCREMENTAL if letter is None else (letter,)


def _seconds(hours: str, minutes: str, seconds: str | None, item: str) -> int:
    if int(hours) > 23 or int(minutes) > 59 or int(seconds or 0) > 59:
        raise ConfigurationError(f"{item!r}: not a time of day", key="faults")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)


def _read_loss(plan: FaultPlan, value: str, item: str) -> None:
    found = _matched(_CHANCE, value, item)
    plan.loss |= dict.fromkeys(_targets(found[2]), _chance(found[1], item))


def _read_dup(plan: FaultPlan, value: str, item: str) -> None:
    found = _matched(_CHANCE, value, item)
    plan.dup |= dict.fromkeys(_targets(found[2]), _chance(found[1], item))


def _read_delay(plan: FaultPlan, value: str, item: str) -> None:
    found = _matched(_DELAY, value, item)
    late = _chance(found[1], item), int(found[2]) * _UNITS[found[3]]
    plan.delay |= dict.fromkeys(_targets(found[4]), late)


def _read_cut(plan: FaultPlan, value: str, item: str) -> None:
    target, hours, minutes, seconds, lasts, unit = _matched(_CUT, value, item).groups()
    plan.cuts.append(Cut(target, _seconds(hours, minutes, seconds, item), int(lasts) * _UNITS[unit]))


def _read_skew(plan: FaultPlan, value: str, item: str) -> None:
    found = _matched(_SKEW, value, item)
    plan.skew[found[1]] = int(found[2]) * _UNITS[found[3]]


def _read_reset(plan: FaultPlan, value: str, item: str) -> None:
    kind, hours, minutes, seconds = _matched(_RESET, value, item).groups()
    plan.resets.append(Reset(kind, _seconds(hours, minutes, seconds, item)))


def _read_reorder(plan: FaultPlan, value: str, item: str) -> None:
    plan.reorder = int(_matched(_COUNT, value, item)[0])


def _read_both(plan: FaultPlan, value: str, item: str) -> None:
    plan.both = int(_matched(_COUNT, value, item)[0])


_READERS: Final[dict[str, Callable[[FaultPlan, str, str], None]]] = {
    "loss": _read_loss,
    "dup": _read_dup,
    "delay": _read_delay,
    "reorder": _read_reorder,
    "both": _read_both,
    "cut": _read_cut,
    "skew": _read_skew,
    "reset": _read_reset,
}
