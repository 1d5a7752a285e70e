"""Clearing, lending and indices beside the engine, published by the systems that have channels for them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.clearing import EVERY_NS, Clearing, LendingBook, Teller
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.feeds.publishing import Habits, Publisher, PublishingSystem
from pregao.model import events as e
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import Side, State
from pregao.simulator.distribution import Witness
from pregao.simulator.line import PublishingLine
from pregao.simulator.routing import JointRouting, Routing
from pregao.simulator.venue import OBSERVED, BookView, ChannelBooks, Resting, Venue


class Exchange(Protocol):
    """An exchange that desks stand beside: that of a simulated day, or a live one."""

    catalogue: Catalogue
    engine: Engine
    desk: Desk
    seed: int


def clearing_of(venue: Exchange) -> Clearing:
    desk = venue.desk
    return Clearing(
        venue.catalogue, venue.engine.floor.markets, desk.figures, desk.indices.states, venue.seed
    )


class DeskBooks(ChannelBooks):
    """The market of a channel of lending or of indices, for its loops. It has no phases."""

    of_engine = False

    def __init__(
        self,
        channel: int,
        venue: Exchange,
        routing: Routing | JointRouting,
        clearing: Clearing,
        teller: Teller,
    ) -> None:
        super().__init__(channel, venue.catalogue, routing, venue.engine, venue.desk)
        self._clearing, self._teller = clearing, teller
        self.lists_funds = False  # beside indices; their books are elsewhere

    def definitions(self) -> Sequence[Instrument]:
        if self._teller is Teller.INDICES:
            listed = (market.instrument for market in self._markets.values())
            funds = (each for each in listed if each.security_type is SecurityType.ETF)
            return [*self._clearing.indices.values(), *(funds if self.lists_funds else ())]
        lent = (self._markets.get(each) for each in self._clearing.lent)
        return [market.instrument for market in lent if market is not None]

    def phases(self) -> Sequence[e.PhaseChanged]:
        return ()

    def instruments(self) -> Sequence[int]:
        if self._teller is Teller.INDICES:
            return [each.security_id for each in self._clearing.indices.values()]
        return [each.security_id for each in self.definitions()]

    def book(self, security_id: int) -> BookView | None:
        statistics: list[e.Update] = list(self._clearing.newest.get(security_id, {}).values())
        if self._teller is Teller.LENDING:
            statistics += standing_offers(self._clearing.lent[security_id])
        nobody: list[Resting] = []
        return BookView(nobody, nobody, statistics, None)


class WithLending(ChannelBooks):
    """The market of a channel of orders that tells the lending books of its shares too."""

    def __init__(
        self, channel: int, venue: Exchange, routing: Routing | JointRouting, clearing: Clearing
    ) -> None:
        super().__init__(channel, venue.catalogue, routing, venue.engine, venue.desk)
        self._clearing = clearing

    def book(self, security_id: int) -> BookView | None:
        book, lent = super().book(security_id), self._clearing.lent.get(security_id)
        if book is None or lent is None:
            return book
        return book._replace(statistics=[*book.statistics, *standing_offers(lent)])


def standing_offers(lent: LendingBook) -> Iterator[e.LendingOffer]:
    """The offers of a share's loans as they are."""
    for side in (Side.BUY, Side.SELL):
        yield from (_standing(offer, place) for place, offer in enumerate(lent.sides[side], 1))


def _standing(offer: e.LendingOffer, position: int) -> e.LendingOffer:
    return e.LendingOffer(
        offer.security_id, offer.action, offer.side, offer.order_id, offer.rate, offer.size, position,
        offer.time_ns, offer.firm, offer.expires, offer.early_termination, offer.certified,
        all_or_nothing=offer.all_or_nothing,
    )  # fmt: skip


def teller_of(system: PublishingSystem, channel: int) -> Teller:
    if system.desks is None or channel not in system.desks:
        return Teller.INSTRUMENTS
    return Teller.LENDING if channel == system.desks.lending else Teller.INDICES


def books_of(
    system: PublishingSystem,
    channel: int,
    venue: Exchange,
    routing: Routing | JointRouting,
    clearing: Clearing,
    habits: Habits,
) -> ChannelBooks:
    teller = teller_of(system, channel)
    if teller is Teller.INSTRUMENTS:
        if habits.lending_beside and channel in _channels_of_orders(system, venue):
            return WithLending(channel, venue, routing, clearing)
        return ChannelBooks(channel, venue.catalogue, routing, venue.engine, venue.desk)
    return DeskBooks(channel, venue, routing, clearing, teller)


def _channels_of_orders(system: PublishingSystem, venue: Exchange) -> set[int]:
    """Of systems that have desks: the first of an instrument's channels."""
    if system.desks is None:
        return set()
    return {system.channels_of(each.instrument)[0] for each in venue.engine.floor.markets.values()}


def desk_events(venue: Exchange, clearing: Clearing, now_ns: int) -> Iterator[tuple[Teller, e.Event]]:
    """What there is to tell now, by whom."""
    date = max(market.trade_date for market in venue.engine.floor.markets.values())
    yield from clearing.events(now_ns, date, _States(venue.engine))


class _States(Mapping[int, State]):
    """Of the instruments that trade, each found when it is asked for: mostly one that is open is enough."""

    def __init__(self, engine: Engine) -> None:
        self._markets, self._state = engine.floor.markets, engine.trading_state

    def __getitem__(self, security_id: int) -> State:
        return self._state(security_id)

    def __iter__(self) -> Iterator[int]:
        return iter(self._markets)

    def __len__(self) -> int:
        return len(self._markets)


def _tell(books: ChannelBooks, event: e.Event, now_ns: int) -> None:
    """An event that the engine did not make: books are told of it before it is published."""
    books.now_ns = now_ns
    for update in event.updates:
        if type(update) in OBSERVED:
            books.observe(update)


class LiveDesks:
    """Asks `clearing` every `every_ns` (None: never), and gives what it tells to the publishers of systems
    that have desks, of all sites, and to `witnesses`. The first time is now."""

    def __init__(
        self,
        venue: Exchange,
        clearing: Clearing,
        systems: Sequence[PublishingSystem],
        books: Mapping[int, ChannelBooks],
        publishers: Mapping[int, Sequence[Publisher]],
        every_ns: int | None = EVERY_NS,
        *,
        lending_beside: bool = False,
    ) -> None:
        self._beside = lending_beside
        self._venue, self._clearing, self._every_ns = venue, clearing, every_ns or EVERY_NS
        self._systems = [each for each in systems if each.desks is not None]
        self._is_on = every_ns is not None
        self.witnesses: list[Witness] = []  # servers of sessions, which have no channels
        self._books, self._publishers = books, publishers
        self._due_ns = 0

    def next_timeout(self) -> int | None:
        return self._due_ns if self._is_on and (self._systems or self.witnesses) else None

    def on_timeout(self, now_ns: int) -> None:
        due_ns = self.next_timeout()
        if due_ns is None or now_ns < due_ns:
            return
        self._due_ns = now_ns + self._every_ns
        for teller, event in desk_events(self._venue, self._clearing, now_ns):
            for witness in self.witnesses:
                witness.publish(event, now_ns)
            for channel in self._channels(teller, event):
                _tell(self._books[channel], event, now_ns)
                for publisher in self._publishers[channel]:
                    publisher.publish(event, now_ns)

    def _channels(self, teller: Teller, event: e.Event) -> Iterator[int]:
        for system in self._systems:
            assert system.desks is not None
            if teller is Teller.INSTRUMENTS:
                market = self._venue.engine.floor.markets.get(getattr(event.updates[0], "security_id", 0))
                yield from () if market is None else system.channels_of(market.instrument)
            else:
                yield system.desks.lending if teller is Teller.LENDING else system.desks.indices
            if teller is Teller.LENDING and self._beside:
                market = self._venue.engine.floor.markets.get(getattr(event.updates[0], "security_id", 0))
                yield from () if market is None else system.channels_of(market.instrument)[:1]


class Desks:
    """Asks `clearing` in time, and gives what it tells to the lines that carry it."""

    def __init__(
        self,
        venue: Venue,
        clearing: Clearing,
        lines: Sequence[PublishingLine],
        witnesses: Sequence[Witness] = (),
        *,
        lending_beside: bool = False,
    ) -> None:
        self._witnesses, self._beside = witnesses, lending_beside
        self._venue, self._clearing = venue, clearing
        self.lines = [line for line in lines if line.system.desks is not None]
        self._systems = tuple({line.system.name: line.system for line in self.lines}.values())
        self._by_channel = {(line.system.name, line.channel): line for line in self.lines}
        self._by_teller = {
            teller: [line for line in self.lines if teller_of(line.system, line.channel) is teller]
            for teller in (Teller.LENDING, Teller.INDICES)
        }

    def publish(self, now_ns: int) -> None:
        for teller, event in desk_events(self._venue, self._clearing, now_ns):
            for witness in self._witnesses:
                witness.publish(event, now_ns)
            for line in self._lines(teller, event, self._by_teller):
                _tell(line.books, event, now_ns)
                for site in line.sites:
                    site.publish(event, site.send_at(now_ns))

    def _lines(
        self, teller: Teller, event: e.Event, desks: Mapping[Teller, Sequence[PublishingLine]]
    ) -> Sequence[PublishingLine]:
        if teller is Teller.INDICES:
            return desks[teller]
        security_id = getattr(event.updates[0], "security_id", 0)
        instrument = self._venue.engine.floor.markets[security_id].instrument
        if teller is Teller.LENDING:
            own = [line for line in self.lines if line.channel == line.system.channels_of(instrument)[0]]
            return [*desks[teller], *(own if self._beside else ())]
        return [
            self._by_channel[system.name, channel]
            for system in self._systems
            for channel in system.channels_of(instrument)
            if (system.name, channel) in self._by_channel
        ]
