"""The trades that a trade of a strategy makes in each of its legs (13.3.2 LEG_TRADE).

A match through an implied order takes orders from the books of the legs (`implied`). Every other trade of a
strategy is between two parties of the strategy alone, so its leg trades are reports: they touch no order,
and a leg that is halted, closed or in auction gets them too. Each leg has an event of its own after the
strategy's (4.2.1), with an ExecutionSummary where the strategy's event has one.

The guidelines do not say at which prices. Ours:

- each leg stands at its last price of the session, else at its closing price of the day before, else in the
  middle of its book, else, never priced by anyone, at one tick;
- what the sum of ratio × price then lacks of the strategy's price is put on one leg: the first that says it
  on its tick, at one price and above zero, a leg that nobody has priced before all others;
- where no leg can, its quantity is split over two neighbouring ticks, and where the strategy's tick is finer
  than that, over two ten-thousandths.

So the values always add up: the sum of side × price × quantity of the leg trades is price × quantity of the
strategy's trade, to the last digit. Strategies that are not priced by such a sum (`PriceMethod`) leave every
leg where it stands, and one whose legs are not all listed makes no leg trades.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pregao.exchange.conditions import CROSSED, ON_BEHALF
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.model.events import Trade
from pregao.model.instruments import Instrument, Leg, PriceMethod
from pregao.model.market import Side, TradeSubType

if TYPE_CHECKING:
    from pregao.exchange.transaction import Draft, Transaction

_BUY = Side.BUY
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
