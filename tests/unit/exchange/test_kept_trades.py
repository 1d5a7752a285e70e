"""What an exchange that runs for long keeps: as many trades as can be taken back, and stops that wait."""

import random

import pytest

from pregao.exchange.commands import AmendTrade, BustTrade, CancelOrder, RejectReason
from pregao.exchange.orders import OrderType
from pregao.exchange.settlement import OpenPositions, trades_of_day
from pregao.model.market import Session
from tests.unit.exchange.desk import BUY, SELL, A, Desk, stock

KEPT = 20


def desks() -> tuple[Desk, Desk]:
    """One that keeps a few trades, and its twin that keeps them all."""
    return Desk(stock(A), kept_trades=KEPT), Desk(stock(A))


@pytest.mark.parametrize("seed", range(5))
def test_statistics_are_those_of_all_trades_whatever_is_kept(seed: int) -> None:
    dice, (few, every) = random.Random(seed), desks()
    for step in range(150):
        price, firms = 10 + dice.randint(-3, 3), dice.sample(range(1, 6), 2)
        known = [*few.engine.market(A).statistics.trades]
        for desk in (few, every):
            if known and step % 7 == 3:
                command = BustTrade(desk.now_ns, A, known[step % len(known)])
                assert desk.submit(command).rejection is None
            elif known and step % 11 == 5:
                desk.submit(AmendTrade(desk.now_ns, A, known[step % len(known)], price=price * 10_000))
            else:
                desk.order(BUY, 5, price, firm=firms[0])
                desk.order(SELL, 5, price, firm=firms[1])
        one, other = (desk.engine.market(A) for desk in (few, every))
        assert len(one.statistics.trades) <= KEPT
        told = [market.statistics.snapshot(A, Session.REGULAR, 0, 0) for market in (one, other)]
        assert told[0] == told[1]
        interest = OpenPositions(A, 7)
        settled = one.statistics.settled_net
        assert interest.size(trades_of_day(one), settled) == interest.size(trades_of_day(other))
    assert len(other.statistics.trades) > 2 * KEPT
    oldest = next(iter(other.statistics.trades))
    rejection = few.submit(BustTrade(few.now_ns, A, oldest)).rejection
    assert rejection is not None
    assert rejection.reason is RejectReason.UNKNOWN_TRADE


def test_another_date_begins_with_nothing_settled() -> None:
    few, _ = desks()
    for _ in range(KEPT + 5):
        few.order(BUY, 5, 10, firm=1)
        few.order(SELL, 5, 10, firm=2)
    market = few.engine.market(A)
    assert market.statistics.settled_net == {1: 25, 2: -25}
    market.start_session(market.trade_date, Session.NON_REGULAR)
    assert market.statistics.settled_net == {1: 25, 2: -25}  # of the same date
    market.start_session(market.trade_date + 1, Session.REGULAR)
    assert market.statistics.settled_net == {}


def test_stops_that_are_gone_do_not_stay() -> None:
    desk = Desk(stock(A))
    waiting = [
        desk.order(SELL, 5, type=OrderType.STOP, stop_price=90_000 - 100 * number).order_id
        for number in range(3)
    ]
    stops = desk.engine.market(A).stops
    for number in range(1000):
        order_id = desk.order(BUY, 5, type=OrderType.STOP, stop_price=110_000 + number % 9 * 100).order_id
        assert desk.submit(CancelOrder(desk.now_ns, order_id)).rejection is None
        assert len(stops._buys) + len(stops._sells) <= 2 * stops.count + 65
    assert stops.count == 3
    elected = [order.order_id for order in stops.elected(90_000 - 100, 90_000 + 100)]
    assert elected == waiting[:2]
    assert stops.count == 1
