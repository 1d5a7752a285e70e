"""A trading day of bonds: a script of phases and a flow of orders, requests and voice trades, from a seed.

    for now_ns, events in BondDay(catalogue, date(2026, 11, 16), seed=1).run(): ...

The phases are São Paulo's: orders gather from 09:00, trading begins at 10:00, some bonds have an auction of
five minutes at 13:00, and everything ends at 17:00, the deadline of the list. Holidays are the nation's: 24
and 31 December are trading days of bonds, 20 November is none since 2024. The same seed gives the same day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Final

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.catalogue import BondCatalogue
from pregao.exchange.bonds.market import BondMarket
from pregao.model.events import Event
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import BandType, Side, State
from pregao.model.records import record

Step = tuple[int, tuple[Event, ...]]
_MINUTE: Final = 60 * 1_000_000_000
_FIRMS: Final = tuple(range(1, 13))
_TUNNEL: Final = 400  # increments on either side of the closing price
_AUCTIONS: Final = 7  # every seventh bond has one at noon


@record
class DayTimes:
    """Minutes since midnight of São Paulo."""

    pre_open: int = 9 * 60
    opening: int = 10 * 60
    auction: int = 13 * 60
    auction_ends: int = 13 * 60 + 5
    closing: int = 17 * 60


@dataclass(frozen=True, slots=True)
class _Choice:
    """How often the flow does what, in a thousand."""

    enter: int = 560
    change: int = 90
    cancel: int = 170
    quote: int = 60
    voice: int = 60
    bust: int = 20
    halt: int = 40


class BondDay:
    """`orders` commands between the opening and the end; a tenth as many gather before it."""

    def __init__(
        self, catalogue: BondCatalogue, day: date, *, seed: int = 1, orders: int = 2_000,
        times: DayTimes | None = None, rate_order: RateOrder = RateOrder.MARKET,
    ) -> None:  # fmt: skip
        self.market = BondMarket(catalogue, catalogue.fixings(day), rate_order=rate_order)
        self._catalogue, self._orders, self._times = catalogue, orders, times or DayTimes()
        self._chance = Random(f"bonds/{seed}/{day}")
        self._midnight_ns = local_midnight_ns(self.market.floor.trade_date)
        self._bonds = list(catalogue)
        self._halted: list[int] = []

    def run(self) -> Iterator[Step]:
        times = self._times
        yield from self.begin(self._at(times.pre_open))
        yield from self._flow(times.pre_open, times.opening, self._orders // 10, enters_only=True)
        yield from self.change_states(self._at(times.opening), self.numbers, State.OPEN)
        lasts = times.closing - times.opening
        before = self._orders * (times.auction - times.opening) // lasts
        during = self._orders * (times.auction_ends - times.auction) // lasts
        yield from self._flow(times.opening, times.auction, before)
        yield from self.change_states(self._at(times.auction), self.called, State.RESERVED)
        yield from self._flow(times.auction, times.auction_ends, max(during, 20), enters_only=True)
        yield from self.change_states(self._at(times.auction_ends), self.called, State.OPEN)
        yield from self._flow(times.auction_ends, times.closing, self._orders - before - during)
        yield self.close(self._at(times.closing))

    # What happens in a day, for whoever has a clock of his own

    @property
    def numbers(self) -> list[int]:
        return [bond.instrument.security_id for bond in self._bonds]

    @property
    def called(self) -> list[int]:
        """Those that have an auction at noon."""
        return self.numbers[::_AUCTIONS]

    def begin(self, now_ns: int) -> Iterator[Step]:
        """Yesterday's prices, the pre-open, and tunnels."""
        yield now_ns, self.market.open_day(now_ns, self._at(self._times.opening))
        for number in self.numbers:
            yield self._done(c.SetTunnel(now_ns, *self._tunnel(number)))

    def change_states(self, now_ns: int, numbers: list[int], state: State) -> Iterator[Step]:
        """An auction is told with its end."""
        ends_ns = self._at(self._times.auction_ends) if state is State.RESERVED else 0
        for number in numbers:
            yield self._done(c.ChangeTradingState(now_ns, number, state, ends_ns))

    def act(self, now_ns: int, *, enters_only: bool = False) -> Iterator[Step]:
        """Something that a participant does."""
        return self._act(now_ns, enters_only)

    def resume(self) -> None:
        """The market was brought to where it is by others: what is halted is to be opened again."""
        listed = self.market.floor.listed.items()
        self._halted = [number for number, each in listed if each.own_state is State.PAUSE]

    def close(self, now_ns: int) -> Step:
        return self._done(c.CloseDay(now_ns))

    def times_ns(self) -> dict[str, int]:
        """When phases begin."""
        times = self._times
        names = ("pre_open", "opening", "auction", "auction_ends", "closing")
        return {name: self._at(getattr(times, name)) for name in names}

    def _at(self, minute: int) -> int:
        return self._midnight_ns + minute * _MINUTE

    def _done(self, command: c.BondCommand) -> Step:
        """What the market refuses is no step: it has no events."""
        return command.now_ns, self.market.submit(command).events

    def _tunnel(self, number: int) -> tuple[int, BandType, int, int]:
        bond = self._catalogue.bonds[number]
        middle, away = bond.instrument.closing_price or 0, _TUNNEL * bond.increment
        kinds = list(BandType)
        return number, kinds[number % len(kinds)], middle - away, middle + away

    def _flow(self, first: int, last: int, count: int, *, enters_only: bool = False) -> Iterator[Step]:
        """Commands at random moments, in order."""
        span = (last - first) * _MINUTE
        moments = sorted(self._chance.randrange(1, span) for _ in range(count))
        for moment in moments:
            yield from self._act(self._at(first) + moment, enters_only)
        yield from self._resume(self._at(last) - 1)

    def _act(self, now_ns: int, enters_only: bool) -> Iterator[Step]:
        choice, drawn = _Choice(), 0 if enters_only else self._chance.randrange(1000)
        number = self._chance.choice(self._bonds).instrument.security_id
        if drawn < (bound := choice.enter):
            yield self._done(self._enter(now_ns, number))
        elif drawn < (bound := bound + choice.change):
            yield from self._change(now_ns)
        elif drawn < (bound := bound + choice.cancel):
            yield from self._cancel(now_ns)
        elif drawn < (bound := bound + choice.quote):
            yield from self._negotiate(now_ns, number)
        elif drawn < (bound := bound + choice.voice):
            yield from self._agree(now_ns, number)
        elif drawn < (bound := bound + choice.bust):
            yield from self._bust(now_ns, number)
        elif drawn < bound + choice.halt:
            yield from self._halt(now_ns, number)

    def _price(self, number: int) -> int:
        """Near the last price, or yesterday's: near enough that orders meet."""
        listed = self.market.floor.listed[number]
        around = listed.statistics.last or listed.bond.instrument.closing_price or 0
        return around + self._chance.randrange(-6, 7) * listed.bond.increment

    def _size(self, number: int) -> int:
        return self._catalogue.bonds[number].instrument.lot * self._chance.randrange(1, 6)

    def _enter(self, now_ns: int, number: int) -> c.EnterOrder:
        side, firm = self._chance.choice(list(Side)), self._chance.choice(_FIRMS)
        return c.EnterOrder(now_ns, number, side, self._price(number), self._size(number), firm)

    def _resting(self) -> tuple[int, int, int, int] | None:
        """Order, price, size and firm of one that rests."""
        orders = self.market.floor.order_bonds
        if not orders:
            return None
        number = self._chance.choice(list(orders))
        order = orders[number].book.orders[number]
        return number, order.price, order.size, order.firm

    def _change(self, now_ns: int) -> Iterator[Step]:
        if (found := self._resting()) is not None:
            number, price, size, firm = found
            lot = self.market.floor.order_bonds[number].bond.instrument.lot
            more = size + lot * self._chance.choice((-1, -1, 1))
            yield self._done(c.AmendOrder(now_ns, number, price, more, firm))

    def _cancel(self, now_ns: int) -> Iterator[Step]:
        if (found := self._resting()) is not None:
            yield self._done(c.WithdrawOrder(now_ns, found[0], found[3]))

    def _negotiate(self, now_ns: int, number: int) -> Iterator[Step]:
        """A request, two quotes, one accepted: only the trade is told."""
        asker, first, second = self._chance.sample(_FIRMS, 3)
        side, size = self._chance.choice(list(Side)), self._size(number)
        quoters, deadline = (first, second), now_ns + 2 * _MINUTE
        asked = self.market.submit(c.RequestQuote(now_ns, number, side, size, asker, quoters, deadline))
        if asked.number is None:
            return
        for firm in quoters:
            quote = self.market.submit(c.AnswerQuote(now_ns, asked.number, self._price(number), firm))
        if quote.number is not None:
            yield self._done(c.AcceptQuote(now_ns, asked.number, quote.number, asker))

    def _agree(self, now_ns: int, number: int) -> Iterator[Step]:
        """Both sides of a voice trade."""
        buyer, seller = self._chance.sample(_FIRMS, 2)
        price, size = self._price(number), self._size(number)
        yield self._done(c.RegisterVoice(now_ns, number, Side.BUY, price, size, buyer, seller))
        yield self._done(c.RegisterVoice(now_ns, number, Side.SELL, price, size, seller, buyer))

    def _bust(self, now_ns: int, number: int) -> Iterator[Step]:
        if trades := list(self.market.floor.listed[number].statistics.trades):
            yield self._done(c.CancelTrade(now_ns, number, self._chance.choice(trades)))

    def _halt(self, now_ns: int, number: int) -> Iterator[Step]:
        """A bond, or the future under a casada; the one that was halted longest goes on."""
        legs = self._catalogue.bonds[number].instrument.underlyings
        number = self._chance.choice([leg.security_id for leg in legs]) if legs else number
        if self._halted and len(self._halted) > 2:
            yield self._done(c.ChangeTradingState(now_ns, self._halted.pop(0), State.OPEN))
        if number not in self._halted:
            self._halted.append(number)
            yield self._done(c.ChangeTradingState(now_ns, number, State.PAUSE))

    def _resume(self, now_ns: int) -> Iterator[Step]:
        while self._halted:
            yield self._done(c.ChangeTradingState(now_ns, self._halted.pop(0), State.OPEN))
