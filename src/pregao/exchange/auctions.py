"""The auctions that run: when they end, what prolongs them, and what is told while they last.

An auction is the group's (its end is the change of phase: pre-open, final closing call) or the
instrument's own (its end is a time, announced in the state message). Its template (15.1) says:

- random end: it closes at a time drawn from the announced end and `random_end_ns` after it;
- extensions: a theoretical price or quantity that moves within `extension_window_ns` of the announced
  end moves that end by `extension_ns`; so does, at the end itself, a price that the auction band
  protects, or an order without price that would be left over. No more than `maximum_extensions`.

Times are drawn from the seed, the instrument and the start, so that one auction's draw does not depend on
any other's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush
from random import Random

from pregao.exchange.auction import ANY_PRICE, AuctionOrder, Levels, Theoretical, allocate, theoretical
from pregao.exchange.catalogues.rules import AuctionTemplate
from pregao.exchange.draft import Draft
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, TimeInForce
from pregao.model.events import Imbalance, TheoreticalPrice
from pregao.model.market import Action, ImbalanceSide

# An auction's part in one market: its theoretical price from the book, the uncross, and what a change of
# phase does to the orders that wait for it. All of it goes into the event of the state change that causes it
# (4.2.1); an uncross has no ExecutionSummary (13.1).


def levels_of(market: InstrumentMarket) -> Levels:
    """The book as the uncrossing sees it: whole quantities, without implied orders (18)."""
    bids, offers = market.book.buys.auction_levels(), market.book.sells.auction_levels()
    return Levels(bids.sizes, offers.sizes, bids.unpriced, offers.unpriced)


def theoretical_of(market: InstrumentMarket, hard_limits: tuple[int, int] | None) -> Theoretical | None:
    low, high = hard_limits or ANY_PRICE
    tick = market.instrument.tick
    if not market.instrument.legs:
        low = max(low, tick)
    return theoretical(levels_of(market), tick, market.reference_price, (low, high))


def uncross(draft: Draft, market: InstrumentMarket) -> None:
    """Trades all that meets at one price; orders without price that are left are cancelled."""
    found = theoretical_of(market, draft.floor.hooks.hard_limits(market))
    if found is not None:
        _trade(draft, market, found.price)
    for order in [order for order in market.book if order.price is None]:
        draft.cancel(market, order)
    market.book.buys.forget_levels()
    market.book.sells.forget_levels()


def _trade(draft: Draft, market: InstrumentMarket, price: int) -> None:
    orders = {order.secondary_id: order for order in market.book if not order.implied}
    views = [AuctionOrder(order.side, order.price, order.leaves, key) for key, order in orders.items()]
    filled: dict[int, int] = {}
    for fill in allocate(views, price):
        draft.trade(market, price, fill.quantity, orders[fill.buy].firm, orders[fill.sell].firm)
        for key in (fill.buy, fill.sell):
            filled[key] = filled.get(key, 0) + fill.quantity
    for key, size in filled.items():  # each order is told once, however many it traded with
        draft.fill(market, orders[key], size)


def trigger_on_close(draft: Draft, market: InstrumentMarket) -> None:
    """MOC orders enter the book with the final closing call (14.2), without price, oldest first."""
    waiting = list(market.on_close.values())
    market.on_close.clear()
    for order in waiting:
        draft.insert(market, order)


def expire(draft: Draft, floor: Floor, security_ids: Iterable[int]) -> None:
    """The end of the day for day orders, and for those good till a date that has come."""
    closed = frozenset(security_ids)
    for order in list(floor.orders.values()):
        if order.security_id in closed and not order.implied:
            market = floor.markets[order.security_id]
            if _has_expired(order, market.trade_date):
                draft.cancel(market, order)


def expire_from_the_top(draft: Draft, market: InstrumentMarket) -> None:
    """The same for one instrument, its book from the best order on: feeds by position say that at once."""
    hidden = [each for each in draft.floor.orders.values() if each.security_id == market.security_id]
    for order in dict.fromkeys((*market.book, *hidden)):
        if not order.implied and _has_expired(order, market.trade_date):
            draft.cancel(market, order)


def expire_overdue(draft: Draft, floor: Floor, security_ids: Iterable[int], trade_date: int) -> None:
    """Another trade date: orders good till a day in between, on which nothing traded, are over."""
    listed = frozenset(security_ids)
    for order in list(floor.orders.values()):
        if order.security_id in listed and order.expire_date is not None and order.expire_date < trade_date:
            draft.cancel(floor.markets[order.security_id], order)


def _has_expired(order: EnteredOrder, trade_date: int) -> bool:
    if order.tif is TimeInForce.GTC:
        return False
    if order.tif is TimeInForce.GTD:
        return order.expire_date is not None and order.expire_date <= trade_date
    return True


class AuctionKind(Enum):
    OPENING = "pre-open of the group"
    CLOSING = "final closing call of the group"
    SCHEDULED = "intraday, by the day script"
    BAND = "a trade would have gone past the auction band"
    SELF_TRADE = "a self-trade in an illiquid instrument"
    SPECIAL = "by command of surveillance"
    SYNCHRONISED = "its partner is in auction"


@dataclass(slots=True)
class RunningAuction:
    """One auction. `ends_ns` is what was announced; `closes_ns` is when its own clock ends it, None
    while the group's phase or the partner decides."""

    security_id: int
    kind: AuctionKind
    template: AuctionTemplate
    started_ns: int
    ends_ns: int | None
    closes_ns: int | None = None
    extensions: int = 0
    moved_ns: int | None = None  # when theoretical price or quantity last moved
    theoretical: Theoretical | None = None
    imbalance: tuple[ImbalanceSide, int | None] | None = None

    @property
    def can_extend(self) -> bool:
        return self.extensions < self.template.maximum_extensions and self.template.extension_ns > 0


def leaves_unpriced(levels: Levels, theoretical: Theoretical | None) -> bool:
    """Whether an order without price would not trade in full: the imbalance that prolongs an auction."""
    traded = 0 if theoretical is None else theoretical.quantity
    return max(levels.unpriced_bids, levels.unpriced_offers) > traded


class Auctions:
    """All running auctions, by instrument."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._running: dict[int, RunningAuction] = {}
        self._clock: list[tuple[int, int]] = []  # closing time and instrument, old ones left in

    def get(self, security_id: int) -> RunningAuction | None:
        return self._running.get(security_id)

    def start(
        self,
        security_id: int,
        kind: AuctionKind,
        template: AuctionTemplate,
        now_ns: int,
        *,
        ends_ns: int | None,
        own_clock: bool = True,
    ) -> RunningAuction:
        """Starts an auction that `own_clock` says ends by itself at or after `ends_ns`."""
        running = RunningAuction(security_id, kind, template, now_ns, ends_ns)
        self._running[security_id] = running
        if own_clock and ends_ns is not None:
            self._set_clock(running, ends_ns)
        return running

    def stop(self, security_id: int) -> RunningAuction | None:
        return self._running.pop(security_id, None)

    def next_timeout(self) -> int | None:
        clock = self._clock
        while clock:
            at_ns, security_id = clock[0]
            running = self._running.get(security_id)
            if running is not None and running.closes_ns == at_ns:
                return at_ns
            heappop(clock)  # of an end that was moved or undone
        return None

    def next_due(self, now_ns: int) -> RunningAuction | None:
        """The first auction whose time has come; equal times by instrument."""
        at_ns = self.next_timeout()
        return None if at_ns is None or at_ns > now_ns else self._running[self._clock[0][1]]

    def observe(
        self, security_id: int, found: Theoretical | None, trade_date: int, now_ns: int
    ) -> list[TheoreticalPrice | Imbalance]:
        """What to tell after a change of the book (13.9.2, 13.10): only what is not as it was."""
        running = self._running.get(security_id)
        if running is None:
            return []
        figures: list[TheoreticalPrice | Imbalance] = []
        if _announced(running.theoretical) != _announced(found):
            running.moved_ns = now_ns
            figures.append(_theoretical_price(security_id, found, trade_date, now_ns))
        imbalance = _imbalance(found)
        if running.imbalance != imbalance:
            figures.append(_imbalance_message(security_id, imbalance, now_ns))
        running.theoretical, running.imbalance = found, imbalance
        return figures

    def moved_near_end(self, security_id: int, now_ns: int) -> bool:
        """Whether the movement just observed prolongs the auction."""
        running = self._running.get(security_id)
        if running is None or running.ends_ns is None or running.moved_ns != now_ns or not running.can_extend:
            return False
        return running.ends_ns - running.template.extension_window_ns <= now_ns < running.ends_ns

    def extend(self, security_id: int, now_ns: int, by_ns: int | None = None) -> int:
        """Moves the end; from now on the auction is the instrument's own. The end to announce."""
        running = self._running[security_id]
        step = running.template.extension_ns if by_ns is None else by_ns
        running.extensions += 1
        running.moved_ns = None  # one movement moves the end once
        running.ends_ns = max(running.ends_ns or now_ns, now_ns) + step  # a random end may be past
        self._set_clock(running, running.ends_ns)
        return running.ends_ns

    def undefine_end(self, security_id: int) -> None:
        """No scheduled end: until the pair can close (15.1)."""
        running = self._running[security_id]
        running.ends_ns = running.closes_ns = None

    def hold(self, security_id: int) -> None:
        """The end has come and is being asked for: the clock does not ask again."""
        self._running[security_id].closes_ns = None

    def running(self) -> Iterable[RunningAuction]:
        return tuple(self._running.values())

    def _set_clock(self, running: RunningAuction, ends_ns: int) -> None:
        closes_ns = ends_ns
        if running.template.random_end_ns:
            draw = Random(f"{self._seed}/{running.security_id}/{running.started_ns}/{running.extensions}")
            closes_ns += draw.randrange(running.template.random_end_ns + 1)
        running.closes_ns = closes_ns
        heappush(self._clock, (closes_ns, running.security_id))


def _announced(found: Theoretical | None) -> tuple[int, int] | None:
    return None if found is None else (found.price, found.quantity)


def _imbalance(found: Theoretical | None) -> tuple[ImbalanceSide, int | None] | None:
    if found is None:
        return None
    return found.imbalance, abs(found.surplus) or None  # balanced: no quantity remains to be told


def _theoretical_price(
    security_id: int, found: Theoretical | None, trade_date: int, now_ns: int
) -> TheoreticalPrice:
    if found is None:
        return TheoreticalPrice(security_id, None, None, trade_date, now_ns, Action.DELETE)
    return TheoreticalPrice(security_id, found.price, found.quantity, trade_date, now_ns)


def _imbalance_message(
    security_id: int, imbalance: tuple[ImbalanceSide, int | None] | None, now_ns: int
) -> Imbalance:
    if imbalance is None:
        return Imbalance(security_id, ImbalanceSide.BALANCED, None, now_ns, Action.DELETE)
    return Imbalance(security_id, *imbalance, now_ns)
