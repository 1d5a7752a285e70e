"""Instruments added, changed and deleted while the exchange runs, as handlers of the engine. Each tells a
Definition on the incremental stream; the definition loop has it from then on (6.5.8).

Ids and symbols are found anew with every change: a symbol may be given to another id, by renaming or
after a delete, and an id to another symbol. What is rejected has changed nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pregao.exchange.catalogues.register import LARGEST_ID
from pregao.exchange.catalogues.rules import Catalogue, ListedInstrument
from pregao.exchange.checks import check_price, check_quantity
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.control import AddInstrument, ChangeInstrument, DeleteInstrument, StrategyLeg
from pregao.exchange.engine import Engine
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder
from pregao.exchange.settlement import FigureDesk
from pregao.exchange.surveillance import Surveillance
from pregao.exchange.transaction import Transaction, tell
from pregao.model.events import Definition
from pregao.model.instruments import Instrument, Leg, Product, SecuritySubType, SecurityType
from pregao.model.market import DefinitionAction

# What an instrument must be before it is listed, and what its orders must be after a change.


MOST_LEGS = 10  # so that a definition fits a packet


def contradiction(instrument: Instrument, legs: Sequence[Instrument]) -> str | None:
    """What is wrong with it, in words; `legs` are the instruments of its legs as they are now."""
    if not instrument.symbol.isascii() or not 1 <= len(instrument.symbol) <= 20:
        return "a symbol has 1 to 20 ASCII characters"
    if instrument.tick <= 0 or instrument.lot <= 0:
        return "tick and lot are above zero"
    if instrument.minimum_quantity > instrument.maximum_quantity:
        return "the smallest quantity is above the largest"
    if (instrument.minimum_cross or 0) > instrument.maximum_quantity:
        return "the smallest cross is above the largest quantity"
    if instrument.lot > instrument.maximum_quantity:
        return "the lot is above the largest quantity"
    return _contradiction_of_legs(instrument, legs)


def _contradiction_of_legs(instrument: Instrument, legs: Sequence[Instrument]) -> str | None:
    if instrument.user_defined and not 2 <= len(legs) <= MOST_LEGS:
        return f"a strategy has from 2 to {MOST_LEGS} legs"
    if len({leg.security_id for leg in instrument.legs}) < len(legs):
        return "a leg is there twice"
    if any(leg.ratio <= 0 for leg in instrument.legs):
        return "a ratio is above zero"
    if instrument.implied and any(not leg.implied or leg.segment != instrument.segment for leg in legs):
        return "implied orders need eligible legs in the same segment (18)"
    return None


def off_rules(instrument: Instrument, order: EnteredOrder) -> bool:
    """Whether an open order could not have been entered as it is under the rules of `instrument`."""
    if order.survives_session and not instrument.accepts_gt:
        return True
    prices = [price for price in (order.price, order.stop_price) if price is not None]
    if any(check_price(instrument, price) is not None for price in prices):
        return True
    floor_fits = order.max_floor is None or order.max_floor % instrument.lot == 0
    parts_fit = order.leaves % instrument.lot == 0 and order.shown % instrument.lot == 0
    return check_quantity(instrument, order.quantity) is not None or not floor_fits or not parts_fit


_CHANGEABLE = ("symbol", "description", "tick", "lot", "minimum_quantity", "maximum_quantity", "accepts_gt")


class Listings:
    """The list of instruments; `by_symbol` has the ids of those there are."""

    def __init__(
        self, engine: Engine, surveillance: Surveillance, figures: FigureDesk, catalogue: Catalogue
    ) -> None:
        self.by_symbol = {each.symbol: each.security_id for each in catalogue.instruments}
        self._floor, self._implieds = engine.floor, engine.implieds
        self._surveillance, self._figures = surveillance, figures
        # Neither pairs nor indices change while the exchange runs.
        self._paired = frozenset(security_id for pair in catalogue.pairs for security_id in pair)
        self._indexed = {m.security_id: i.symbol for i in catalogue.indices for m in i.members}
        self._reserved = {index.security_id: index.symbol for index in catalogue.indices}
        engine.register(AddInstrument, self._add)
        engine.register(ChangeInstrument, self._change)
        engine.register(DeleteInstrument, self._delete)

    def _add(self, command: AddInstrument, transaction: Transaction) -> Rejection | None:
        listing = self._listing(command)
        if isinstance(listing, Rejection):
            return listing
        instrument = listing.instrument
        self._surveillance.join(listing, transaction.now_ns)
        self._figures.add(listing)
        phases = self._surveillance.phases
        status = phases.status(phases.group_of(instrument.security_id))
        market = self._floor.list_instrument(instrument, status.trade_date)
        market.session = status.session
        self.by_symbol[instrument.symbol] = instrument.security_id
        tell(transaction, Definition(instrument, DefinitionAction.ADD))
        for band in self._surveillance.bands.current(instrument.security_id, transaction.now_ns):
            tell(transaction, band)
        self._implieds.add(market)
        transaction.touch(market)
        return None

    def _listing(self, command: AddInstrument) -> ListedInstrument | Rejection:
        if command.new_id in self._floor.markets or command.new_id in self._reserved:
            return Rejection(RejectReason.DUPLICATE_ID, str(command.new_id))
        if not 1 <= command.new_id <= LARGEST_ID:
            return Rejection(RejectReason.INSTRUMENT_INVALID, "an id has at most twelve digits")
        other = self._surveillance.listings.get(command.like)
        if other is None:
            return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(command.like))
        legs = self._legs(command.legs)
        if isinstance(legs, Rejection):
            return legs
        listing = _like(other, command, legs)
        return self._wrong(listing.instrument) or listing

    def _wrong(self, instrument: Instrument) -> Rejection | None:
        owner = self.by_symbol.get(instrument.symbol, instrument.security_id)
        if owner != instrument.security_id or instrument.symbol in self._reserved.values():
            return Rejection(RejectReason.DUPLICATE_SYMBOL, instrument.symbol)
        legs = [self._floor.markets[leg.security_id].instrument for leg in instrument.legs]
        detail = contradiction(instrument, legs)
        return None if detail is None else Rejection(RejectReason.INSTRUMENT_INVALID, detail)

    def _legs(self, legs: tuple[StrategyLeg, ...] | None) -> tuple[Leg, ...] | Rejection | None:
        if legs is None:
            return None
        found = []
        for leg in legs:
            market = self._floor.markets.get(leg.security_id)
            if market is None:
                return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(leg.security_id))
            of = market.instrument
            found.append(Leg(of.security_id, of.symbol, leg.side, leg.ratio, of.security_type))
        return tuple(found)

    def _change(self, command: ChangeInstrument, transaction: Transaction) -> Rejection | None:
        market = self._floor.markets.get(command.security_id)
        if market is None:
            return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(command.security_id))
        before = market.instrument
        after = replace(before, **_given(command))
        if command.buy_back is not None:
            after = replace(after, is_buy_back=command.buy_back)
        if after == before:
            return Rejection(RejectReason.NOTHING_CHANGED)
        if (wrong := self._wrong(after)) is not None:
            return wrong
        if any(off_rules(after, order) for order in self._orders(market)):
            return Rejection(RejectReason.ORDERS_OPEN)
        self._modify(market, after, transaction)
        if after.symbol != before.symbol:
            del self.by_symbol[before.symbol]
            self.by_symbol[after.symbol] = after.security_id
            for other, renamed in [*_renamed(self._floor.markets.values(), after)]:
                self._modify(other, renamed, transaction)
        self._implieds.relist(transaction, market)
        return None

    def _modify(self, market: InstrumentMarket, instrument: Instrument, transaction: Transaction) -> None:
        market.instrument = instrument
        listings = self._surveillance.listings
        listings[market.security_id] = replace(listings[market.security_id], instrument=instrument)
        tell(transaction, Definition(instrument, DefinitionAction.MODIFY))

    def _delete(self, command: DeleteInstrument, transaction: Transaction) -> Rejection | None:
        market = self._floor.markets.get(command.security_id)
        if market is None:
            return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(command.security_id))
        needed = self._why_needed(market)
        if needed is not None:
            return needed
        draft = transaction.draft()
        for order in [*(order for order in market.book if order.implied), *self._orders(market)]:
            draft.cancel(market, order)
        transaction.close(draft)
        transaction.touched.pop(market, None)  # there is nothing left to look at
        self._implieds.drop(market.security_id)
        self._floor.delist_instrument(market)
        del self.by_symbol[market.instrument.symbol]
        self._surveillance.remove(market.security_id)
        self._figures.remove(market.security_id)
        tell(transaction, Definition(market.instrument, DefinitionAction.DELETE))
        return None

    def _why_needed(self, market: InstrumentMarket) -> Rejection | None:
        """Why an instrument cannot go now; None if it can."""
        security_id, surveillance = market.security_id, self._surveillance
        if market.statistics.trades:
            return Rejection(RejectReason.TRADES_OPEN)
        if surveillance.auctions.get(security_id) is not None or surveillance.phases.own(security_id):
            return Rejection(RejectReason.NOT_NOW, "it is in auction or in a state of its own")
        user = self._indexed.get(security_id)
        if security_id in self._paired:
            user = "the auctions of its pair"
        for other in self._floor.markets.values():
            legs, underlyings = other.instrument.legs, other.instrument.underlyings
            if any(part.security_id == security_id for parts in (legs, underlyings) for part in parts):
                user = other.instrument.symbol
                break
        return None if user is None else Rejection(RejectReason.INSTRUMENT_IN_USE, f"by {user}")

    def _orders(self, market: InstrumentMarket) -> list[Any]:
        return [each for each in self._floor.orders.values() if each.security_id == market.security_id]


def _renamed(markets: Any, renamed: Instrument) -> Iterator[tuple[InstrumentMarket, Instrument]]:
    """The instruments that name another as leg or underlying, with its new symbol."""
    for market in markets:
        instrument = market.instrument
        legs, underlyings = (
            tuple(
                replace(part, symbol=renamed.symbol) if part.security_id == renamed.security_id else part
                for part in parts
            )
            for parts in (instrument.legs, instrument.underlyings)
        )
        if legs != instrument.legs or underlyings != instrument.underlyings:
            yield market, replace(instrument, legs=legs, underlyings=underlyings)


def _given(command: AddInstrument | ChangeInstrument) -> dict[str, Any]:
    values = {name: getattr(command, name, None) for name in _CHANGEABLE}
    return {name: value for name, value in values.items() if value is not None}


def _like(other: ListedInstrument, command: AddInstrument, legs: tuple[Leg, ...] | None) -> ListedInstrument:
    instrument = replace(
        other.instrument,
        security_id=command.new_id,
        isin=None,
        clearing_id=None,
        implied=command.implied,
        closing_price=None,
        is_buy_back=command.buy_back,
        **_given(command),
    )
    bands = other.bands
    if legs is not None:
        if not other.instrument.legs:
            bands = ()  # those of an outright say nothing of a difference
        instrument = replace(
            instrument,
            legs=legs,
            user_defined=True,
            security_type=SecurityType.MLEG,
            sub_type=SecuritySubType.STRATEGY,
            product=Product.MULTILEG,
            price_method=command.price_method,
            strategy_type="UDS",
            strike=None,
            is_put=None,
            is_american=None,
            underlyings=(),
        )
    return replace(other, instrument=instrument, bands=bands, settlement=None, open_interest=None)
