"""What all commands of the market of bonds stand on: the bonds that are listed with their books and states,
the rules of prices and sizes, trades, and the uncross that ends a pre-open.

States are three: pre-open (orders gather, a theoretical price is told), open (they match by rank, then by
time) and halted (orders can only be cancelled). A casada is halted while one of its legs is, whatever its own
state.
"""

from dataclasses import dataclass, field
from datetime import date
from typing import Final

from pregao.exchange.auction import AuctionOrder, Levels, allocate, theoretical
from pregao.exchange.bonds.book import BondBook, BondOrder, RateOrder
from pregao.exchange.bonds.catalogue import BondCatalogue
from pregao.exchange.bonds.pricing import Fixings
from pregao.exchange.bonds.statistics import BondStatistics, trade_money
from pregao.exchange.commands import Rejection, RejectReason
from pregao.model.errors import ConfigurationError
from pregao.model.events import StateChanged, Update
from pregao.model.fixed_income import BOND_SCALE, Bond
from pregao.model.holidays import national_calendar
from pregao.model.market import Action, BandType, Session, Side, State, TradeCondition, TradeSubType
from pregao.model.updates import TheoreticalPrice, Trade

_EPOCH: Final = date(1970, 1, 1)
_GREATEST_RATE: Final = 100 * BOND_SCALE  # no rate reaches a hundred percent, up or down
_OUTSIDE: Final = {
    BandType.HARD: RejectReason.PRICE_OUTSIDE_HARD_LIMIT,
    BandType.AUCTION: RejectReason.PRICE_OUTSIDE_AUCTION_BAND,
    BandType.REJECTION: RejectReason.PRICE_OUTSIDE_REJECTION_BAND,
    BandType.STATIC: RejectReason.PRICE_OUTSIDE_STATIC_LIMIT,
}


class RejectedError(Exception):
    """A command that the market does not take; never leaves `submit`."""

    def __init__(self, reason: RejectReason, detail: str = "") -> None:
        self.rejection = Rejection(reason, detail)
        super().__init__(self.rejection.text)


@dataclass(slots=True)
class ListedBond:
    """A bond with all that the market knows of it. `own_state` is its own; a casada's legs may halt it."""

    bond: Bond
    book: BondBook
    statistics: BondStatistics
    own_state: State = State.RESERVED
    told_state: State | None = None
    ends_ns: int = 0  # when its auction is to end; 0: nobody said
    theoretical: tuple[int, int] | None = None
    bands: dict[BandType, tuple[int, int]] = field(default_factory=dict)


class BondFloor:
    def __init__(self, catalogue: BondCatalogue, fixings: Fixings, rate_order: RateOrder) -> None:
        """Everything must have a price in reais at its closing price: what is missing is told now."""
        if not national_calendar().is_business_day(fixings.settlement):
            raise ConfigurationError(f"{fixings.settlement} is no business day of bonds")
        self.fixings, self._par = fixings, catalogue.par
        self.trade_date = (fixings.settlement - _EPOCH).days
        self.listed = {
            number: ListedBond(bond, BondBook(bond, rate_order), BondStatistics(bond))
            for number, bond in catalogue.bonds.items()
        }
        self.casadas: dict[int, list[ListedBond]] = {}
        for listed in self.listed.values():
            for leg in listed.bond.instrument.underlyings:
                self.casadas.setdefault(leg.security_id, []).append(listed)
        self.halted_futures: set[int] = set()
        self._numbers = 0
        self._trade_numbers: dict[int, int] = {}
        self.order_bonds: dict[int, ListedBond] = {}
        for bond in catalogue:
            trade_money(bond, bond.instrument.closing_price or 0, bond.instrument.lot, fixings, catalogue.par)

    def state(self, listed: ListedBond) -> State:
        """Its own, unless a leg of a casada is halted."""
        for leg in listed.bond.instrument.underlyings:
            bond = self.listed.get(leg.security_id)
            if leg.security_id in self.halted_futures or (bond and bond.own_state is State.PAUSE):
                return State.PAUSE
        return listed.own_state

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def find(self, security_id: int) -> ListedBond:
        found = self.listed.get(security_id)
        if found is None:
            raise RejectedError(RejectReason.UNKNOWN_INSTRUMENT, str(security_id))
        return found

    def check_terms(self, listed: ListedBond, price: int, size: int, largest: int) -> None:
        """Increments, bands and limits; `largest` is that of the way the trade comes about."""
        bond, instrument = listed.bond, listed.bond.instrument
        if price % bond.increment or (price <= 0 and not bond.allows_negative):
            raise RejectedError(RejectReason.PRICE_INVALID, str(price))
        if bond.is_rate and abs(price) >= _GREATEST_RATE:
            raise RejectedError(RejectReason.PRICE_INVALID, str(price))
        for kind, (low, high) in listed.bands.items():
            if not low <= price <= high:
                raise RejectedError(_OUTSIDE[kind], f"{price} of {low} to {high}")
        if size % instrument.lot or not instrument.minimum_quantity <= size <= largest:
            raise RejectedError(RejectReason.QUANTITY_INVALID, str(size))

    @staticmethod
    def firms_of(side: Side, mine: int, theirs: int) -> tuple[int, int]:
        """Buyer and seller."""
        return (mine, theirs) if side is Side.BUY else (theirs, mine)

    def trade(
        self, listed: ListedBond, price: int, size: int, firms: tuple[int, int], now_ns: int,
        updates: list[Update], condition: TradeCondition = TradeCondition.NONE,
        sub_type: TradeSubType | None = None,
    ) -> int:  # fmt: skip
        """Told on this bond alone: the legs of a casada have no trade of it."""
        security_id, statistics = listed.bond.instrument.security_id, listed.statistics
        number = self._trade_numbers.get(security_id, 0) + 1
        self._trade_numbers[security_id] = number
        if sub_type is None:
            if statistics.opening is None:
                is_auction = bool(condition & TradeCondition.AUCTION)
                condition = TradeCondition.AUCTION_OPENING if is_auction else TradeCondition.OPENING_PRICE
            elif price == statistics.last:
                condition |= TradeCondition.LAST_AT_SAME_PRICE
        trade = Trade(
            security_id, number, price, size, self.trade_date, Session.REGULAR, condition, now_ns, sub_type,
            *firms,
        )  # fmt: skip
        paid = trade_money(listed.bond, price, size, self.fixings, self._par)
        updates.append(trade)
        updates += statistics.add(trade, paid)
        return number

    def forget(self, listed: ListedBond, order: BondOrder) -> None:
        if order.order_id not in listed.book.orders:
            self.order_bonds.pop(order.order_id, None)

    def settle_state(self, listed: ListedBond, now_ns: int, updates: list[Update]) -> None:
        if self.state(listed) is listed.told_state:
            return
        self.tell_state(listed, now_ns, updates)
        if self.state(listed) is State.OPEN and listed.book.is_crossed:
            self._uncross(listed, now_ns, updates)
        self.tell_theoretical(listed, now_ns, updates)

    def tell_state(self, listed: ListedBond, now_ns: int, updates: list[Update]) -> None:
        listed.told_state = self.state(listed)
        number, state = listed.bond.instrument.security_id, listed.told_state
        ends_ns = listed.ends_ns if state is State.RESERVED and listed.ends_ns > now_ns else None
        updates.append(StateChanged(number, Session.REGULAR, state, None, self.trade_date, now_ns, ends_ns))

    def _uncross(self, listed: ListedBond, now_ns: int, updates: list[Update]) -> None:
        """All at one price, found as in every auction of ours, among ranks."""
        book, found = listed.book, self._theoretical(listed)
        if found is None:
            return
        views = [
            AuctionOrder(order.side, book.sign * order.price, order.size, order.order_id)
            for side in book.sides.values()
            for order in side.orders
        ]
        price = book.sign * found[0]
        for fill in allocate(views, found[0]):
            buy, sell = book.orders[fill.buy], book.orders[fill.sell]
            for order in (buy, sell):
                updates.append(book.reduce(order, fill.quantity, now_ns))
                self.forget(listed, order)
            self.trade(
                listed, price, fill.quantity, (buy.firm, sell.firm), now_ns, updates, TradeCondition.AUCTION
            )

    def _theoretical(self, listed: ListedBond) -> tuple[int, int] | None:
        """Rank and quantity at which an uncross would trade now."""
        book, closing = listed.book, listed.bond.instrument.closing_price
        levels = Levels(book.sides[Side.BUY].levels(), book.sides[Side.SELL].levels())
        reference = None if closing is None else book.sign * closing
        found = theoretical(levels, listed.bond.increment, reference)
        return None if found is None else (found.price, found.quantity)

    def tell_theoretical(self, listed: ListedBond, now_ns: int, updates: list[Update]) -> None:
        """In pre-open, when it changed; gone when that is over."""
        found = self._theoretical(listed) if self.state(listed) is State.RESERVED else None
        if found == listed.theoretical:
            return
        number, sign = listed.bond.instrument.security_id, listed.book.sign
        if found is None:
            gone = TheoreticalPrice(number, None, None, self.trade_date, now_ns, Action.DELETE)
            updates.append(gone)
        else:
            action = Action.NEW if listed.theoretical is None else Action.CHANGE
            price, size = sign * found[0], found[1]
            updates.append(TheoreticalPrice(number, price, size, self.trade_date, now_ns, action))
        listed.theoretical = found
