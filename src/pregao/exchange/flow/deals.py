"""Trades that firms agree upon: crosses and sweeps, providers and the retail orders they are there for,
blocks, trades at close and at average, forwards, and what the marketplace enters for others.

Each maker looks for an instrument that takes its command, and gives None where it finds none now.
"""

from collections.abc import Sequence
from itertools import cycle
from random import Random

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.commands import (
    BlockKind,
    BlockTrade,
    CrossOrder,
    ForwardTrade,
    ManualTrade,
    NewOrder,
    RlpOrder,
    SweepAndCross,
    TaaTrade,
    TacTrade,
    TradeOnBehalf,
)
from pregao.exchange.flow.draws import Blocks, Draw
from pregao.exchange.flow.settings import FIRMS, OrderIntent
from pregao.exchange.orders import OrderType, SelfTrade, TimeInForce
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import Side, State

Deal = (
    CrossOrder | SweepAndCross | RlpOrder | BlockTrade | TacTrade | TaaTrade | ForwardTrade | TradeOnBehalf
    | ManualTrade | NewOrder
)  # fmt: skip
_SECOND_NS = 1_000_000_000


class Deals:
    """`states` are the flow's own, looked at as they are; `now_ns` and `firm` are of whoever acts next."""

    def __init__(self, catalogue: Catalogue, blocks: Blocks, states: Sequence[State], random: Random) -> None:
        self.listings, self._states, self.random = catalogue.listings, states, random
        self._blocks, self.prices = blocks, blocks.prices
        self.numbers = {entry.instrument.security_id: n for n, entry in enumerate(self.listings)}
        self.now_ns = self.firm = 0
        types = [listing.instrument.security_type for listing in self.listings]
        everything = range(len(types))
        self.shares = [n for n in everything if self.listings[n].average_daily is not None]
        self.traded = [n for n in everything if types[n] is not SecurityType.FORWARD]
        self._forwards = [n for n in everything if types[n] is SecurityType.FORWARD]
        self._futures = [n for n in everything if types[n] is SecurityType.FUT] or self.traded
        self.popular = sorted(self.traded, key=lambda n: -self.listings[n].weight)[:12]
        self._retail: RlpOrder | None = None
        # Those of which a day should have each, in turn.
        self._kinds = cycle(BlockKind)
        self._on_behalf = cycle((None, *BlockKind))
        self._wants_more = cycle((False, True))

    def start_day(self) -> None:
        self._retail = None

    def choose(self, among: Sequence[int]) -> tuple[int, int, int] | None:
        """An open one of them: its number, its security id and its value."""
        for n in self.random.sample(among, min(len(among), 8)):
            if self._states[n] is State.OPEN:
                return n, self.listings[n].instrument.security_id, self.prices.value(n, self.now_ns)
        return None

    def agreed(self, among: Sequence[int], lots: int) -> tuple[int, int, int, int, int] | None:
        """What two firms agree upon: security id, quantity, price, buyer, seller."""
        chosen = self.choose(among)
        if chosen is None:
            return None
        number, security_id, value = chosen
        instrument = self.listings[number].instrument
        quantity = min(self.random.randint(1, lots) * instrument.lot, instrument.maximum_quantity)
        return security_id, quantity, value, self.firm, self.random.choice(FIRMS)

    def cross(self) -> Deal | None:
        terms = self.agreed(self.shares, 200)
        return terms and CrossOrder(self.now_ns, *terms[:3], terms[3], terms[3])

    def sweep(self) -> Deal | None:
        terms = self.agreed(self.popular, 50)
        if terms is None:
            return None
        security_id, quantity, price, firm, _ = terms
        number = self.numbers[security_id]
        side = self.random.choice(tuple(Side))
        reach = 2 * int(self._blocks.half_spreads[number])
        price += reach if side is Side.BUY else -reach
        return SweepAndCross(self.now_ns, security_id, side, quantity, price, firm)

    def rlp_order(self) -> Deal | None:
        terms = self.agreed(self.popular, 100)
        if terms is None:
            return None
        security_id, quantity, price, firm, _ = terms
        self._retail = RlpOrder(
            self.now_ns, security_id, self.random.choice(tuple(Side)), quantity, price, firm
        )
        return self._retail

    def rlp_trade(self) -> Deal | None:
        """The retail order that the last liquidity of its firm is there for."""
        rlp, self._retail = self._retail, None
        if rlp is None or self._states[self.numbers[rlp.security_id]] is not State.OPEN:
            return None
        lot = self.listings[self.numbers[rlp.security_id]].instrument.lot
        # Every other one is more than the provider has: the book gives the rest in the same event.
        quantity = rlp.quantity + lot if next(self._wants_more) else max(rlp.quantity // lot // 3, 1) * lot
        return NewOrder(
            self.now_ns, rlp.security_id, rlp.side.opposite, quantity, None, rlp.firm, OrderType.MARKET,
            TimeInForce.IOC, retail=True,
        )  # fmt: skip

    def block(self) -> Deal | None:
        terms = self.agreed(self.shares, 5000)
        if terms is None:
            return None
        security_id, quantity, value, buyer, seller = terms
        kind = next(self._kinds)
        price = None if kind is BlockKind.MIDPOINT else value
        return BlockTrade(self.now_ns, security_id, kind, quantity, buyer, seller, price)

    def tac(self) -> Deal | None:
        terms = self.agreed(self.shares, 500)
        return terms and TacTrade(self.now_ns, *terms[:2], *terms[3:])

    def taa(self) -> Deal | None:
        terms = self.agreed(self._futures, 500)
        return terms and TaaTrade(self.now_ns, *terms[:2], *terms[3:])

    def termo(self) -> Deal | None:
        terms = self.agreed(self._forwards, 5000)
        if terms is None:
            return None
        days = self.random.choice((16, 30, 60, 90, 180))
        rate = self.random.randint(80, 140) * days // 30
        security_id, quantity, price, buyer, seller = terms
        price = self.on_tick(security_id, price * (10_000 + rate) // 10_000)
        return ForwardTrade(self.now_ns, security_id, quantity, price, buyer, seller, days, rate)

    def vista(self) -> Deal | None:
        """A forward with the sale of its cash instrument (13.1)."""
        terms = self.agreed(self._forwards, 5000)
        if terms is None:
            return None
        cash = self.listings[self.numbers[terms[0]]].instrument.underlyings[0].security_id
        number = self.numbers[cash]
        if self._states[number] is not State.OPEN:
            return None
        lot = self.listings[number].instrument.lot
        security_id, quantity, price, buyer, seller = terms
        forward = self.on_tick(security_id, price * 10_100 // 10_000)
        return ForwardTrade(
            self.now_ns, security_id, -(-quantity // lot) * lot, forward, buyer, seller, 30, 100, cash, price
        )

    def behalf(self) -> Deal | None:
        terms = self.agreed(self.shares, 100)
        return terms and TradeOnBehalf(self.now_ns, *terms, next(self._on_behalf))

    def manual(self) -> Deal | None:
        terms = self.agreed(self.traded, 50)
        return terms and ManualTrade(self.now_ns, *terms, self.now_ns - 30 * _SECOND_NS)

    def on_tick(self, security_id: int, price: int) -> int:
        tick = self.listings[self.numbers[security_id]].instrument.tick
        return max(price // tick, 1) * tick


# Orders of the rarer types, and those for auctions.


_DAY_NS = 86_400_000_000_000
# What prevention is asked to cancel, by two random bits: the aggressor mostly.
STP_CHOICES = (
    SelfTrade.CANCEL_AGGRESSOR,
    SelfTrade.CANCEL_RESTING,
    SelfTrade.CANCEL_AGGRESSOR,
    SelfTrade.CANCEL_BOTH,
)


def special_order(instrument: Instrument, draw: Draw) -> NewOrder | None:
    """An order of an intent that the loop of the flow does not see to itself."""
    now_ns, _, intent, buys, middle, away, quantity, firm, _, pick, _ = draw
    if intent == OrderIntent.STOP:
        return _stop(instrument, draw)
    if intent == OrderIntent.ICEBERG:
        return _iceberg(instrument, draw)
    if intent == OrderIntent.GOOD_TILL:
        return _good_till(instrument, draw)
    side = Side.BUY if buys else Side.SELL
    investor = (pick >> 3) & 15 if pick & 3 == 0 else None
    stp = STP_CHOICES[pick >> 8 & 3]
    if intent == OrderIntent.MARKET:
        return NewOrder(
            now_ns, instrument.security_id, side, quantity, None, firm, OrderType.MARKET, TimeInForce.IOC,
            investor_id=investor, stp=stp,
        )  # fmt: skip
    minimum = (
        max(quantity // instrument.lot // 2, 1) * instrument.lot if intent == OrderIntent.MINIMUM else None
    )
    price = middle - away if buys else middle + away
    return NewOrder(
        now_ns, instrument.security_id, side, quantity, price, firm,
        tif=TimeInForce.IOC if minimum else TimeInForce.FOK,
        min_quantity=minimum, investor_id=investor, stp=stp,
    )  # fmt: skip


def _stop(instrument: Instrument, draw: Draw) -> NewOrder | None:
    """A buy stop waits above the market, a sell stop below; most of them with a limit beyond."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    tick = instrument.tick
    outward = abs(away) + (1 + pick % 12) * tick
    stop = middle + outward if buys else middle - outward
    beyond = stop + 4 * tick if buys else stop - 4 * tick
    if min(stop, beyond) <= 0 and not instrument.legs:
        return None
    limited = bool(pick & 15)
    return NewOrder(
        now_ns, instrument.security_id, Side.BUY if buys else Side.SELL, quantity,
        beyond if limited else None, firm, OrderType.STOP_LIMIT if limited else OrderType.STOP,
        stop_price=stop,
    )  # fmt: skip


def _iceberg(instrument: Instrument, draw: Draw) -> NewOrder:
    """Five to twenty times what it shows; an odd lot cannot hide anything."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    whole = quantity * (5 + pick % 16)
    hidden = whole <= instrument.maximum_quantity and not instrument.is_odd_lot
    return NewOrder(
        now_ns, instrument.security_id, Side.BUY if buys else Side.SELL, whole if hidden else quantity,
        middle - away if buys else middle + away, firm, max_floor=quantity if hidden else None,
        investor_id=(pick >> 3) & 15 if pick & 7 == 0 else None,
    )  # fmt: skip


def _good_till(instrument: Instrument, draw: Draw) -> NewOrder:
    """Orders of other days lie deeper in the book."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    deeper = away + pick % 20 * instrument.tick
    price = max(middle - deeper, instrument.tick) if buys and not instrument.legs else middle - deeper
    tif = TimeInForce.DAY
    if instrument.accepts_gt:
        tif = TimeInForce.GTD if pick % 3 == 0 else TimeInForce.GTC
    return NewOrder(
        now_ns, instrument.security_id, Side.BUY if buys else Side.SELL, quantity,
        price if buys else middle + deeper, firm, tif=tif,
        expire_date=now_ns // _DAY_NS + 1 + pick % 30 if tif is TimeInForce.GTD else None,
    )  # fmt: skip


def auction_order(instrument: Instrument, state: State, draw: Draw) -> NewOrder:
    """Prices on both sides of the value, so that the books cross; one in sixteen without a price."""
    now_ns, _, _, buys, middle, away, quantity, firm, _, pick, _ = draw
    side = Side.BUY if buys else Side.SELL
    if pick >> 8 & 15 == 0:
        closing = state is State.FINAL_CLOSING_CALL and pick >> 12 & 1
        kind = OrderType.MARKET_ON_CLOSE if closing else OrderType.MARKET_ON_AUCTION
        return NewOrder(now_ns, instrument.security_id, side, quantity, None, firm, kind)
    eager = pick >> 13 & 1
    toward = -min(abs(away), 6 * instrument.tick) if eager else away
    price = middle - toward if buys else middle + toward
    return NewOrder(now_ns, instrument.security_id, side, quantity, price, firm)
