"""What is to go wrong, as a small language: items separated by commas.

On the way from the exchange to a capture:

    loss=0.1%               packets lost by chance; loss=0.1%@B only on that feed
    both=3  both=3x40       so many times one packet, or a run of them, that neither A nor B has;
    both=0.1%               or by chance, the same packets on both
    gap=2x40@A              so many times a run of packets lost on each feed by itself
    dup=0.05%               packets that come twice
    delay=0.1%:5ms          packets that come late, so behind others
    reorder=20:100          so many packets of each feed that come up to so many places late
    cut=B@11:00+30s         a feed is silent for a while, heartbeats too
    silence=11:00+10s       all feeds of the primary site are
    gone=B                  a feed is silent all day
    skew=B:+250us           the clock of that capture goes wrong by so much
    header=B                packets of that feed have SendingTime and Reserved of their own: A and B promise
                            the same messages, not the same header

By the exchange itself:

    reset=channel@12:00     channel, definitions (a channel reset with the list of instruments),
                            stream, book (one instrument), failover or week
    burst=2x1000@11:00      so many times so many orders within twenty milliseconds
    contingency=13:00       the primary site falls silent for the rest of the day and the contingency
                            site takes over; contingency=13:00+10m: the primary comes back as by failover

To sessions of systems that have servers (PUMA Conflated):

    session=3xcut@?         so many times the connections of all sessions break in the middle of a message
    session=stop@12:00+40s  the primary server ends its sessions and lets nobody in so long; a standby does

A time is local; `?` is any by the seed, `loop` in a reset is in the middle of a snapshot loop. `3x`
before a feed or a kind does it so often: reset=3xbook@?. Lengths have the units ns, us, ms, s, m.
Feeds are A, B and C (incremental), I and S (definitions and snapshots), BI and BS (the same on feed B, where
a system has them), CI and CS (those of the contingency site), joined by `+`; without one A and B are meant.
All chance comes from the seed.
Every packet that a fault touches is listed: see `fault_plan`.
"""

import re
from collections.abc import Callable
from typing import Final

from pregao.model.errors import ConfigurationError
from pregao.simulator.faults import (
    ANY_TIME,
    IN_LOOP,
    PRIMARY,
    RESETS,
    TARGETS,
    Burst,
    CutFeed,
    FaultPlan,
    Reset,
    Runs,
    SessionFault,
    SiteFailure,
)

_UNITS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_MOST: Final = 1_000_000
_LONGEST_NS: Final = 30 * 86_400 * 1_000_000_000
_LONGEST_ITEM: Final = 200

_FEED: Final = f"(?:{'|'.join(sorted(TARGETS, key=len, reverse=True))})"
_FEEDS: Final = rf"(?:@({_FEED}(?:\+{_FEED})*))?"
_PERCENT: Final = r"(\d+(?:\.\d+)?)%"
_LENGTH: Final = r"(\d+)(ns|us|ms|s|m)"
_TIME: Final = r"(\d\d:\d\d(?::\d\d)?|\?)"
_TIMES: Final = r"(?:(\d+)x)?"
_CHANCE: Final = re.compile(_PERCENT + _FEEDS)
_DELAY: Final = re.compile(f"{_PERCENT}:{_LENGTH}{_FEEDS}")
_REORDER: Final = re.compile(rf"(\d+)(?::(\d+))?{_FEEDS}")
_RUNS: Final = re.compile(rf"(\d+)(?:x(\d+))?{_FEEDS}")
_CUT: Final = re.compile(rf"{_TIMES}({_FEED}(?:\+{_FEED})*)@{_TIME}\+{_LENGTH}")
_SILENCE: Final = re.compile(rf"{_TIMES}{_TIME}\+{_LENGTH}")
_GONE: Final = re.compile(rf"({_FEED}(?:\+{_FEED})*)")
_SKEW: Final = re.compile(rf"({_FEED}):([+-]\d+)(ns|us|ms|s)")
_HEADER: Final = re.compile(rf"({_FEED}(?:\+{_FEED})*)")
_RESET: Final = re.compile(rf"{_TIMES}({'|'.join(RESETS)})@(?:{_TIME}|(loop))")
_BURST: Final = re.compile(rf"(?:(\d+)x)?(\d+)@{_TIME}")
_SESSION: Final = re.compile(rf"{_TIMES}(?:(cut)@{_TIME}|(stop)@{_TIME}\+{_LENGTH})")
_CONTINGENCY: Final = re.compile(rf"{_TIME}(?:\+{_LENGTH})?")


def parse_faults(spec: str) -> FaultPlan:
    """Reads the language above; ConfigurationError names the item that is wrong."""
    plan = FaultPlan()
    for item in filter(None, (part.strip() for part in spec.split(","))):
        if len(item) > _LONGEST_ITEM:
            raise ConfigurationError(f"{item[:40]!r}… cannot be read", key="faults")
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


def _count(text: str | None, item: str, default: int = 1) -> int:
    count = default if text is None else int(text)
    if not 1 <= count <= _MOST:
        raise ConfigurationError(f"{item!r}: from 1 to {_MOST:,}", key="faults")
    return count


def _targets(letters: str | None) -> tuple[str, ...]:
    return ("A", "B") if letters is None else tuple(dict.fromkeys(letters.split("+")))


def _moment(text: str, item: str) -> int:
    if text == "?":
        return ANY_TIME
    hours, minutes, seconds = (int(part) for part in (text + ":00").split(":")[:3])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ConfigurationError(f"{item!r}: not a time of day", key="faults")
    return hours * 3600 + minutes * 60 + seconds


def _length(number: str, unit: str, item: str) -> int:
    length_ns = int(number) * _UNITS[unit]
    if abs(length_ns) > _LONGEST_NS:
        raise ConfigurationError(f"{item!r}: at most thirty days", key="faults")
    return length_ns


def _read_loss(plan: FaultPlan, value: str, item: str) -> None:
    found = _matched(_CHANCE, value, item)
    plan.loss |= dict.fromkeys(_targets(found[2]), _chance(found[1], item))


def _read_dup(plan: FaultPlan, value: str, item: str) -> None:
    found = _matched(_CHANCE, value, item)
    plan.dup |= dict.fromkeys(_targets(found[2]), _chance(found[1], item))


def _read_delay(plan: FaultPlan, value: str, item: str) -> None:
    chance, number, unit, feeds = _matched(_DELAY, value, item).groups()
    plan.delay |= dict.fromkeys(_targets(feeds), (_chance(chance, item), _length(number, unit, item)))


def _read_reorder(plan: FaultPlan, value: str, item: str) -> None:
    packets, places, feeds = _matched(_REORDER, value, item).groups()
    late = _count(packets, item), _count(places, item, 3)
    plan.reorder |= dict.fromkeys(_targets(feeds), late)


def _read_gap(plan: FaultPlan, value: str, item: str) -> None:
    times, packets, feeds = _matched(_RUNS, value, item).groups()
    plan.gaps |= dict.fromkeys(_targets(feeds), Runs(_count(times, item), _count(packets, item)))


def _read_both(plan: FaultPlan, value: str, item: str) -> None:
    if value.endswith("%"):
        plan.both_chance = _chance(_matched(_CHANCE, value, item)[1], item)
        return
    times, packets, feeds = _matched(_RUNS, value, item).groups()
    if feeds is not None:
        raise ConfigurationError(f"{item!r}: both are A and B", key="faults")
    plan.both = Runs(_count(times, item), _count(packets, item))


def _read_cut(plan: FaultPlan, value: str, item: str) -> None:
    times, feeds, at, number, unit = _matched(_CUT, value, item).groups()
    cut = CutFeed(_targets(feeds), _moment(at, item), _length(number, unit, item))
    plan.cuts += [cut] * _count(times, item)


def _read_silence(plan: FaultPlan, value: str, item: str) -> None:
    times, at, number, unit = _matched(_SILENCE, value, item).groups()
    silence = CutFeed(PRIMARY, _moment(at, item), _length(number, unit, item), "silence")
    plan.cuts += [silence] * _count(times, item)


def _read_gone(plan: FaultPlan, value: str, item: str) -> None:
    plan.cuts.append(CutFeed(_targets(_matched(_GONE, value, item)[1]), 0, None, "gone"))


def _read_skew(plan: FaultPlan, value: str, item: str) -> None:
    found = _matched(_SKEW, value, item)
    plan.skew[found[1]] = _length(found[2], found[3], item)


def _read_header(plan: FaultPlan, value: str, item: str) -> None:
    plan.own_headers.update(_targets(_matched(_HEADER, value, item)[1]))


def _read_reset(plan: FaultPlan, value: str, item: str) -> None:
    times, kind, at, loop = _matched(_RESET, value, item).groups()
    moment = IN_LOOP if loop else _moment(at, item)
    plan.resets += [Reset(kind, moment)] * _count(times, item)


def _read_burst(plan: FaultPlan, value: str, item: str) -> None:
    times, orders, at = _matched(_BURST, value, item).groups()
    plan.bursts += [Burst(_count(orders, item), _moment(at, item))] * _count(times, item)


def _read_contingency(plan: FaultPlan, value: str, item: str) -> None:
    at, number, unit = _matched(_CONTINGENCY, value, item).groups()
    lasts_ns = None if number is None else _length(number, unit, item)
    plan.contingency.append(SiteFailure(_moment(at, item), lasts_ns))


def _read_session(plan: FaultPlan, value: str, item: str) -> None:
    times, cut, cut_at, _, stop_at, number, unit = _matched(_SESSION, value, item).groups()
    if cut:
        fault = SessionFault("cut", _moment(cut_at, item))
    else:
        fault = SessionFault("stop", _moment(stop_at, item), _length(number, unit, item))
    plan.sessions += [fault] * _count(times, item)


_READERS: Final[dict[str, Callable[[FaultPlan, str, str], None]]] = {
    "loss": _read_loss,
    "both": _read_both,
    "gap": _read_gap,
    "dup": _read_dup,
    "delay": _read_delay,
    "reorder": _read_reorder,
    "cut": _read_cut,
    "silence": _read_silence,
    "gone": _read_gone,
    "skew": _read_skew,
    "header": _read_header,
    "reset": _read_reset,
    "burst": _read_burst,
    "contingency": _read_contingency,
    "session": _read_session,
}
