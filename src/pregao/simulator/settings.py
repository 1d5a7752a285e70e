"""What to simulate. The same settings give the same bytes."""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from pregao.feeds.publishing import Habits
from pregao.feeds.registry import DEFAULT, load_publishing_system
from pregao.model.errors import ConfigurationError

EPOCH = date(1970, 1, 1)
FIRST_DATE = date(2026, 11, 16)  # a Monday the packaged catalogue is made for
LARGEST_SEED = (1 << 63) - 1
MOST_SQUEEZED = 200
MOST_TRADING = 20
_HABITS = Habits()
DEFAULT_VERSION = 0  # that of the system


@dataclass(frozen=True, slots=True)
class Settings:
    """`messages` are those of the incremental streams of all channels, per day."""

    out: Path
    seed: int = 1
    date: date = FIRST_DATE
    days: int = 1
    messages: int = 1_000_000
    instruments: int | None = None  # None: all of the catalogue
    version: int = DEFAULT_VERSION
    faults: str = ""
    coverage: bool = False
    heartbeat_s: float | None = None  # None: as often as each system says
    truth: bool = True
    contingency: bool = False  # feed C, from a site of its own
    squeeze: int = 1  # how many times shorter the day's clock is: see `pace`
    loops: int | None = None  # of definitions and snapshots, a day; None: as on the real days
    trading: float = 1.0  # times as many orders that want to trade
    checkpoint_events: int = 1_000  # of a channel, between two checkpoints at most
    relistings: int = 0  # times that instruments are added, changed, renamed or deleted in a day
    habits: Habits = _HABITS  # of the publisher, where feeds differ
    one_file: bool = False  # all streams of all channels in one capture a day
    system: str = DEFAULT  # that publishes, as `feeds.registry` knows it
    beside: tuple[str, ...] = ()  # others that publish the same days, each in a folder of its own
    sessions: int = 1  # of a system that is served

    def __post_init__(self) -> None:
        version = checked_version(self.system, self.version, "schema-version")
        object.__setattr__(self, "version", version)
        if len({self.system, *self.beside}) <= len(self.beside):
            raise ConfigurationError("a system is named twice", key="systems")
        if self.date.weekday() >= 5:
            raise ConfigurationError(f"{self.date} is not a trading day", key="date")
        if not (self.days >= 1 and self.messages >= 1 and 0 <= self.seed <= LARGEST_SEED):
            raise ConfigurationError("days and messages are at least 1, a seed is not negative", key="days")
        if self.heartbeat_s is not None and not self.heartbeat_s > 0:
            raise ConfigurationError("must be above 0", key="heartbeat")
        if not 1 <= self.squeeze <= MOST_SQUEEZED:
            raise ConfigurationError(f"must be from 1 to {MOST_SQUEEZED}, not {self.squeeze}", key="squeeze")
        if not 0 <= self.trading <= MOST_TRADING:
            raise ConfigurationError(f"must be from 0 to {MOST_TRADING}, not {self.trading}", key="trading")
        if (self.loops is not None and self.loops < 1) or self.checkpoint_events < 1:
            raise ConfigurationError("loops and events between checkpoints are at least 1", key="loops")

    @property
    def trade_dates(self) -> list[int]:
        """The days to write, as days since 1970; weekends are not trading days."""
        dates = [self.date]
        while len(dates) < self.days:
            dates.append(next_day(dates[-1]))
        return [days_since_1970(each) for each in dates]

    @property
    def day_before(self) -> int:
        """The trading day before the first: played in brief, not written."""
        before = self.date - timedelta(days=1)
        while before.weekday() >= 5:
            before -= timedelta(days=1)
        return days_since_1970(before)


def next_day(day: date) -> date:
    day += timedelta(days=1)
    while day.weekday() >= 5:
        day += timedelta(days=1)
    return day


def days_since_1970(day: date) -> int:
    return (day - EPOCH).days


def as_date(trade_date: int) -> date:
    return EPOCH + timedelta(days=trade_date)


def starts_week(trade_date: int) -> bool:
    """A Monday: sequence and channel start over (6.5.11)."""
    return as_date(trade_date).weekday() == 0


def checked_version(name: str, version: int, key: str) -> int:
    """The wire version of a system that publishes; ConfigurationError where it has no such one."""
    system = load_publishing_system(name)
    if version == DEFAULT_VERSION:
        return system.default_version
    if version not in system.versions:
        raise ConfigurationError(f"must be one of {system.versions}, not {version}", key=key)
    return version
