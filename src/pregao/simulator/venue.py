"""The exchange of a simulation: catalogue, engine, desk and order flow, put together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.catalogues.expansion import MOST, load_expanded_catalogue
from pregao.exchange.catalogues.rules import Catalogue, ListedInstrument
from pregao.exchange.control import Control
from pregao.exchange.day import DayScript, DayStep, load_regular_day
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.exchange.flow import OrderFlow
from pregao.exchange.flow.settings import FlowSettings
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder
from pregao.exchange.timetable import timetable
from pregao.model.errors import ConfigurationError
from pregao.model.events import (
    ClosingPrice,
    Definition,
    Imbalance,
    OpenInterest,
    PhaseChanged,
    SettlementPrice,
    StateChanged,
    StreamTotals,
    TheoreticalPrice,
    Update,
)
from pregao.model.instruments import Instrument
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import DefinitionAction, PriceOrigin, StateEvent
from pregao.simulator.pace import DayClock
from pregao.simulator.rare_operations import rarities
from pregao.simulator.routing import JointRouting, Routing


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
        self.flow = OrderFlow(catalogue, seed, floor.orders, state, flow, markets=floor.markets)
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


def _in_turn(catalogue: Catalogue) -> Iterable[ListedInstrument]:
    groups: dict[tuple[str, str], list[ListedInstrument]] = {}
    for each in sorted(catalogue.listings, key=lambda one: -one.weight):
        groups.setdefault((each.instrument.group, each.instrument.exchange), []).append(each)
    ranked = [(rank, n, each) for n, group in enumerate(groups.values()) for rank, each in enumerate(group)]
    return [each for _, _, each in sorted(ranked, key=lambda one: one[:2])]


def _needs(catalogue: Catalogue, listing: ListedInstrument) -> set[int]:
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

    def fits(step: DayStep, symbols: list[str]) -> bool:
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


# The engine's books as publishers of any system ask for them (`feeds.publishing.BookSource`): one channel,
# now, in the words of the model.


FIGURES = (ClosingPrice, SettlementPrice, OpenInterest)
Figure = ClosingPrice | SettlementPrice | OpenInterest
# Kinds that `observe` is to be told of.
OBSERVED = frozenset((*FIGURES, PhaseChanged, Definition, StreamTotals, StateChanged))
_ELECTRONIC = "E"  # whose totals the engine has itself


class Resting(NamedTuple):
    """An order as the public sees it."""

    order_id: int
    price: int | None
    size: int
    inserted_ns: int
    transact_ns: int
    firm: int | None
    implied: bool


class BookView(NamedTuple):
    bids: Sequence[Resting]
    offers: Sequence[Resting]
    statistics: Sequence[Update]
    state: StateChanged | None


class ChannelBooks:
    """Books, bands, auctions and session statistics are the engine's own. What the engine only tells
    (closing and settlement prices, open interest, times of phases) is kept as it was told."""

    of_engine = True  # its books are those of the engine's markets

    def __init__(
        self, channel: int, catalogue: Catalogue, routing: Routing | JointRouting, engine: Engine, desk: Desk
    ) -> None:
        self.channel = channel
        self.now_ns = 0  # set by whoever has the clock
        self._markets, self._surveillance = engine.floor.markets, desk.surveillance
        self._channels_of, self._channels = routing.channels_of, routing.by_id
        self._groups = [group for group in catalogue.groups if channel in routing.of_group(group.key)]
        self._figures: dict[int, dict[tuple[type, bool], Figure]] = {}
        self._phase_ns: dict[tuple[str, str], int] = {}
        self._totals: dict[int, dict[str, StreamTotals]] = {}  # of other venues, as last told

    def observe(self, update: Update) -> None:
        if isinstance(update, FIGURES):
            self._observe_figure(update)
        elif isinstance(update, Definition) and update.action is DefinitionAction.DELETE:
            self._figures.pop(update.instrument.security_id, None)  # its id may go to another
            self._totals.pop(update.instrument.security_id, None)
        elif isinstance(update, PhaseChanged):
            self._phase_ns[update.group, update.exchange] = update.transact_ns
        elif isinstance(update, StreamTotals) and update.stream != _ELECTRONIC:
            self._totals.setdefault(update.security_id, {})[update.stream] = update
        elif isinstance(update, StateChanged) and update.event is StateEvent.SESSION_CHANGE:
            self._totals.pop(update.security_id, None)  # UMDF FIX/FAST 11.3

    def _observe_figure(self, update: Figure) -> None:
        """Prices of the day before stand beside those of the day, and end one that is not later."""
        figures = self._figures.setdefault(update.security_id, {})
        previous = getattr(update, "origin", None) is PriceOrigin.PREVIOUS_DAY
        figures[type(update), previous] = update
        daily = figures.get((type(update), False))
        if previous and daily is not None and daily.trade_date <= update.trade_date:
            del figures[type(update), False]

    def figures(self, security_id: int) -> Mapping[tuple[type, bool], Figure]:
        """Closing and settlement prices and open interest, as last told, by kind and whether they are of
        the day before."""
        return self._figures.get(security_id, {})

    def definitions(self) -> Sequence[Instrument]:
        return [market.instrument for market in self._own_markets()]

    def phases(self) -> Sequence[PhaseChanged]:
        changes = []
        for group in self._groups:
            status = self._surveillance.phases.status(group.key)
            since_ns = self._phase_ns.get(group.key, self.now_ns)
            changes.append(
                PhaseChanged(
                    *group.key,
                    status.session,
                    status.phase,
                    None,
                    status.trade_date,
                    since_ns,
                    status.ends_ns,
                )
            )
        return changes

    def instruments(self) -> Sequence[int]:
        return [market.security_id for market in self._own_markets()]

    def book(self, security_id: int) -> BookView | None:
        market = self._markets.get(security_id)
        if market is None:
            return None
        return BookView(
            _resting(market.book.buys.orders),
            _resting(market.book.sells.orders),
            self._statistics(market),
            self._surveillance.phases.current(security_id, self.now_ns),
        )

    def _own_markets(self) -> list[InstrumentMarket]:
        channel, known, channels_of = self.channel, self._channels, self._channels_of
        return [
            market
            for security_id, market in self._markets.items()
            if channel in (known.get(security_id) or channels_of(market.instrument))
        ]

    def _statistics(self, market: InstrumentMarket) -> list[Update]:
        security_id, now_ns = market.security_id, self.now_ns
        updates = market.statistics.snapshot(security_id, market.session, market.trade_date, now_ns)
        running = self._surveillance.auctions.get(security_id)
        if running is not None and running.theoretical is not None:
            found = running.theoretical
            updates.append(
                TheoreticalPrice(security_id, found.price, found.quantity, market.trade_date, now_ns)
            )
        if running is not None and running.imbalance is not None:
            updates.append(Imbalance(security_id, *running.imbalance, now_ns))
        updates.extend(self._surveillance.bands.current(security_id, now_ns))
        updates.extend(self._figures.get(security_id, {}).values())
        updates.extend(self._totals.get(security_id, {}).values())
        return updates


def _resting(orders: Iterable[EnteredOrder]) -> list[Resting]:
    return [
        Resting(
            order.secondary_id, order.price, order.shown, order.inserted_ns, order.inserted_ns, order.firm,
            order.implied,
        )
        for order in orders
    ]  # fmt: skip
