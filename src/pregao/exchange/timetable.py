"""A day script applied to a catalogue and a date: the commands of the day, each at its time."""

from collections.abc import Iterable, Iterator
from random import Random

from pregao.exchange import control
from pregao.exchange.catalogues.rules import Catalogue, ListedInstrument, TradingGroup
from pregao.exchange.day import (
    SECOND_NS,
    AuctionStep,
    DayScript,
    DayStep,
    Figure,
    FigureStep,
    HaltStep,
    NewsStep,
    PhaseStep,
    SessionStep,
    SettlementStep,
    Target,
)
from pregao.exchange.listing_steps import ListedSymbols, ListingStep
from pregao.model.errors import ConfigurationError
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import Phase, State


def timetable(
    script: DayScript,
    catalogue: Catalogue,
    trade_date: int,
    *,
    seed: int = 0,
    midnight_ns: int | None = None,
) -> list[control.Control]:
    """All commands of a day by time; those of one time in the order of the script."""
    start_ns = local_midnight_ns(trade_date) if midnight_ns is None else midnight_ns
    commands: list[control.Control] = []
    for name in dict.fromkeys(group.schedule for group in catalogue.groups):
        if name not in script.schedules:
            raise ConfigurationError("groups need this schedule, and the script has none", key=name)
        column = _Column(catalogue, name, trade_date, start_ns, seed)
        commands.extend(column.commands(script.schedules[name]))
    return sorted(commands, key=lambda command: command.now_ns)


class _Column:
    """One schedule with the groups and instruments that follow it."""

    def __init__(self, catalogue: Catalogue, name: str, trade_date: int, start_ns: int, seed: int) -> None:
        self.name, self.trade_date, self.start_ns, self.seed = name, trade_date, start_ns, seed
        self.groups: list[TradingGroup] = [group for group in catalogue.groups if group.schedule == name]
        keys = {group.key for group in self.groups}
        self.listings: list[ListedInstrument] = [
            each for each in catalogue.listings if (each.instrument.group, each.instrument.exchange) in keys
        ]
        ranked = sorted(self.listings, key=lambda each: (-each.weight, each.instrument.security_id))
        self.ranks = [each.instrument.security_id for each in ranked]
        self.all_symbols = {each.symbol: each.security_id for each in catalogue.instruments}
        self.symbols = {each.instrument.symbol: each.instrument.security_id for each in self.listings}

    def commands(self, steps: tuple[DayStep, ...]) -> Iterator[control.Control]:
        listed = ListedSymbols(self.all_symbols, (each for each in steps if isinstance(each, ListingStep)))
        for place, step in enumerate(steps):
            if isinstance(step, PhaseStep):
                following = (each.at_s for each in steps[place + 1 :] if isinstance(each, PhaseStep))
                yield from self._phase(step, next(following, None))
            elif isinstance(step, ListingStep):
                command = listed.command(step, self._ns(step.at_s))
                if command is not None:
                    yield command
            else:
                yield from self._others(step)

    def _phase(self, step: PhaseStep, next_s: int | None) -> Iterator[control.Control]:
        now_ns = self._ns(step.at_s)
        if step.random_s:
            # One draw for all groups of the schedule: they open together.
            draw = Random(f"{self.seed}/{self.name}/{self.trade_date}/{step.at_s}")
            now_ns += draw.randrange(step.random_s * SECOND_NS)
        auction = step.phase in (Phase.PRE_OPEN, Phase.FINAL_CLOSING_CALL)
        ends_ns = self._ns(next_s) if auction and next_s is not None else None
        for group in self.groups:
            yield control.ChangePhase(now_ns, *group.key, step.phase, ends_ns, step.expires)

    def _others(self, step: DayStep) -> Iterable[control.Control]:
        now_ns = self._ns(step.at_s)
        if isinstance(step, SessionStep):
            return [
                control.ChangeSession(now_ns, *group.key, step.session, self.trade_date)
                for group in self.groups
            ]
        if isinstance(step, AuctionStep):
            ends_ns = None if step.lasts_s is None else self._ns(step.at_s + step.lasts_s)
            return [control.StartAuction(now_ns, self._find(step.target), step.kind, ends_ns)]
        if isinstance(step, HaltStep):
            halted, ends_ns = self._find(step.target), self._ns(step.at_s + step.lasts_s)
            return [
                control.ChangeState(now_ns, halted, State.PAUSE, ends_ns),
                control.RejoinGroup(ends_ns, halted),
            ]
        if isinstance(step, NewsStep):
            about = None if step.target is None else self._find(step.target)
            return [control.SendNews(now_ns, step.headline, step.text, about, source=step.source)]
        if isinstance(step, SettlementStep):
            settled = [each for each in self.listings if each.settlement is not None]
            return [control.PublishSettlement(now_ns, _id(each), step.stage) for each in settled]
        assert isinstance(step, FigureStep)
        return self._figures(step.figure, now_ns)

    def _figures(self, figure: Figure, now_ns: int) -> Iterator[control.Control]:
        for listing in self.listings:
            closed = listing.instrument.closing_price is not None
            if figure is Figure.BANDS:
                yield control.PublishBands(now_ns, _id(listing))
            elif figure is Figure.OPEN_INTEREST:
                if listing.open_interest is not None:
                    yield control.PublishOpenInterest(now_ns, _id(listing))
            elif closed:
                yield control.PublishClosing(now_ns, _id(listing), figure is Figure.PREVIOUS_CLOSING)

    def _find(self, target: Target) -> int:
        if isinstance(target, str):
            if target not in self.symbols:
                raise ConfigurationError(f"{target} is not in this schedule", key=self.name)
            return self.symbols[target]
        if target > len(self.ranks):
            raise ConfigurationError(f"there is no instrument of rank {target}", key=self.name)
        return self.ranks[target - 1]

    def _ns(self, seconds: int) -> int:
        return self.start_ns + seconds * SECOND_NS


def _id(listing: ListedInstrument) -> int:
    return listing.instrument.security_id
