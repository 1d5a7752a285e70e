"""Instruments added, changed and deleted while the exchange runs, as handlers of the engine. Each tells
a SecurityDefinition on the incremental stream; the definition loop has it from then on (6.5.8)."""

from dataclasses import replace
from typing import Any

from pregao.exchange.catalogues.entries import Catalogue, Listing
from pregao.exchange.desk import Desk, tell
from pregao.exchange.engine import Engine
from pregao.exchange.market import Market
from pregao.exchange.rejections import Reason, Rejection
from pregao.exchange.transaction import Transaction
from pregao.model.events import Definition
from pregao.model.instruments import Instrument, Leg, Product, SecuritySubType, SecurityType
from pregao.model.market import DefinitionAction
from pregao.services.live.commands import AddInstrument, ChangeInstrument, DeleteInstrument, StrategyLeg

_CHANGEABLE = ("description", "tick", "lot", "minimum_quantity", "maximum_quantity", "accepts_gt")


class Instruments:
    """The list of instruments; `by_symbol` has the ids of those there are."""

    def __init__(self, engine: Engine, desk: Desk, catalogue: Catalogue) -> None:
        self.by_symbol = {each.symbol: each.security_id for each in catalogue.instruments}
        self._floor, self._desk = engine.floor, desk
        self._paired = frozenset(security_id for pair in catalogue.pairs for security_id in pair)
        engine.register(AddInstrument, self._add)
        engine.register(ChangeInstrument, self._change)
        engine.register(DeleteInstrument, self._delete)

    def _add(self, command: AddInstrument, transaction: Transaction) -> Rejection | None:
        listings = self._desk.surveillance.listings
        if command.new_id in self._floor.markets or command.symbol in self.by_symbol:
            return _not_now("an instrument of this id or symbol is there already")
        if command.like not in listings:
            return Rejection(Reason.UNKNOWN_INSTRUMENT, str(command.like))
        legs = self._legs(command.legs)
        if isinstance(legs, Rejection):
            return legs
        listing = _like(listings[command.like], command, legs)
        instrument = listing.instrument
        if (wrong := _contradiction(instrument)) is not None:
            return wrong
        self._desk.add(listing)
        phases = self._desk.surveillance.phases
        status = phases.status(phases.group_of(instrument.security_id))
        market = self._floor.list_instrument(instrument, status.trade_date)
        market.session = status.session
        self.by_symbol[instrument.symbol] = instrument.security_id
        tell(transaction, Definition(instrument, DefinitionAction.ADD))
        return None

    def _legs(self, legs: tuple[StrategyLeg, ...] | None) -> tuple[Leg, ...] | Rejection | None:
        if legs is None:
            return None
        found = []
        for leg in legs:
            market = self._floor.markets.get(leg.security_id)
            if market is None:
                return Rejection(Reason.UNKNOWN_INSTRUMENT, str(leg.security_id))
            of = market.instrument
            found.append(Leg(of.security_id, of.symbol, leg.side, leg.ratio, of.security_type))
        return tuple(found)

    def _change(self, command: ChangeInstrument, transaction: Transaction) -> Rejection | None:
        market = self._floor.markets.get(command.security_id)
        if market is None:
            return Rejection(Reason.UNKNOWN_INSTRUMENT, str(command.security_id))
        changed = replace(market.instrument, **_given(command))
        if changed == market.instrument:
            return Rejection(Reason.NOTHING_CHANGED)
        if (wrong := _contradiction(changed)) is not None:
            return wrong
        market.instrument = changed
        listings = self._desk.surveillance.listings
        listings[changed.security_id] = replace(listings[changed.security_id], instrument=changed)
        tell(transaction, Definition(changed, DefinitionAction.MODIFY))
        return None

    def _delete(self, command: DeleteInstrument, transaction: Transaction) -> Rejection | None:
        market = self._floor.markets.get(command.security_id)
        if market is None:
            return Rejection(Reason.UNKNOWN_INSTRUMENT, str(command.security_id))
        needed = self._why_needed(market)
        if needed is not None:
            return _not_now(needed)
        draft = transaction.draft()
        for order in [each for each in self._floor.orders.values() if each.security_id == market.security_id]:
            draft.cancel(market, order)
        transaction.close(draft)
        market.statistics.swing = None  # it elects no more stops
        del self._floor.markets[market.security_id], self.by_symbol[market.instrument.symbol]
        surveillance = self._desk.surveillance
        surveillance.phases.remove(market.security_id)
        surveillance.bands.remove(market.security_id)
        del surveillance.listings[market.security_id]
        tell(transaction, Definition(market.instrument, DefinitionAction.DELETE))
        return None

    def _why_needed(self, market: Market) -> str | None:
        """Why an instrument cannot go now; None if it can."""
        security_id, surveillance = market.security_id, self._desk.surveillance
        if security_id in self._paired:
            return "its auctions are held together with another's"
        if market.instrument.implied:
            return "its legs imply orders in it, or it implies orders in spreads"
        if surveillance.auctions.get(security_id) is not None or surveillance.phases.own(security_id):
            return "it is in auction or in a state of its own"
        for other in self._floor.markets.values():
            legs, underlyings = other.instrument.legs, other.instrument.underlyings
            if security_id in {part.security_id for parts in (legs, underlyings) for part in parts}:
                return f"{other.instrument.symbol} is made of it"
        return None


def _given(command: AddInstrument | ChangeInstrument) -> dict[str, Any]:
    values = {name: getattr(command, name, None) for name in _CHANGEABLE}
    return {name: value for name, value in values.items() if value is not None}


def _like(other: Listing, command: AddInstrument, legs: tuple[Leg, ...] | None) -> Listing:
    instrument = replace(
        other.instrument,
        security_id=command.new_id,
        symbol=command.symbol,
        isin=None,
        implied=False,
        closing_price=None,
        **_given(command),
    )
    if legs is not None:
        instrument = replace(
            instrument,
            legs=legs,
            user_defined=True,
            security_type=SecurityType.MLEG,
            sub_type=SecuritySubType.STRATEGY,
            product=Product.MULTILEG,
            strike=None,
            is_put=None,
            is_american=None,
            underlyings=(),
        )
    return replace(other, instrument=instrument, settlement=None, open_interest=None)


def _contradiction(instrument: Instrument) -> Rejection | None:
    if instrument.minimum_quantity > instrument.maximum_quantity:
        return _not_now("the smallest quantity is above the largest")
    if instrument.lot > instrument.maximum_quantity:
        return _not_now("the lot is above the largest quantity")
    return None


def _not_now(detail: str) -> Rejection:
    return Rejection(Reason.NOT_NOW, detail)
