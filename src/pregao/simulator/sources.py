"""The engine's books as publishers of any system ask for them (`feeds.publishing.BookSource`): one channel,
now, in the words of the model."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pregao.exchange.catalogues.entries import Catalogue
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.exchange.market import Market
from pregao.exchange.orders import Order
from pregao.model.events import (
    ClosingPrice,
    Definition,
    Imbalance,
    OpenInterest,
    PhaseChanged,
    SettlementPrice,
    StateChanged,
    TheoreticalPrice,
    Update,
)
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction, PriceOrigin
from pregao.simulator.routing import Routing

FIGURES = (ClosingPrice, SettlementPrice, OpenInterest)
Figure = ClosingPrice | SettlementPrice | OpenInterest
OBSERVED = frozenset((*FIGURES, PhaseChanged, Definition))  # kinds that `observe` is to be told of


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

    def __init__(
        self, channel: int, catalogue: Catalogue, routing: Routing, engine: Engine, desk: Desk
    ) -> None:
        self.channel = channel
        self.now_ns = 0  # set by whoever has the clock
        self._markets, self._surveillance = engine.floor.markets, desk.surveillance
        self._channels_of = routing.channels_of
        self._groups = [group for group in catalogue.groups if channel in routing.of_group(group.key)]
        self._figures: dict[int, dict[tuple[type, bool], Figure]] = {}
        self._told_ns: dict[tuple[str, str], int] = {}

    def observe(self, update: Update) -> None:
        if isinstance(update, FIGURES):
            self._observe_figure(update)
        elif isinstance(update, Definition) and update.action is DefinitionAction.DELETE:
            self._figures.pop(update.instrument.security_id, None)  # its id may go to another
        elif isinstance(update, PhaseChanged):
            self._told_ns[update.group, update.exchange] = update.transact_ns

    def _observe_figure(self, update: Figure) -> None:
        """Prices of the day before stand beside those of the day, and end one that is not later."""
        told = self._figures.setdefault(update.security_id, {})
        previous = getattr(update, "origin", None) is PriceOrigin.PREVIOUS_DAY
        told[type(update), previous] = update
        daily = told.get((type(update), False))
        if previous and daily is not None and daily.trade_date <= update.trade_date:
            del told[type(update), False]

    def figures(self, security_id: int) -> Mapping[tuple[type, bool], Figure]:
        """Closing and settlement prices and open interest, as last told, by kind and whether they are of
        the day before."""
        return self._figures.get(security_id, {})

    def definitions(self) -> Sequence[Instrument]:
        return [market.instrument for market in self._own_markets()]

    def phases(self) -> Sequence[PhaseChanged]:
        told = []
        for group in self._groups:
            status = self._surveillance.phases.status(group.key)
            since_ns = self._told_ns.get(group.key, self.now_ns)
            told.append(
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
        return told

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

    def _own_markets(self) -> list[Market]:
        channel, channels_of = self.channel, self._channels_of
        return [market for market in self._markets.values() if channel in channels_of(market.instrument)]

    def _statistics(self, market: Market) -> list[Update]:
        security_id, now_ns = market.security_id, self.now_ns
        told = market.statistics.snapshot(security_id, market.session, market.trade_date, now_ns)
        running = self._surveillance.auctions.get(security_id)
        if running is not None and running.theoretical is not None:
            found = running.theoretical
            told.append(TheoreticalPrice(security_id, found.price, found.quantity, market.trade_date, now_ns))
        if running is not None and running.imbalance is not None:
            told.append(Imbalance(security_id, *running.imbalance, now_ns))
        told.extend(self._surveillance.bands.current(security_id, now_ns))
        told.extend(self._figures.get(security_id, {}).values())
        return told


def _resting(orders: Iterable[Order]) -> list[Resting]:
    return [
        Resting(
            order.secondary_id, order.price, order.shown, order.inserted_ns, order.inserted_ns, order.firm,
            order.implied,
        )
        for order in orders
    ]  # fmt: skip
