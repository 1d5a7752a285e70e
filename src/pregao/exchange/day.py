"""A day as a script: what happens to groups and instruments at which local time. TOML in, a sorted list
of commands out; opening the file is the caller's, except for the packaged one.

    [[schedule]]                       # groups of the catalogue name the schedule that moves them
    name = "equities"
    step = [
        { at = "09:45:00", phase = "pre_open" },                # its end is the next phase
        { at = "10:00:00", phase = "open", random_s = 30 },     # comes up to 30 s later
        { at = "18:00:00", phase = "close", expires = true },   # the end of day orders
        { at = "09:30:00", session = "regular" },               # or "non_regular": after-market
        { at = "11:30:00", auction = "PETR4", for_s = 300 },    # without for_s as its template says
        { at = "14:00:00", halt = 9, for_s = 600 },             # a number: rank in popularity
        { at = "16:00:00", settlement = "preview" },            # a stage of 13.11.3
        { at = "17:06:00", figure = "closing" },                # previous closing, bands, open interest
        { at = "13:15:00", news = "headline", text = "…", of = 9, source = "internet" },
        { at = "10:30:00", add = "UDS1", … },                   # change, delete: see `listing_steps`
    ]

Steps are in the order of their times, and phases follow each other as `NEXT_PHASES` says, from closed to
closed. What is wrong is a ConfigurationError that names the key.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources

from pregao.exchange.auctions import AuctionKind
from pregao.exchange.catalogues.tables import TomlTable
from pregao.exchange.listing_steps import ListingStep, read_add, read_change, read_delete
from pregao.exchange.phases import NEXT_PHASES
from pregao.exchange.settlement import SettlementStage
from pregao.model.errors import ConfigurationError
from pregao.model.market import NewsSource, Phase, Session

SECOND_NS = 1_000_000_000
DAY_S = 86_400
REGULAR_DAY = "regular-day.toml"
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)")

Target = str | int  # a symbol, or a rank


class Figure(Enum):
    PREVIOUS_CLOSING = "previous closing"
    BANDS = "bands"
    CLOSING = "closing"
    OPEN_INTEREST = "open interest"


@dataclass(frozen=True, slots=True)
class PhaseStep:
    at_s: int
    phase: Phase
    random_s: int = 0
    expires: bool = False


@dataclass(frozen=True, slots=True)
class SessionStep:
    at_s: int
    session: Session


@dataclass(frozen=True, slots=True)
class AuctionStep:
    at_s: int
    target: Target
    lasts_s: int | None
    kind: AuctionKind = AuctionKind.SCHEDULED


@dataclass(frozen=True, slots=True)
class HaltStep:
    at_s: int
    target: Target
    lasts_s: int


@dataclass(frozen=True, slots=True)
class SettlementStep:
    at_s: int
    stage: SettlementStage


@dataclass(frozen=True, slots=True)
class FigureStep:
    at_s: int
    figure: Figure


@dataclass(frozen=True, slots=True)
class NewsStep:
    at_s: int
    headline: str
    text: str
    target: Target | None
    source: NewsSource = NewsSource.MARKET_SURVEILLANCE


DayStep = (
    PhaseStep | SessionStep | AuctionStep | HaltStep | SettlementStep | FigureStep | NewsStep | ListingStep
)


@dataclass(frozen=True, slots=True)
class DayScript:
    name: str
    schedules: dict[str, tuple[DayStep, ...]]


@cache
def load_regular_day() -> DayScript:
    folder = resources.files("pregao.exchange") / "scripts"
    return load_day((folder / REGULAR_DAY).read_text("utf-8"), REGULAR_DAY)


def load_day(text: str, file: str = "") -> DayScript:
    try:
        table = TomlTable(tomllib.loads(text), file, "")
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(str(error), file=file) from error
    name = table.text("name", "")
    schedules: dict[str, tuple[DayStep, ...]] = {}
    for schedule in table.tables("schedule"):
        title = schedule.text("name")
        if title in schedules:
            raise schedule.error("this schedule is there already", "name")
        schedules[title] = _steps(schedule)
        schedule.close()
    table.close()
    if not schedules:
        raise table.error("is missing", "schedule")
    return DayScript(name, schedules)


def _steps(schedule: TomlTable) -> tuple[DayStep, ...]:
    steps: list[DayStep] = []
    phase, before_s = Phase.CLOSE, 0
    for row in schedule.tables("step"):
        step = _step(row)
        row.close()
        if step.at_s < before_s:
            raise row.error("comes before the step above it", "at")
        before_s = step.at_s
        if isinstance(step, PhaseStep):
            if step.phase not in NEXT_PHASES[phase]:
                raise row.error(f"{step.phase.name} cannot follow {phase.name}", "phase")
            phase, before_s = step.phase, step.at_s + step.random_s
        elif isinstance(step, SessionStep) and phase is not Phase.CLOSE:
            raise row.error("a session changes while the group is closed", "session")
        elif isinstance(step, AuctionStep) and phase is not Phase.OPEN:
            raise row.error("only an open instrument can go to auction", "auction")
        steps.append(step)
    if phase is not Phase.CLOSE:
        raise schedule.error("the day must end closed", "step")
    return tuple(steps)


def _step(row: TomlTable) -> DayStep:
    made = [make for name, make in _MAKERS.items() if row.has(name)]
    if len(made) != 1:
        raise row.error(f"must have one of {', '.join(_MAKERS)}")
    return made[0](row, _seconds(row))


def _seconds(row: TomlTable) -> int:
    text = row.text("at")
    found = _TIME.fullmatch(text)
    if found is None:
        raise row.error(f"must be a time as 09:45:00, not {text!r}", "at")
    hours, minutes, seconds = map(int, found.groups())
    return hours * 3600 + minutes * 60 + seconds


def _phase(row: TomlTable, at_s: int) -> DayStep:
    phase = row.choice("phase", {phase.name.lower(): phase for phase in Phase})
    return PhaseStep(at_s, phase, row.integer("random_s", 0, 3600, 0), row.flag("expires", False))


def _session(row: TomlTable, at_s: int) -> DayStep:
    return SessionStep(at_s, row.choice("session", {each.name.lower(): each for each in Session}))


def _auction(row: TomlTable, at_s: int) -> DayStep:
    lasts_s = row.integer("for_s", 1, DAY_S) if row.has("for_s") else None
    return AuctionStep(at_s, _target(row, "auction"), lasts_s)


def _halt(row: TomlTable, at_s: int) -> DayStep:
    lasts_s = row.integer("for_s", 1, DAY_S)
    if at_s + lasts_s >= DAY_S:
        raise row.error("must end on the same day", "for_s")
    return HaltStep(at_s, _target(row, "halt"), lasts_s)


def _settlement(row: TomlTable, at_s: int) -> DayStep:
    stages = {stage.name.lower(): stage for stage in SettlementStage}
    return SettlementStep(at_s, row.choice("settlement", stages))


def _figure(row: TomlTable, at_s: int) -> DayStep:
    return FigureStep(at_s, row.choice("figure", {figure.value: figure for figure in Figure}))


def _news(row: TomlTable, at_s: int) -> DayStep:
    target = _target(row, "of") if row.has("of") else None
    source = row.choice("source", {each.name.lower(): each for each in NewsSource}, "market_surveillance")
    return NewsStep(at_s, row.text("news", longest=1000), row.text("text", longest=100_000), target, source)


def _target(row: TomlTable, name: str) -> Target:
    try:
        return row.text(name)
    except ConfigurationError:
        return row.integer(name, 1, 100_000)


_MAKERS: dict[str, Callable[[TomlTable, int], DayStep]] = {
    "phase": _phase,
    "session": _session,
    "auction": _auction,
    "halt": _halt,
    "settlement": _settlement,
    "figure": _figure,
    "news": _news,
    "add": read_add,
    "change": read_change,
    "delete": read_delete,
}
