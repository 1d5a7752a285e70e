"""A strategy that has implied-in orders (18.1), and what its legs are worth in its own book.

The price is the sum of ratio × leg price, bought legs added and sold ones taken off; the size is what
the best level of the scarcest leg gives, in whole strategies and in lots of the strategy. So it only
makes sense for strategies priced by such a sum (`PriceMethod`), whose lots are lots of every leg; and a
sum that is not on the strategy's tick is worth nothing there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pregao.exchange.book import BookSide
from pregao.exchange.conditions import CROSSED, ON_BEHALF
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderPlace, OrderType, TimeInForce
from pregao.model.events import Trade
from pregao.model.instruments import Instrument, Leg, PriceMethod
from pregao.model.market import Side, TradeSubType

if TYPE_CHECKING:
    from pregao.exchange.draft import Draft
    from pregao.exchange.transaction import Transaction

_BUY, _SELL = Side.BUY, Side.SELL
_SUMMED = frozenset({PriceMethod.NET_PRICE, PriceMethod.YIELD_DIFFERENCE})


class LegMarket(NamedTuple):
    market: InstrumentMarket
    side: Side
    ratio: int

    @property
    def factor(self) -> int:
        """What the leg's price counts in the strategy's."""
        return self.ratio if self.side is _BUY else -self.ratio

    def resting_side(self, side: Side) -> Side:
        """The side of the leg's book that an implied order of `side` is made of."""
        return side if self.side is _BUY else side.opposite


class Strategy:
    """Its market, its legs' and the implied orders that stand now."""

    __slots__ = ("_books", "_lot", "_tick", "legs", "market", "restate", "standing")

    def __init__(self, market: InstrumentMarket, legs: tuple[LegMarket, ...], *, restate: bool) -> None:
        self.market = market
        self.legs = legs
        self.restate = restate
        self.standing: dict[Side, ImpliedOrder | None] = {_BUY: None, _SELL: None}
        self._lot, self._tick = market.instrument.lot, market.instrument.tick
        self._books: dict[Side, tuple[tuple[BookSide, int, int], ...]] = {
            side: tuple((leg.market.book.side(leg.resting_side(side)), leg.factor, leg.ratio) for leg in legs)
            for side in Side
        }

    def current(self, side: Side) -> "ImpliedOrder | None":
        order = self.standing[side]
        return order if order is not None and order.place is OrderPlace.BOOK else None

    def worth(self, side: Side) -> tuple[int, int] | None:
        """Price and size of the implied order of a side."""
        price, size = 0, -1
        for book, factor, ratio in self._books[side]:
            level = book.best_level()
            if level is None:
                return None
            price += factor * level[0]
            whole = level[1] // ratio
            if size < 0 or whole < size:
                size = whole
        size -= size % self._lot
        return (price, size) if size and not price % self._tick else None

    def crosses(self, side: Side, price: int) -> bool:
        """Whether an implied order at this price would meet an order that rests in the strategy."""
        best = self.market.book.opposite(side).best_real_price
        return best is not None and (price >= best if side is _BUY else price <= best)

    def free(self, side: Side, wanted: int, investor_id: int | None, taken: int) -> int:
        """How much of `wanted` trades before a leg's order of the same investor would be reached, after
        `taken` that this event has promised already."""
        if investor_id is None:
            return wanted
        for book, _, ratio in self._books[side]:
            reach = _before_own(book, (taken + wanted) * ratio, investor_id, taken * ratio)
            wanted = min(wanted, reach // ratio - taken)
        return wanted - wanted % self._lot

    def leg_prices(self, side: Side, moved: int = 0, by: int = 0) -> list[int]:
        """Where the legs of an implied order would trade: at their best, leg `moved` `by` off it."""
        prices = [book.best_real_price or 0 for book, _, _ in self._books[side]]
        prices[moved] += by
        return prices

    def meet(self, price: int, resting: int, moved: int) -> tuple[int, int]:
        """Where an implied order at `price` trades with an order that rests at `resting`, and how much
        better that is for the leg that moved. Where the leg's tick cannot say it, at the legs' price."""
        leg = self.legs[moved]
        by, rest = divmod(resting - price, leg.factor)
        return (price, 0) if rest or by % leg.market.instrument.tick else (resting, by)


class ImpliedOrder(EnteredOrder):
    __slots__ = ("strategy",)

    def __init__(self, strategy: Strategy, side: Side, price: int, size: int, now_ns: int) -> None:
        super().__init__(
            0, strategy.market.security_id, side, OrderType.LIMIT, TimeInForce.DAY, size, price, None, now_ns
        )
        self.implied = True
        self.strategy = strategy


def _before_own(book: BookSide, needed: int, investor_id: int, taken: int) -> int:
    """What the best level shows before an order of the investor that is not taken yet, up to `needed`."""
    reach = 0
    for order in book.orders:
        if order.implied or order.price is None:
            continue
        if order.investor_id == investor_id and reach + order.shown > taken:
            return min(max(reach, taken), needed)
        reach += order.shown
        if reach >= needed:
            break
    return needed


def strategy_of(market: InstrumentMarket, floor: Floor, *, restate: bool) -> Strategy | None:
    """None where an instrument is not eligible, or cannot have implied orders."""
    instrument = market.instrument
    if not instrument.implied or not _is_summed(instrument):
        return None
    legs = []
    for leg in instrument.legs:
        found = floor.markets.get(leg.security_id)
        if found is None or leg.ratio <= 0 or leg.ratio * instrument.lot % found.instrument.lot:
            return None
        legs.append(LegMarket(found, leg.side, leg.ratio))
    return Strategy(market, tuple(legs), restate=restate)


def _is_summed(instrument: Instrument) -> bool:
    """Of two legs or more, none of them twice, with a price that is their sum."""
    ids = {leg.security_id for leg in instrument.legs}
    return len(ids) == len(instrument.legs) >= 2 and instrument.price_method in _SUMMED


# The trades that a trade of a strategy makes in each of its legs (13.3.2 LEG_TRADE).
#
# A match through an implied order takes orders from the books of the legs (`implied`). Every other trade of a
# strategy is between two parties of the strategy alone, so its leg trades are reports: they touch no order,
# and a leg that is halted, closed or in auction gets them too. Each leg has an event of its own after the
# strategy's (4.2.1), with an ExecutionSummary where the strategy's event has one.
#
# The guidelines do not say at which prices. Ours:
#
# - each leg stands at its last price of the session, else at its closing price of the day before, else in the
# middle of its book, else, never priced by anyone, at one tick; - what the sum of ratio × price then lacks of
# the strategy's price is put on one leg: the first that says it on its tick, at one price and above zero, a
# leg that nobody has priced before all others; - where no leg can, its quantity is split over two
# neighbouring ticks, and where the strategy's tick is finer than that, over two ten-thousandths.
#
# So the values always add up: the sum of side × price × quantity of the leg trades is price × quantity of the
# strategy's trade, to the last digit. Strategies that are not priced by such a sum (`PriceMethod`) leave
# every leg where it stands, and one whose legs are not all listed makes no leg trades.


# What the sum of the legs counts in the strategy's price.
_SUMS = {PriceMethod.NET_PRICE: 1, PriceMethod.YIELD_DIFFERENCE: 1, PriceMethod.REVERSED_NET_PRICE: -1}

Parts = tuple[tuple[int, int], ...]  # price and quantity of the trades of one leg


class PricedLeg(NamedTuple):
    """Where a leg stands before a strategy trades."""

    side: Side
    ratio: int
    price: int
    tick: int
    is_priced: bool = True
    is_strategy: bool = False  # its price may be zero or below

    @property
    def sign(self) -> int:
        return 1 if self.side is _BUY else -1


def price_legs(price: int, size: int, legs: Sequence[PricedLeg]) -> list[Parts]:
    """The trades of each leg, worth together what the strategy's trade is."""
    standing: list[Parts] = [((leg.price, leg.ratio * size),) for leg in legs]
    missing = price * size - sum(leg.sign * leg.price * leg.ratio * size for leg in legs)
    if missing:
        moved = [_moved(leg, leg.sign * missing, leg.ratio * size) for leg in legs]
        chosen = min(range(len(legs)), key=lambda place: (*_faults(legs[place], moved[place]), place))
        standing[chosen] = moved[chosen]
    return standing


def _moved(leg: PricedLeg, value: int, quantity: int) -> Parts:
    """A leg's trades worth `value` more than where it stands."""
    unit = leg.tick if value % leg.tick == 0 else 1
    steps, rest = divmod(value // unit, quantity)
    low = leg.price + steps * unit
    parts = ((low, quantity - rest), (low + unit, rest))
    return parts if rest else parts[:1]


def _faults(leg: PricedLeg, parts: Parts) -> tuple[bool, bool, bool, bool]:
    """What speaks against moving this leg, the worst first."""
    below = not leg.is_strategy and parts[0][0] <= 0
    off_tick = any(price % leg.tick for price, _ in parts)
    return below, off_tick, len(parts) > 1, leg.is_priced


class LegReport:
    """The leg trades of what one strategy traded in one event."""

    __slots__ = ("_execution", "_market", "_markets", "_parts", "_trades")

    def __init__(self, draft: "Draft", market: InstrumentMarket, trades: Sequence[Trade]) -> None:
        execution, strategy = draft.execution, market.instrument
        is_its_own = execution is not None and execution.security_id == market.security_id
        self._execution = execution if is_its_own else None
        self._market, self._trades = market, trades
        self._markets = _leg_markets(draft.floor, strategy)
        legs = [_stands(*each) for each in zip(strategy.legs, self._markets)]  # noqa: B905 (or there are none)
        method = strategy.price_method
        counted = None if method is None else _SUMS.get(method)
        self._parts: list[list[Parts]] = [
            [((leg.price, leg.ratio * trade.size),) for leg in legs]
            if counted is None
            else price_legs(counted * trade.price, trade.size, legs)
            for trade in (trades if legs else ())
        ]

    def tell(self, transaction: "Transaction") -> None:
        """An event for each leg (4.2.1)."""
        for place in range(len(self._markets)):
            draft = transaction.draft()
            self.trade_leg(draft, place)
            transaction.close(draft)

    def trade_leg(self, draft: "Draft", place: int) -> None:
        """One leg's trades, into the event of that leg."""
        if not self._markets:
            return
        strategy, of_strategy = self._market, self._execution
        market, leg = self._markets[place], strategy.instrument.legs[place]
        execution = None if of_strategy is None else draft.execute(market)
        for trade, parts in zip(self._trades, self._parts, strict=True):
            buyer, seller = (trade.buyer, trade.seller) if leg.side is _BUY else (trade.seller, trade.buyer)
            bits = int(trade.condition) & (CROSSED | ON_BEHALF)
            for price, size in parts[place]:
                of_leg = draft.trade(market, price, size, buyer, seller, sub_type=TradeSubType.LEG, bits=bits)
                strategy.add_leg_trade(trade, of_leg)
                if execution is not None and of_strategy is not None:
                    execution.count(price, size, _as_seen_by(leg.side, of_strategy.sides))
        if execution is not None and of_strategy is not None:
            execution.hidden += leg.ratio * of_strategy.hidden


def _leg_markets(floor: Floor, strategy: Instrument) -> list[InstrumentMarket]:
    """None of them where one is not listed."""
    found = [floor.markets.get(leg.security_id) for leg in strategy.legs if leg.ratio > 0]
    markets = [market for market in found if market is not None]
    return markets if len(markets) == len(strategy.legs) else []


def _stands(leg: Leg, market: InstrumentMarket) -> PricedLeg:
    instrument = market.instrument
    price, tick = market.reference_price, instrument.tick
    if price is None:
        quotes = [quote for quote in (market.book.buys.best_price, market.book.sells.best_price) if quote]
        price = sum(quotes) // len(quotes) if quotes else None
    is_priced = price is not None
    stands = tick if price is None else price // tick * tick  # a midpoint may have been between two
    return PricedLeg(leg.side, leg.ratio, stands, tick, is_priced, bool(instrument.legs))


def _as_seen_by(side: Side, sides: int) -> int:
    """The aggressors of a strategy, by bit, on a leg: who buys it sells the legs that it sells."""
    return sides if side is _BUY else (sides & 1) << 1 | sides >> 1
