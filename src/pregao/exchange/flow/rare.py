"""Commands that come a few times a day, however many orders the day has.

Each maker looks for an instrument that takes its command, and gives None where it finds none now;
it is then asked again a little later.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from random import Random

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.commands import (
    AmendTrade,
    BlockKind,
    BlockTrade,
    BustTrade,
    CancelSide,
    CrossOrder,
    ForwardTrade,
    ManualTrade,
    MassCancel,
    MoveInstrument,
    NewOrder,
    RlpOrder,
    SweepAndCross,
    TaaTrade,
    TacTrade,
    TradeOnBehalf,
)
from pregao.exchange.flow.blocks import Blocks
from pregao.exchange.flow.seen import Listed
from pregao.exchange.flow.settings import FIRMS
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.events import Trade
from pregao.model.instruments import PriceMethod, SecurityType
from pregao.model.market import Side, State

RareCommand = (
    MassCancel | CancelSide | CrossOrder | SweepAndCross | RlpOrder | BlockTrade | TacTrade
    | TaaTrade | ForwardTrade | TradeOnBehalf | ManualTrade | BustTrade | AmendTrade | MoveInstrument
    | NewOrder
)  # fmt: skip
_SECOND_NS = 1_000_000_000
_EARLIEST, _LATEST = 0.17, 0.68  # of the day: while everything is open
_PROVIDERS_LIFE = 40  # parts of the day
_LATEST_RETAIL = 1_000  # parts of the day after its provider's order: a retail order has come
_TO_AUCTION = 0.1
_WILD = (_TO_AUCTION, 0.3, 0.8)  # of the value: past the auction band, the rejection band, the hard limits


_SUMMED = frozenset({PriceMethod.NET_PRICE, PriceMethod.YIELD_DIFFERENCE})


class Rare:
    """Makers in turn. `states` and `trades` are the flow's own, looked at as they are."""

    def __init__(
        self,
        catalogue: Catalogue,
        blocks: Blocks,
        states: Sequence[State],
        trades: Sequence[Trade],
        seed: int,
        markets: Mapping[int, Listed] | None = None,
    ) -> None:
        self._markets = {} if markets is None else markets
        self._listings, self._states, self._trades = catalogue.listings, states, trades
        self._blocks, self._prices = blocks, blocks.prices
        self._random, self._seed = Random(seed), seed
        self._numbers = {entry.instrument.security_id: n for n, entry in enumerate(self._listings)}
        types = [listing.instrument.security_type for listing in self._listings]
        everything = range(len(types))
        self._shares = [n for n in everything if self._listings[n].average_daily is not None]
        by_weight = sorted(self._shares, key=lambda n: self._listings[n].weight)
        self._quiet = by_weight[: len(by_weight) // 3 + 1]
        self._traded = [n for n in everything if types[n] is not SecurityType.FORWARD]
        self._forwards = [n for n in everything if types[n] is SecurityType.FORWARD]
        self._futures = [n for n in everything if types[n] is SecurityType.FUT] or self._traded
        self._popular = sorted(self._traded, key=lambda n: -self._listings[n].weight)[:12]
        legs = {leg.security_id for entry in self._listings for leg in entry.instrument.legs}
        # Moving away from what is matched with it would leave its spreads without a leg.
        self._movable = [n for n in self._shares if self._listings[n].instrument.security_id not in legs]
        self._segments = sorted({self._listings[n].instrument.segment for n in self._shares})
        self._moved: dict[int, int] = {}
        self._retail: RlpOrder | None = None
        self._now_ns = self._firm = self._day_ns = 0
        # Those of which a day should have each, in turn.
        self._kinds = cycle(BlockKind)
        self._on_behalf = cycle((None, *BlockKind))
        self._far_off = cycle(_WILD)
        self._amends_firm = cycle((True, False))
        self._wants_more = cycle((False, True))
        self._makers: tuple[tuple[Callable[[], RareCommand | None], int], ...] = (
            (self._rlp_order, 6), (self._rlp_trade, 6), (self._mass_cancel, 3), (self._mass_cancel_some, 2),
            (self._cancel_side, 1), (self._cross, 6), (self._sweep, 3), (self._block, 2 * len(BlockKind)),
            (self._tac, 2), (self._taa, 2), (self._termo, 4), (self._vista, 2),
            (self._behalf, 1 + len(BlockKind)), (self._manual, 2), (self._bust, 3), (self._amend, 4),
            (self._move, 1), (self._on_close, 4), (self._wild, 2 * len(_WILD)), (self._strategy, 6),
        )  # fmt: skip

    def start_day(self) -> None:
        self._retail = None

    def plan(self, start_ns: int, day_ns: int) -> Iterator[tuple[int, int]]:
        """When each is to be made in a day, and which: spread over the hours in which all is open."""
        self._day_ns = day_ns
        for number, (_, times) in enumerate(self._makers):
            random = Random(f"{self._seed}/{start_ns}/{max(number, 1)}")  # a retail trade after its RLP order
            late_ns = day_ns // (2 * _LATEST_RETAIL) if number == 1 else 0
            for n in range(times):
                share = _EARLIEST + (_LATEST - _EARLIEST) * (n + random.random()) / times
                yield start_ns + int(day_ns * share) + late_ns, number

    def make(self, number: int, now_ns: int) -> RareCommand | None:
        self._now_ns, self._firm = now_ns, self._random.choice(FIRMS)
        return self._makers[number][0]()

    def life_ns(self, order: NewOrder | RlpOrder) -> int:
        """How long an order stays that was made here. Providers stay for minutes, at least until the retail
        order comes that they are there for; others wait for a close, or for whoever takes them, for a day."""
        if isinstance(order, RlpOrder):
            minutes = self._random.lognormvariate(0, 0.8) * self._day_ns / _PROVIDERS_LIFE
            return int(min(max(minutes, self._day_ns / _LATEST_RETAIL), self._day_ns))
        return self._day_ns

    def _choose(self, among: Sequence[int]) -> tuple[int, int, int] | None:
        """An open one of them: its number, its security id and its value."""
        for n in self._random.sample(among, min(len(among), 8)):
            if self._states[n] is State.OPEN:
                return n, self._listings[n].instrument.security_id, self._prices.value(n, self._now_ns)
        return None

    def _agreed(self, among: Sequence[int], lots: int) -> tuple[int, int, int, int, int] | None:
        """What two firms agree upon: security id, quantity, price, buyer, seller."""
        chosen = self._choose(among)
        if chosen is None:
            return None
        number, security_id, value = chosen
        instrument = self._listings[number].instrument
        quantity = min(self._random.randint(1, lots) * instrument.lot, instrument.maximum_quantity)
        return security_id, quantity, value, self._firm, self._random.choice(FIRMS)

    def _mass_cancel(self) -> RareCommand | None:
        """A small firm mostly: a large one would empty the market."""
        return MassCancel(self._now_ns, self._random.choice(FIRMS[len(FIRMS) // 2 :]))

    def _mass_cancel_some(self) -> RareCommand | None:
        some = self._random.sample(self._traded, min(len(self._traded), 20))
        ids = tuple(self._listings[n].instrument.security_id for n in some)
        side = self._random.choice((None, Side.BUY, Side.SELL))
        return MassCancel(self._now_ns, self._firm, ids, side)

    def _cancel_side(self) -> RareCommand | None:
        # Of a popular one: the others often have an empty side, and this comes once a day.
        chosen = self._choose(self._popular)
        return chosen and CancelSide(self._now_ns, chosen[1], self._random.choice(tuple(Side)))

    def _cross(self) -> RareCommand | None:
        terms = self._agreed(self._shares, 200)
        return terms and CrossOrder(self._now_ns, *terms[:3], terms[3], terms[3])

    def _sweep(self) -> RareCommand | None:
        terms = self._agreed(self._popular, 50)
        if terms is None:
            return None
        security_id, quantity, price, firm, _ = terms
        number = self._numbers[security_id]
        side = self._random.choice(tuple(Side))
        reach = 2 * int(self._blocks.half_spreads[number])
        price += reach if side is Side.BUY else -reach
        return SweepAndCross(self._now_ns, security_id, side, quantity, price, firm)

    def _rlp_order(self) -> RareCommand | None:
        terms = self._agreed(self._popular, 100)
        if terms is None:
            return None
        security_id, quantity, price, firm, _ = terms
        self._retail = RlpOrder(
            self._now_ns, security_id, self._random.choice(tuple(Side)), quantity, price, firm
        )
        return self._retail

    def _rlp_trade(self) -> RareCommand | None:
        """The retail order that the last liquidity of its firm is there for."""
        rlp, self._retail = self._retail, None
        if rlp is None or self._states[self._numbers[rlp.security_id]] is not State.OPEN:
            return None
        lot = self._listings[self._numbers[rlp.security_id]].instrument.lot
        # Every other one is more than the provider has: the book gives the rest in the same event.
        quantity = rlp.quantity + lot if next(self._wants_more) else max(rlp.quantity // lot // 3, 1) * lot
        return NewOrder(
            self._now_ns, rlp.security_id, rlp.side.opposite, quantity, None, rlp.firm, OrderType.MARKET,
            TimeInForce.IOC, retail=True,
        )  # fmt: skip

    def _block(self) -> RareCommand | None:
        terms = self._agreed(self._shares, 5000)
        if terms is None:
            return None
        security_id, quantity, value, buyer, seller = terms
        kind = next(self._kinds)
        price = None if kind is BlockKind.MIDPOINT else value
        return BlockTrade(self._now_ns, security_id, kind, quantity, buyer, seller, price)

    def _tac(self) -> RareCommand | None:
        terms = self._agreed(self._shares, 500)
        return terms and TacTrade(self._now_ns, *terms[:2], *terms[3:])

    def _taa(self) -> RareCommand | None:
        terms = self._agreed(self._futures, 500)
        return terms and TaaTrade(self._now_ns, *terms[:2], *terms[3:])

    def _termo(self) -> RareCommand | None:
        terms = self._agreed(self._forwards, 5000)
        if terms is None:
            return None
        days = self._random.choice((16, 30, 60, 90, 180))
        rate = self._random.randint(80, 140) * days // 30
        security_id, quantity, price, buyer, seller = terms
        price = self._on_tick(security_id, price * (10_000 + rate) // 10_000)
        return ForwardTrade(self._now_ns, security_id, quantity, price, buyer, seller, days, rate)

    def _vista(self) -> RareCommand | None:
        """A forward with the sale of its cash instrument (13.1)."""
        terms = self._agreed(self._forwards, 5000)
        if terms is None:
            return None
        cash = self._listings[self._numbers[terms[0]]].instrument.underlyings[0].security_id
        number = self._numbers[cash]
        if self._states[number] is not State.OPEN:
            return None
        lot = self._listings[number].instrument.lot
        security_id, quantity, price, buyer, seller = terms
        forward = self._on_tick(security_id, price * 10_100 // 10_000)
        return ForwardTrade(
            self._now_ns, security_id, -(-quantity // lot) * lot, forward, buyer, seller, 30, 100, cash, price
        )

    def _behalf(self) -> RareCommand | None:
        terms = self._agreed(self._shares, 100)
        return terms and TradeOnBehalf(self._now_ns, *terms, next(self._on_behalf))

    def _manual(self) -> RareCommand | None:
        terms = self._agreed(self._traded, 50)
        return terms and ManualTrade(self._now_ns, *terms, self._now_ns - 30 * _SECOND_NS)

    def _bust(self) -> RareCommand | None:
        if not self._trades:
            return None
        trade = self._random.choice(self._trades)
        return BustTrade(self._now_ns, trade.security_id, trade.trade_id)

    def _amend(self) -> RareCommand | None:
        if not self._trades:
            return None
        trade = self._random.choice(self._trades)
        if next(self._amends_firm):
            return AmendTrade(
                self._now_ns, trade.security_id, trade.trade_id, buyer=self._random.choice(FIRMS)
            )
        tick = self._listings[self._numbers[trade.security_id]].instrument.tick
        return AmendTrade(self._now_ns, trade.security_id, trade.trade_id, price=trade.price + tick)

    def _move(self) -> RareCommand | None:
        """To the next segment of the shares; the day after it may come back."""
        chosen = self._choose(self._movable) if self._movable else None
        if chosen is None or len(self._segments) < 2:
            return None
        number, security_id, _ = chosen
        now = self._moved.get(number, self._listings[number].instrument.segment)
        segment = self._segments[(self._segments.index(now) + 1) % len(self._segments)]
        self._moved[number] = segment
        return MoveInstrument(self._now_ns, security_id, segment)

    def _on_close(self) -> RareCommand | None:
        """Sent during the day, it waits for the closing call."""
        terms = self._agreed(self._shares, 20)
        return terms and NewOrder(
            self._now_ns, terms[0], self._random.choice(tuple(Side)), terms[1], None, terms[3],
            OrderType.MARKET_ON_CLOSE,
        )  # fmt: skip

    def _wild(self) -> RareCommand | None:
        """A slip of the finger: a price far off, which bands reject or, in a quiet share, send to auction."""
        far_off = next(self._far_off)
        terms = self._agreed(self._quiet, 20) if far_off == _TO_AUCTION else self._agreed(self._shares, 1)
        if terms is None:
            return None
        security_id, quantity, value, firm, _ = terms
        side = self._random.choice(tuple(Side))
        off = int(value * far_off)
        price = self._on_tick(security_id, value + off if side is Side.BUY else value - off)
        return NewOrder(self._now_ns, security_id, side, quantity, price, firm)

    def _strategy(self) -> RareCommand | None:
        """An order in a strategy that was added in the session and is priced by the sum of its legs."""
        added = [
            market.instrument
            for security_id, market in self._markets.items()
            if security_id not in self._numbers and market.instrument.price_method in _SUMMED
        ]
        added = [
            each for each in added if each.legs and all(leg.security_id in self._numbers for leg in each.legs)
        ]
        if not added:
            return None
        chosen = self._random.choice(added)
        value = sum(
            self._prices.value(self._numbers[leg.security_id], self._now_ns)
            * leg.ratio
            * (1 if leg.side is Side.BUY else -1)
            for leg in chosen.legs
        )
        price = (value // chosen.tick + self._random.randint(-4, 4)) * chosen.tick
        quantity = self._random.randint(1, 5) * chosen.lot
        side = self._random.choice(tuple(Side))
        return NewOrder(self._now_ns, chosen.security_id, side, quantity, price, self._firm)

    def _on_tick(self, security_id: int, price: int) -> int:
        tick = self._listings[self._numbers[security_id]].instrument.tick
        return max(price // tick, 1) * tick
