"""Days of the simulated market of bonds as `pregao simulate` writes them: journals of Trademate's sessions on
the virtual clock, and the truth.

    truth/events/<kind>.parquet   every update of every event, in order; `event` is its number in the day,
                                  `channel` ours (Trademate has none); prices and sizes as the engine has them
    truth/books.parquet           every order of every book, by side and position, as of `event`: after every
                                  1,000 events, and at the end
    truth/bonds.parquet           the list of bonds, with what a definition tells beyond an instrument
    truth/instruments.parquet     the same as instruments
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.catalogue import CHANNEL, BondCatalogue, load_default_bonds
from pregao.exchange.bonds.day import BondDay
from pregao.exchange.bonds.market import BondMarket
from pregao.feeds.registry import load_serving_system
from pregao.feeds.serving import BondListing
from pregao.model.errors import ConfigurationError
from pregao.model.events import Event
from pregao.model.fixed_income import Bond
from pregao.model.holidays import national_calendar
from pregao.model.market import Side
from pregao.sessions.fix.passwords import Cost, PasswordBook, hash_password
from pregao.simulator.bond_requests import LIMITS, REQUESTS, Announcement, announcements
from pregao.simulator.served_sessions import AskedRequest, ServedSessions
from pregao.simulator.tables import KindTable, TruthTable, instrument_table

CHECKPOINT_EVENTS: Final = 1_000
_SECOND_NS: Final = 1_000_000_000
_HOUR_NS: Final = 3_600 * _SECOND_NS
USER, _PASSWORD = "simulated", "not a secret"  # of sessions that exist for the length of a simulation
_COST: Final = Cost(2, 1, 1)
_BOOKS: Final = pa.schema([
    (name, pa.int64()) for name in ("event", "security_id", "side", "position", "order_id", "price", "size")
])  # fmt: skip
_BONDS: Final = pa.schema([
    ("security_id", pa.int64()), ("symbol", pa.string()), ("kind", pa.string()), ("price_kind", pa.string()),
    ("coupon_fine", pa.int64()), ("coupon_type", pa.string()), ("coupon_date", pa.int64()),
    ("factor_fine", pa.int64()), ("sector", pa.string()), ("registration", pa.string()),
    ("allows_fractions", pa.bool_()), ("allows_negative", pa.bool_()),
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class BondDaySettings:
    """`messages`: commands of the flow, a day."""

    out: Path
    system: str = "trademate"
    seed: int = 1
    date: date = date(2026, 11, 16)
    days: int = 1
    messages: int = 2_000
    sessions: int = 1
    truth: bool = True
    rate_order: RateOrder = RateOrder.MARKET

    def __post_init__(self) -> None:
        if not national_calendar().is_business_day(self.date):
            raise ConfigurationError(f"{self.date} is not a trading day of bonds", key="date")
        if self.days < 1 or self.messages < 1:
            raise ConfigurationError("days and messages are at least 1", key="days")


@dataclass(slots=True)
class BondSummary:
    folders: list[Path] = field(default_factory=list)
    events: int = 0
    bytes: int = 0
    seconds: float = 0.0
    kinds: Counter[type] = field(default_factory=Counter)


class BondTruth:
    """What really happened in a day."""

    def __init__(self, folder: Path, market: BondMarket) -> None:
        self._folder, self._market = folder, market
        self._kinds: dict[type, KindTable] = {}
        self._books = TruthTable(folder / "books.parquet", _BOOKS)
        self.events = 0

    def note(self, event: Event) -> None:
        for index, update in enumerate(event.updates):
            kind = type(update)
            if kind not in self._kinds:
                self._kinds[kind] = KindTable(self._folder / "events", kind)
            place = np.array([[self.events], [-1], [-1], [index]], np.int64)
            self._kinds[kind].add([update], CHANNEL, place)
        self.events += 1
        if self.events % CHECKPOINT_EVENTS == 0:
            self.checkpoint()

    def checkpoint(self) -> None:
        rows = list(self._orders())
        if rows:
            self._books.write(list(zip(*rows, strict=True)))

    def _orders(self) -> Iterator[tuple[int, ...]]:
        for number, listed in self._market.floor.listed.items():
            for side in Side:
                for place, order in enumerate(listed.book.sides[side].orders, 1):
                    yield self.events, number, int(side), place, order.order_id, order.price, order.size

    def close(self, bonds: list[Bond]) -> None:
        for table in self._kinds.values():
            table.close()
        self._books.close()
        instrument_table(self._folder, [bond.instrument for bond in bonds])
        listed = TruthTable(self._folder / "bonds.parquet", _BONDS)
        listed.write(list(zip(*map(_bond_row, bonds), strict=True)))
        listed.close()

    def discard(self) -> None:
        for table in self._kinds.values():
            table.discard()
        self._books.discard()


def _bond_row(bond: Bond) -> tuple[Any, ...]:
    return (
        bond.instrument.security_id, bond.instrument.symbol, bond.kind.name, bond.price_kind.name,
        bond.coupon_fine, bond.coupon_type.name, bond.coupon_date, bond.factor_fine, bond.sector,
        bond.registration.name, bond.allows_fractions, bond.allows_negative,
    )  # fmt: skip


class _Source:
    """A `BondSource`."""

    def __init__(self, catalogue: BondCatalogue, trade_date: int) -> None:
        self._catalogue, self.trade_date = catalogue, trade_date

    def bonds(self) -> list[Bond]:
        return list(self._catalogue)


class _Beside:
    """What happens beside the market: requests of users an hour after the opening, announcements an hour
    before the end."""

    def __init__(self, bonds: list[Bond], times_ns: dict[str, int]) -> None:
        told = announcements(bonds, times_ns["closing"] - _HOUR_NS)
        self._waiting: deque[tuple[int, tuple[AskedRequest, ...] | Announcement]] = deque(
            (times_ns["opening"] + _HOUR_NS + place * _SECOND_NS, requests)
            for place, requests in enumerate(REQUESTS)
        )
        self._waiting.extend((each.now_ns, each) for each in told)

    def due(self, sessions: ServedSessions, now_ns: int) -> None:
        while self._waiting and self._waiting[0][0] <= now_ns:
            at_ns, happens = self._waiting.popleft()
            sessions.advance(at_ns)
            if isinstance(happens, Announcement):
                assert isinstance(sessions.feed, BondListing)
                sessions.feed.define(happens.bond, happens.action, at_ns)
            else:
                sessions.ask(happens, at_ns)


def simulate_bonds(settings: BondDaySettings, catalogue: BondCatalogue | None = None) -> BondSummary:
    """Business days of the nation's calendar, one after the other; the same seed gives the same bytes."""
    began, summary = perf_counter(), BondSummary()
    calendar, day = national_calendar(), settings.date
    for _ in range(settings.days):
        _play(settings, catalogue or load_default_bonds(), day, summary)
        day = calendar.after(day)
    summary.seconds = perf_counter() - began
    return summary


def _play(settings: BondDaySettings, catalogue: BondCatalogue, day: date, summary: BondSummary) -> None:
    folder = settings.out / day.isoformat()
    bond_day = BondDay(
        catalogue, day, seed=settings.seed, orders=settings.messages, rate_order=settings.rate_order
    )
    market, source = bond_day.market, _Source(catalogue, bond_day.market.floor.trade_date)
    truth = BondTruth(folder / "truth", market) if settings.truth else None
    salt = f"{settings.seed}/{day}".encode().ljust(16, b"-")[:16]
    passwords = PasswordBook({USER: hash_password(_PASSWORD.encode(), salt, _COST)})
    serving = replace(load_serving_system(settings.system).usual, passwords=passwords)
    sessions = ServedSessions(
        settings.system,
        settings.sessions,
        serving,
        logon={"user": USER, "password": _PASSWORD},
        limits=LIMITS,
    )
    beside, now_ns = _Beside(list(catalogue), bond_day.times_ns()), 0
    try:
        for now_ns, events in bond_day.run():
            if not sessions.is_open:
                sessions.open_day(source, source.trade_date, folder, now_ns)
            beside.due(sessions, now_ns)
            sessions.advance(now_ns)
            for event in events:
                sessions.publish(event, now_ns)
                summary.events += 1
                summary.kinds.update(type(update) for update in event.updates)
                if truth is not None:
                    truth.note(event)
        summary.bytes += sessions.close_day(now_ns)
        if truth is not None:
            truth.checkpoint()
            truth.close(list(catalogue))
    except BaseException:
        sessions.discard_day()
        if truth is not None:
            truth.discard()
        raise
    summary.folders.append(folder)
