"""The exchange of a simulation: catalogue, engine, desk and order flow, put together."""

from collections.abc import Iterable
from dataclasses import replace

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.catalogues.entries import Catalogue, Listing
from pregao.exchange.catalogues.expansion import MOST, load_expanded_catalogue
from pregao.exchange.control import Control
from pregao.exchange.day import DayScript, Step, load_regular_day
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.exchange.flow import Flow
from pregao.exchange.flow.settings import FlowSettings
from pregao.exchange.timetable import local_midnight_ns, timetable
from pregao.model.errors import ConfigurationError
from pregao.simulator.dayclock import DayClock
from pregao.simulator.rare_operations import rarities


class Venue:
    """`trade_date` is the first day it trades, `previous_date` the one before."""

    def __init__(
        self, catalogue: Catalogue, seed: int, trade_date: int, flow: FlowSettings | None = None
    ) -> None:
        self.catalogue, self.seed = catalogue, seed
        self.engine = Engine(catalogue.instruments, trade_date=trade_date)
        self.desk = Desk(self.engine, catalogue, trade_date, seed=seed)
        floor = self.engine.floor
        state = self.engine.trading_state
        self.flow = Flow(catalogue, seed, floor.orders, state, flow, markets=floor.markets)
        self.script = fitting(load_regular_day(), catalogue)

    def day(self, trade_date: int, squeeze: int = 1) -> list[Control]:
        """The commands of the day script, and what surveillance does beside it."""
        planned = timetable(self.script, self.catalogue, trade_date, seed=self.seed)
        clock = DayClock(local_midnight_ns(trade_date), squeeze)
        return [clock.command(each) for each in planned + rarities(self.catalogue, clock.midnight_ns)]


def default_catalogue(instruments: int | None) -> Catalogue:
    """The packaged catalogue; its `instruments` most popular, with what these are made of; or, where it has
    fewer, with further ones of invented names."""
    catalogue = load_default_catalogue()
    if instruments is None or instruments == len(catalogue.listings):
        return catalogue
    if not 1 <= instruments <= MOST:
        raise ConfigurationError(f"must be from 1 to {MOST}, not {instruments}", key="instruments")
    if instruments > len(catalogue.listings):
        return load_expanded_catalogue(instruments)
    return subset(catalogue, instruments)


def subset(catalogue: Catalogue, count: int) -> Catalogue:
    """The most popular ones of every group in turn, as long as there is room for what they need."""
    chosen: set[int] = set()
    for listing in _in_turn(catalogue):
        needed = _needs(catalogue, listing) - chosen
        if len(chosen) + len(needed) <= count:
            chosen |= needed
    listings = tuple(each for each in catalogue.listings if each.instrument.security_id in chosen)
    keys = {(each.instrument.group, each.instrument.exchange) for each in listings}
    return Catalogue(
        listings,
        tuple(group for group in catalogue.groups if group.key in keys),
        tuple(pair for pair in catalogue.pairs if chosen.issuperset(pair)),
        tuple(
            replace(index, members=members)
            for index in catalogue.indices
            if (members := tuple(each for each in index.members if each.security_id in chosen))
        ),
    )


def _in_turn(catalogue: Catalogue) -> Iterable[Listing]:
    groups: dict[tuple[str, str], list[Listing]] = {}
    for each in sorted(catalogue.listings, key=lambda one: -one.weight):
        groups.setdefault((each.instrument.group, each.instrument.exchange), []).append(each)
    ranked = [(rank, n, each) for n, group in enumerate(groups.values()) for rank, each in enumerate(group)]
    return [each for _, _, each in sorted(ranked, key=lambda one: one[:2])]


def _needs(catalogue: Catalogue, listing: Listing) -> set[int]:
    """An instrument, its legs and its underlyings, and theirs."""
    instrument = listing.instrument
    needed = {instrument.security_id}
    parts = [leg.security_id for leg in instrument.legs]
    for other in parts + [each.security_id for each in instrument.underlyings]:
        if other in catalogue.by_id:
            needed |= _needs(catalogue, catalogue.by_id[other])
    return needed


def fitting(script: DayScript, catalogue: Catalogue) -> DayScript:
    """The script without what it does to instruments that a smaller catalogue lacks."""
    members: dict[str, list[str]] = {group.schedule: [] for group in catalogue.groups}
    schedules = {group.key: group.schedule for group in catalogue.groups}
    for each in catalogue.listings:
        schedule = schedules[each.instrument.group, each.instrument.exchange]
        members[schedule].append(each.instrument.symbol)

    def fits(step: Step, symbols: list[str]) -> bool:
        target = getattr(step, "target", None)
        if target is None:
            return True
        return target in symbols if isinstance(target, str) else target <= len(symbols)

    return DayScript(
        script.name,
        {
            name: tuple(step for step in steps if fits(step, members.get(name, [])))
            for name, steps in script.schedules.items()
        },
    )
