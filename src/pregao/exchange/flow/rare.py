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
    BustTrade,
    CancelSide,
    MassCancel,
    MoveInstrument,
    NewOrder,
    RlpOrder,
)
from pregao.exchange.flow.deals import Deal, Deals
from pregao.exchange.flow.draws import Blocks
from pregao.exchange.flow.living import Listed
from pregao.exchange.flow.settings import FIRMS
from pregao.exchange.orders import OrderType
from pregao.model.events import Trade
from pregao.model.instruments import PriceMethod
from pregao.model.market import Side, State

RareCommand = Deal | MassCancel | CancelSide | BustTrade | AmendTrade | MoveInstrument
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
        self._random, self._seed, self._trades = Random(seed), seed, trades
        self._deals = deals = Deals(catalogue, blocks, states, self._random)
        self._listings, self._numbers, self._shares = deals.listings, deals.numbers, deals.shares
        by_weight = sorted(self._shares, key=lambda n: self._listings[n].weight)
        self._quiet = by_weight[: len(by_weight) // 3 + 1]
        legs = {leg.security_id for entry in self._listings for leg in entry.instrument.legs}
        # Moving away from what is matched with it would leave its spreads without a leg.
        self._movable = [n for n in self._shares if self._listings[n].instrument.security_id not in legs]
        self._segments = sorted({self._listings[n].instrument.segment for n in self._shares})
        self._moved: dict[int, int] = {}
        self._now_ns = self._firm = self._day_ns = 0
        # Those of which a day should have each, in turn.
        self._far_off = cycle(_WILD)
        self._amends_firm = cycle((True, False))
        self._makers: tuple[tuple[Callable[[], RareCommand | None], int], ...] = (
            (deals.rlp_order, 6), (deals.rlp_trade, 6), (self._mass_cancel, 3), (self._mass_cancel_some, 2),
            (self._cancel_side, 1), (deals.cross, 6), (deals.sweep, 3), (deals.block, 2 * len(BlockKind)),
            (deals.tac, 2), (deals.taa, 2), (deals.termo, 4), (deals.vista, 2),
            (deals.behalf, 1 + len(BlockKind)), (deals.manual, 2), (self._bust, 3), (self._amend, 4),
            (self._move, 1), (self._on_close, 4), (self._wild, 2 * len(_WILD)), (self._strategy, 6),
        )  # fmt: skip

    def start_day(self) -> None:
        self._deals.start_day()

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
        self._deals.now_ns, self._deals.firm = now_ns, self._firm
        return self._makers[number][0]()

    def life_ns(self, order: NewOrder | RlpOrder) -> int:
        """How long an order stays that was made here. Providers stay for minutes, at least until the retail
        order comes that they are there for; others wait for a close, or for whoever takes them, for a day."""
        if isinstance(order, RlpOrder):
            minutes = self._random.lognormvariate(0, 0.8) * self._day_ns / _PROVIDERS_LIFE
            return int(min(max(minutes, self._day_ns / _LATEST_RETAIL), self._day_ns))
        return self._day_ns

    def _mass_cancel(self) -> RareCommand | None:
        """A small firm mostly: a large one would empty the market."""
        return MassCancel(self._now_ns, self._random.choice(FIRMS[len(FIRMS) // 2 :]))

    def _mass_cancel_some(self) -> RareCommand | None:
        some = self._random.sample(self._deals.traded, min(len(self._deals.traded), 20))
        ids = tuple(self._listings[n].instrument.security_id for n in some)
        side = self._random.choice((None, Side.BUY, Side.SELL))
        return MassCancel(self._now_ns, self._firm, ids, side)

    def _cancel_side(self) -> RareCommand | None:
        # Of a popular one: the others often have an empty side, and this comes once a day.
        chosen = self._deals.choose(self._deals.popular)
        return chosen and CancelSide(self._now_ns, chosen[1], self._random.choice(tuple(Side)))

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
        chosen = self._deals.choose(self._movable) if self._movable else None
        if chosen is None or len(self._segments) < 2:
            return None
        number, security_id, _ = chosen
        now = self._moved.get(number, self._listings[number].instrument.segment)
        segment = self._segments[(self._segments.index(now) + 1) % len(self._segments)]
        self._moved[number] = segment
        return MoveInstrument(self._now_ns, security_id, segment)

    def _on_close(self) -> RareCommand | None:
        """Sent during the day, it waits for the closing call."""
        terms = self._deals.agreed(self._shares, 20)
        return terms and NewOrder(
            self._now_ns, terms[0], self._random.choice(tuple(Side)), terms[1], None, terms[3],
            OrderType.MARKET_ON_CLOSE,
        )  # fmt: skip

    def _wild(self) -> RareCommand | None:
        """A slip of the finger: a price far off, which bands reject or, in a quiet share, send to auction."""
        far_off = next(self._far_off)
        among, lots = (self._quiet, 20) if far_off == _TO_AUCTION else (self._shares, 1)
        terms = self._deals.agreed(among, lots)
        if terms is None:
            return None
        security_id, quantity, value, firm, _ = terms
        side = self._random.choice(tuple(Side))
        off = int(value * far_off)
        price = self._deals.on_tick(security_id, value + off if side is Side.BUY else value - off)
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
            self._deals.prices.value(self._numbers[leg.security_id], self._now_ns)
            * leg.ratio
            * (1 if leg.side is Side.BUY else -1)
            for leg in chosen.legs
        )
        price = (value // chosen.tick + self._random.randint(-4, 4)) * chosen.tick
        quantity = self._random.randint(1, 5) * chosen.lot
        side = self._random.choice(tuple(Side))
        return NewOrder(self._now_ns, chosen.security_id, side, quantity, price, self._firm)
