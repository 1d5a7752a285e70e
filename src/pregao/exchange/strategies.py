"""A strategy that has implied-in orders (18.1), and what its legs are worth in its own book.

The price is the sum of ratio × leg price, bought legs added and sold ones taken off; the size is what
the best level of the scarcest leg gives, in whole strategies and in lots of the strategy. So it only
makes sense for strategies priced by such a sum (`PriceMethod`), whose lots are lots of every leg; and a
sum that is not on the strategy's tick is worth nothing there.
"""

from typing import NamedTuple

from pregao.exchange.book import BookSide
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderPlace, OrderType, TimeInForce
from pregao.model.instruments import Instrument, PriceMethod
from pregao.model.market import Side

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
