"""What the clearing house, the lending desk and the index desk tell of a day beside the engine: the lending
book with its pre-contracts, volumes of other venues, open interest, volatilities of the call, figures of
indices.

A clock asks for it (`events`) every thirty seconds. It only looks at the engine and draws from a chance of
its own, so that a day with it and one without it have the same orders and trades.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from random import Random
from typing import Final, NamedTuple

from pregao.exchange.catalogues.rules import Catalogue, Index
from pregao.exchange.indices import IndexState
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.settlement import FigureDesk, trades_of_day
from pregao.model import events as e
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import (
    Action,
    PriceKind,
    PriceOrigin,
    SettlementKind,
    Side,
    State,
)

EVERY_NS: Final = 30_000_000_000  # 12.4; open interest every second time (12.2)
_LENT: Final = 4  # shares that are lent
_MOST_OFFERS: Final = 12  # of a side
_FIRMS: Final = (3, 8, 27, 85)
_CALLS: Final = frozenset((State.RESERVED, State.FINAL_CLOSING_CALL))
_FINER: Final = 10_000
_OTHER_STREAMS: Final = {SecurityType.FUT: "X", SecurityType.OPT: "O", SecurityType.INDEXOPT: "O"}
_Events = Iterator[e.Update]
_Trading = tuple[int, list[e.Trade], dict[int, int]]  # of a date: trades, and what older ones add up to


class Teller(Enum):
    """Who tells something: systems have channels of their own for two of them."""

    INSTRUMENTS = "on the channels of the instrument"
    LENDING = "the lending desk"
    INDICES = "the index desk"


class LendingBook:
    """The offers of one share, a list a side: the newest last, as no order of them is promised (13.1)."""

    def __init__(self, security_id: int) -> None:
        self.security_id = security_id
        self.sides: dict[Side, list[e.LendingOffer]] = {Side.BUY: [], Side.SELL: []}
        self.on_loan = self.contracts = self.value = 0

    def add(self, offer: e.LendingOffer) -> e.LendingOffer:
        rows = self.sides[offer.side]
        rows.append(replace(offer, position=len(rows) + 1))
        return rows[-1]

    def change(self, side: Side, place: int, size: int, time_ns: int) -> e.LendingOffer:
        rows = self.sides[side]
        rows[place] = replace(rows[place], size=size, time_ns=time_ns, position=place + 1)
        return replace(rows[place], action=Action.CHANGE)

    def remove(self, side: Side, place: int, time_ns: int) -> e.LendingOffer:
        gone = self.sides[side].pop(place)
        return replace(gone, action=Action.DELETE, position=place + 1, time_ns=time_ns)


class _Swing(NamedTuple):
    opening: int
    high: int
    low: int


class Clearing:
    """`markets` and `figures` are the engine's and the desk's own, which are only read."""

    def __init__(
        self,
        catalogue: Catalogue,
        markets: dict[int, InstrumentMarket],
        figures: FigureDesk,
        indices: Sequence[IndexState],
        seed: int,
    ) -> None:
        self._markets, self._figures, self._states = markets, figures, indices
        self._random = Random(f"clearing/{seed}")
        ranked = sorted(catalogue.listings, key=lambda each: -each.weight)
        shares = [
            each for each in ranked if each.instrument.security_type in (SecurityType.CS, SecurityType.PS)
        ]
        self.lent = {
            each.instrument.security_id: LendingBook(each.instrument.security_id) for each in shares[:_LENT]
        }
        self.indices = {each.security_id: index_instrument(each) for each in catalogue.indices}
        self._members = {each.security_id: each.members for each in catalogue.indices}
        self._closings = {each.security_id: each.closing for each in catalogue.indices}
        self._swings: dict[int, _Swing] = {}
        self.newest: dict[int, dict[str, e.Update]] = {}  # of lending and indices, by kind
        self._volumes: dict[int, int] = {}
        self._interest: dict[int, int] = {}
        self._seen: dict[int, _Trading] = {}  # what open interest was found of
        self._volatile: dict[int, e.VolatilityPrice] = {}
        self._ids = self._turn = 0
        self._day: int | None = None

    def events(
        self, now_ns: int, trade_date: int, states: Mapping[int, State]
    ) -> list[tuple[Teller, e.Event]]:
        """What is told now; `states` are those of the instruments that trade."""
        self._turn += 1
        is_open = any(state is State.OPEN for state in states.values())
        due: list[tuple[Teller, e.Event]] = []
        of_indices: list[e.Update] = []
        if self._day != trade_date:
            self._day = trade_date
            of_indices += self._begin_day(now_ns, trade_date)
        if is_open:
            of_indices += self._index_figures(now_ns, trade_date)
            for book in self.lent.values():
                if book.security_id in self._markets:
                    lent = tuple(self._lend(book, now_ns, trade_date))
                    due += [(Teller.LENDING, e.Event(lent))] if lent else []
        others = [*self._volatilities(now_ns, states), *self._totals(now_ns)]
        if self._turn % 2 == 0:
            others += self._open_interest(now_ns)
            of_indices += self._composites(now_ns)
        due += [(Teller.INDICES, e.Event((update,))) for update in of_indices]
        due += [(Teller.INSTRUMENTS, e.Event((update,))) for update in others]
        for teller, event in due:
            if teller is not Teller.INSTRUMENTS:
                self._keep(event)
        return due

    def _keep(self, event: e.Event) -> None:
        """The newest figure of each kind, for snapshots; offers are in their books."""
        for update in event.updates:
            if isinstance(update, e.LendingOffer | e.LendingContract):
                continue
            key = f"{type(update).__name__} {getattr(update, 'origin', '')}"
            self.newest.setdefault(getattr(update, "security_id", 0), {})[key] = update

    # Lending

    def _lend(self, book: LendingBook, now_ns: int, trade_date: int) -> _Events:
        """One offer comes, changes, goes or meets another."""
        random = self._random
        side = random.choice((Side.BUY, Side.SELL))
        rows = book.sides[side]
        what = random.random()
        if not rows or (what < 0.5 and len(rows) < _MOST_OFFERS):
            yield book.add(self._offer(book.security_id, side, now_ns, trade_date))
        elif what < 0.65:
            place = random.randrange(len(rows))
            yield book.change(side, place, rows[place].size + 100, now_ns)
        elif what < 0.8:
            yield book.remove(side, random.randrange(len(rows)), now_ns)
        elif book.sides[side.opposite]:
            yield from self._contract(book, now_ns, trade_date)

    def _offer(self, security_id: int, side: Side, now_ns: int, trade_date: int) -> e.LendingOffer:
        self._ids += 1
        random = self._random
        rate, size = random.randrange(500, 90_000, 100), random.randrange(1, 200) * 100
        return e.LendingOffer(
            security_id, Action.NEW, side, self._ids, rate, size, 1, now_ns, random.choice(_FIRMS),
            trade_date + random.randrange(10, 90), random.choice((0, 1, 2)),
            random.choice((None, True, False)), all_or_nothing=self._ids % 5 == 0,
        )  # fmt: skip

    def _contract(self, book: LendingBook, now_ns: int, trade_date: int) -> _Events:
        lender = book.sides[Side.SELL][0]
        borrower = book.sides[Side.BUY][0]
        self._ids += 1
        book.contracts += 1
        book.on_loan += lender.size
        book.value += lender.size * lender.rate
        yield book.remove(Side.SELL, 0, now_ns)
        yield book.remove(Side.BUY, 0, now_ns)
        yield e.LendingContract(
            book.security_id, self._ids, lender.rate, lender.size, trade_date, now_ns, borrower.firm,
            lender.firm, lender.early_termination or 0, self._random.random() < 0.3, trade_date + 5,
        )  # fmt: skip
        yield e.StreamTotals(book.security_id, "L", book.value, book.contracts, book.on_loan, now_ns)
        yield e.LendingInterest(book.security_id, book.on_loan, book.value // book.on_loan, now_ns)

    # Volumes, open interest, volatilities

    def _totals(self, now_ns: int) -> _Events:
        """Where something traded since (12.4), with what was exercised or traded outside of the book."""
        for security_id, market in self._markets.items():
            statistics = market.statistics
            if statistics.volume == self._volumes.get(security_id, 0):
                continue
            self._volumes[security_id] = statistics.volume
            yield e.StreamTotals(
                security_id, "E", statistics.value, statistics.count, statistics.volume, now_ns
            )
            other = _OTHER_STREAMS.get(market.instrument.security_type)
            if other is not None and statistics.volume:
                volume = 1 + statistics.volume // 20
                value = statistics.value // statistics.volume * volume
                yield e.StreamTotals(security_id, other, value, 1 + volume // 50, volume, now_ns)

    def _open_interest(self, now_ns: int) -> _Events:
        """Where it changed (12.2)."""
        for security_id, market in self._markets.items():
            if not self._figures.has_positions(security_id):
                continue
            # Compared trade by trade, each with itself: much less than to add them up again.
            settled = market.statistics.settled_net
            trading = market.trade_date, list(trades_of_day(market)), dict(settled)
            if self._seen.get(security_id) == trading:
                continue
            self._seen[security_id] = trading
            found = self._figures.open_interest(security_id, now_ns)
            if found is not None and found.size != self._interest.get(security_id):
                self._interest[security_id] = found.size
                yield found

    def _volatilities(self, now_ns: int, states: Mapping[int, State]) -> _Events:
        """Of options while they are in the call; gone with it."""
        for security_id, market in self._markets.items():
            instrument = market.instrument
            if instrument.strike is None:
                continue
            if states.get(security_id) in _CALLS:
                if len(self._volatile) < _LENT or security_id in self._volatile:
                    yield self._volatility(security_id, now_ns)
            elif security_id in self._volatile:
                yield replace(self._volatile.pop(security_id), time_ns=now_ns, action=Action.DELETE)

    def _volatility(self, security_id: int, now_ns: int) -> e.VolatilityPrice:
        random = self._random
        delta, short = random.randrange(-9_999, 10_000), random.randrange(1_000, 50_000)
        long = short + random.randrange(500)
        figures = e.VolatilityPrice(security_id, short, long, delta * _FINER, now_ns)
        self._volatile[security_id] = figures
        return figures

    # Indices

    def _begin_day(self, now_ns: int, trade_date: int) -> _Events:
        """Closing values of the day before, adjusted and preliminary, and the settlement of the index."""
        self._swings.clear()
        for security_id, closing in self._closings.items():
            fine = closing * _FINER
            for origin in (PriceOrigin.PREVIOUS_DAY, PriceOrigin.EXPECTED):
                yield e.ClosingPrice(security_id, fine, trade_date - 1, now_ns, origin, trade_date - 1)
            yield e.SettlementPrice(
                security_id, closing, trade_date - 1, now_ns, PriceOrigin.PREVIOUS_DAY, SettlementKind.FINAL,
                PriceKind.FIXED_AMOUNT,
            )  # fmt: skip

    def _index_figures(self, now_ns: int, trade_date: int) -> _Events:
        for security_id, state in zip(self.indices, self._states, strict=True):
            value = state.value
            known = self._swings.get(security_id)
            if known is None:
                self._swings[security_id] = _Swing(value, value, value)
                net = (value - self._closings[security_id]) * _FINER
                yield e.OpeningPrice(security_id, value, net, trade_date, now_ns)
            if known is None or value > known.high:
                yield e.HighPrice(security_id, value, trade_date, now_ns)
            if known is None or value < known.low:
                yield e.LowPrice(security_id, value, trade_date, now_ns)
            if known is not None:
                swing = _Swing(known.opening, max(value, known.high), min(value, known.low))
                self._swings[security_id] = swing

    def _composites(self, now_ns: int) -> _Events:
        for security_id, members in self._members.items():
            parts = []
            for member in members[:5]:
                market = self._markets.get(member.security_id)
                price = None if market is None else market.statistics.last_price
                if price is not None:
                    parts.append(e.UnderlyingPrice(member.security_id, price, self._random.choice((None, 1))))
            if parts:
                yield e.CompositePrice(security_id, self._turn, tuple(parts), now_ns)


def index_instrument(index: Index) -> Instrument:
    """An index as an instrument that is listed and never traded."""
    return Instrument(
        index.security_id, index.symbol, 0, "IX", index.symbol, SecurityType.INDEX, Product.INDEX,
        description=f"Index {index.symbol}", cfi_code="MRIXXX", closing_price=index.closing * _FINER,
        price_kind=PriceKind.FIXED_AMOUNT, accepts_gt=False, trade_types=(),
    )  # fmt: skip
