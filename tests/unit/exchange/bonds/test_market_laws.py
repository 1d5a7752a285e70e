"""What holds in the market of bonds whatever is asked of it."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.market import BondMarket
from pregao.model.events import Event
from pregao.model.market import BandType, Side, State
from pregao.model.updates import ExecutionStatistics, Trade, TradeBusted
from tests.kits.bonds import CASADA, CATALOGUE, CRI, DEB, FIXINGS, FUTURE, LFT, LTN, NOW, BookReader

NUMBERS = (LTN, LFT, DEB, CRI, CASADA)
BONDS = {number: CATALOGUE.bonds[number] for number in NUMBERS}

numbers = st.sampled_from(NUMBERS)
sides, firms = st.sampled_from(Side), st.integers(1, 3)
steps, lots = st.integers(-4, 4), st.integers(1, 5)
ids = st.integers(1, 60)
states = st.sampled_from((State.OPEN, State.OPEN, State.RESERVED, State.PAUSE))


def price_of(number: int, step: int) -> int:
    """Around the closing price, so that orders meet; negative where that is allowed."""
    bond = BONDS[number]
    return (bond.instrument.closing_price or 0) + step * bond.increment


def enter(number: int, side: Side, step: int, lot: int, firm: int) -> c.EnterOrder:
    return c.EnterOrder(NOW, number, side, price_of(number, step), lot * BONDS[number].instrument.lot, firm)


def voice(number: int, side: Side, step: int, firm: int) -> c.RegisterVoice:
    size = BONDS[number].instrument.lot
    return c.RegisterVoice(NOW, number, side, price_of(number, step), size, firm, firm % 2 + 1)


def request(number: int, side: Side, firm: int) -> c.RequestQuote:
    return c.RequestQuote(NOW, number, side, BONDS[number].instrument.lot, firm, (firm % 3 + 1,), NOW + 5)


commands = st.one_of(
    st.builds(enter, numbers, sides, steps, lots, firms),
    st.builds(enter, numbers, sides, steps, lots, firms),
    st.builds(
        lambda order, number, step, lot, firm: c.AmendOrder(
            NOW, order, price_of(number, step), lot * BONDS[number].instrument.lot, firm
        ),
        ids, numbers, steps, lots, firms,
    ),
    st.builds(lambda order, firm: c.WithdrawOrder(NOW, order, firm), ids, firms),
    st.builds(
        lambda number, state: c.ChangeTradingState(NOW, number, state),
        st.sampled_from((*NUMBERS, FUTURE)), states,
    ),
    st.builds(voice, numbers, sides, steps, firms),
    st.builds(request, numbers, sides, firms),
    st.builds(
        lambda asked, number, step, firm: c.AnswerQuote(NOW, asked, price_of(number, step), firm),
        ids, numbers, steps, firms,
    ),
    st.builds(lambda asked, quote, firm: c.AcceptQuote(NOW, asked, quote, firm), ids, ids, firms),
    st.builds(lambda number, trade: c.CancelTrade(NOW, number, trade), numbers, st.integers(1, 6)),
    st.builds(
        lambda number, low, high: c.SetTunnel(
            NOW, number, BandType.STATIC, price_of(number, low - 6), price_of(number, high + 6)
        ),
        numbers, steps, steps,
    ),
)  # fmt: skip


class Judge:
    """Follows events with nothing of the market's own but the ids of orders."""

    def __init__(self) -> None:
        self.reader = BookReader()
        self.sizes: dict[int, dict[int, int]] = defaultdict(dict)  # standing trades by bond

    def read(self, events: tuple[Event, ...]) -> None:
        self.reader.read(events)
        for event in events:
            for update in event.updates:
                if isinstance(update, Trade):
                    assert update.trade_id not in self.sizes[update.security_id]
                    assert update.size > 0
                    self.sizes[update.security_id][update.trade_id] = update.size
                elif isinstance(update, TradeBusted):
                    assert self.sizes[update.security_id].pop(update.trade_id) == update.size
                elif isinstance(update, ExecutionStatistics):
                    standing = self.sizes[update.security_id]
                    assert (update.volume, update.trades) == (sum(standing.values()), len(standing))
                    assert (update.value or 0) >= 0

    def compare(self, market: BondMarket) -> None:
        for number, listed in market.floor.listed.items():
            for side, half in listed.book.sides.items():
                kept = self.reader.sides.get((number, side), [])
                assert kept == [(order.order_id, order.price, order.size) for order in half.orders]


@pytest.mark.parametrize("rate_order", RateOrder)
@settings(max_examples=60, deadline=None)
@given(asked=st.lists(commands, min_size=5, max_size=60))
def test_books_follow_from_events_and_nothing_contradicts_itself(
    rate_order: RateOrder, asked: list[c.BondCommand]
) -> None:
    made, judge = BondMarket(CATALOGUE, FIXINGS, rate_order=rate_order), Judge()
    judge.read(made.open_day(NOW))
    for number in NUMBERS:
        judge.read(made.submit(c.ChangeTradingState(NOW, number, State.OPEN)).events)
    for command in asked:
        outcome = made.submit(command)
        assert outcome.rejection is None or outcome.events == ()
        judge.read(outcome.events)
        made.check_invariants()
        judge.compare(made)
    judge.read(made.submit(c.CloseDay(NOW)).events)
    made.check_invariants()
    assert not any(judge.reader.sides.values())


@settings(max_examples=20, deadline=None)
@given(asked=st.lists(commands, min_size=5, max_size=30))
def test_the_same_commands_give_the_same_events(asked: list[c.BondCommand]) -> None:
    first, second = (BondMarket(CATALOGUE, FIXINGS) for _ in range(2))
    for command in (*(c.ChangeTradingState(NOW, number, State.OPEN) for number in NUMBERS), *asked):
        assert first.submit(command) == second.submit(command)


@settings(max_examples=40, deadline=None)
@given(asked=st.lists(st.builds(enter, numbers, sides, steps, lots, firms), min_size=5, max_size=60))
def test_nobody_trades_worse_than_asked_and_nothing_is_lost(asked: list[c.EnterOrder]) -> None:
    """What was entered is what rests and twice what traded, with an auction in the middle."""
    made, entered, traded = BondMarket(CATALOGUE, FIXINGS), 0, 0
    made.open_day(NOW)
    limits: dict[int, list[c.EnterOrder]] = defaultdict(list)
    for place, command in enumerate(asked):
        limits[command.security_id].append(command)
        outcomes = [made.submit(command)]
        if place == len(asked) // 2:
            outcomes += [made.submit(c.ChangeTradingState(NOW, number, State.OPEN)) for number in NUMBERS]
        entered += command.size
        for update in (each for outcome in outcomes for event in outcome.events for each in event.updates):
            if isinstance(update, Trade):
                traded += update.size
                sign = made.floor.listed[update.security_id].book.sign
                for side, firm in ((Side.BUY, update.buyer), (Side.SELL, update.seller)):
                    own = [o for o in limits[update.security_id] if (o.side, o.firm) == (side, firm)]
                    way = 1 if side is Side.BUY else -1
                    assert any(way * sign * order.price >= way * sign * update.price for order in own)
    books = [listed.book for listed in made.floor.listed.values()]
    resting = sum(order.size for book in books for order in book.orders.values())
    assert entered == resting + 2 * traded
