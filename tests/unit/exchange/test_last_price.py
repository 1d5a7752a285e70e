"""Trades at close and at average, and which trades move the last price, high, low and stops (13.3, 19)."""

import pytest

from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.exchange.commands import RejectReason
from pregao.exchange.orders import OrderType
from pregao.model.events import ClosingPrice, ExecutionStatistics, ExecutionSummary, Trade, Update
from pregao.model.instruments import SecurityType
from pregao.model.market import Phase, Session, Side, TradeSubType
from pregao.model.market import TradeCondition as C
from tests.unit.exchange.desk import BUY, SELL, SPREAD, TERMO, A, B, Desk, of, px, spread, stock
from tests.unit.exchange.desk_kit import ABC, DATE, EXCHANGE, Exchange, clock

T = TradeSubType


def agreed_day(*trades: tuple[int, int]) -> Exchange:
    """A day with these prices and sizes, in whose middle 300 at close and 200 at average are agreed."""
    exchange = Exchange()
    exchange.open_all()
    for price, size in trades:
        exchange.sell("10:01:00", ABC, size, price)
        exchange.buy("10:01:00", ABC, size, price)
    assert exchange.do(c.TacTrade(clock("12:00:00"), ABC, 300, 3, 8)) == []
    assert exchange.do(c.TaaTrade(clock("12:00:00"), ABC, 200, 8, 3)) == []
    return exchange


def close(exchange: Exchange) -> list[tuple[Update, ...]]:
    exchange.phase("17:05:00", Phase.CLOSE, "01")
    return exchange.do(control.PublishClosing(clock("17:06:00"), ABC))


def test_trades_at_close_and_at_average_are_published_when_their_price_is_known() -> None:
    exchange = agreed_day((10_0000, 100), (10_4000, 200))
    closing, at_close, at_average = close(exchange)
    assert [each.price_fine for each in of(ClosingPrice, closing)] == [10_4000_0000]
    for event, price, size, buyer, sub_type, same in (
        (at_close, 10_4000, 300, 3, T.TAC, C.LAST_AT_SAME_PRICE),
        (at_average, 10_2667, 200, 8, T.TAA, C.NONE),  # 31.2000 / 3, as vwapPx has it
    ):
        assert not of(ExecutionSummary, event)
        (trade,) = of(Trade, event)
        assert (trade.price, trade.size, trade.buyer, trade.sub_type) == (price, size, buyer, sub_type)
        assert trade.condition == C.REGULAR | same
        assert isinstance(event[-1], ExecutionStatistics)


def test_they_trade_once_and_are_not_the_close_themselves() -> None:
    exchange = agreed_day((10_0000, 100), (10_4000, 200))
    close(exchange)
    assert exchange.engine.market(ABC).statistics.last_price == 10_2667  # 13.3: not out of sequence
    ((again,),) = exchange.do(control.PublishClosing(clock("17:07:00"), ABC))
    assert isinstance(again, ClosingPrice)
    assert again.price_fine == 10_4000_0000


def test_without_trades_the_close_is_the_one_before_and_there_is_no_average() -> None:
    events = close(agreed_day())
    assert [[(t.price, t.sub_type) for t in of(Trade, event)] for event in events] == [
        [], [(10_0000, T.TAC)],
    ]  # fmt: skip


def test_they_lapse_where_the_day_has_no_close_and_the_after_market_has_none() -> None:
    exchange = agreed_day((10_0000, 100))
    exchange.phase("17:05:00", Phase.CLOSE, "01")
    exchange.do(control.ChangeSession(clock("17:10:00"), "01", EXCHANGE, Session.NON_REGULAR, DATE))
    assert not exchange.engine.market(ABC).agreed
    exchange.phase("17:30:00", Phase.OPEN, "01")
    for kind in (c.TacTrade, c.TaaTrade):
        rejection = exchange.submit(kind(clock("17:31:00"), ABC, 100, 1, 2)).rejection
        assert rejection is not None
        assert rejection.reason is RejectReason.NOT_NOW


# What the note in 13.3 and 19 make of each: every price is the last one but of legs and out of sequence.
# A block and a sweep form no opening price (13.3.3), but like all that form prices they may be high or low.
MOVES: list[tuple[str, object, bool, bool]] = [
    ("cross", c.CrossOrder(99, A, 10, px(22), 1, 2), True, True),
    ("sweep", c.SweepAndCross(99, A, BUY, 10, px(22), 1), True, False),
    ("rfq", c.BlockTrade(99, A, c.BlockKind.RFQ, 10, 1, 2, px(22)), True, False),
    ("block book", c.BlockTrade(99, A, c.BlockKind.BLOCK_BOOK, 10, 1, 2, px(22)), True, False),
    ("midpoint", c.BlockTrade(99, A, c.BlockKind.MIDPOINT, 10, 1, 2), True, False),
    ("multi asset", c.ForwardTrade(99, TERMO, 10, px(22), 1, 2, 30, 125, A, px(22)), True, True),
    ("on behalf", c.TradeOnBehalf(99, A, 10, px(22), 1, 2), True, True),
    ("out of sequence", c.ManualTrade(99, A, 10, px(22), 1, 2), False, False),
    ("leg", c.CrossOrder(99, SPREAD, 10, px(2), 1, 2), False, False),
]


@pytest.mark.parametrize(("command", "moves", "opens"), [row[1:] for row in MOVES], ids=[r[0] for r in MOVES])
def test_what_moves_last_high_low_and_stops(command: object, moves: bool, opens: bool) -> None:
    desk = Desk(stock(A), stock(B), spread(buys=A, sells=B), stock(TERMO, security_type=SecurityType.FORWARD))
    statistics = desk.engine.market(A).statistics
    desk.order(BUY, 10, 21)
    desk.order(SELL, 10, 23)
    stop = desk.order(BUY, 10, 21.5, type=OrderType.STOP_LIMIT, stop_price=px(22)).order_id
    outcome = desk.submit(command)
    (trade,) = [t for e in outcome.events for t in of(Trade, e.updates) if t.security_id == A]
    found = (statistics.last_price, statistics.high, statistics.low)
    assert found == ((trade.price,) * 3 if moves else (None,) * 3)
    assert statistics.opening == (trade.price if opens else None)
    assert statistics.volume == 10
    elected = desk.engine.floor.orders[stop].type is OrderType.LIMIT
    assert elected is moves


def test_an_rlp_trade_moves_them_too() -> None:
    desk = Desk(stock(A))
    desk.submit(c.RlpOrder(1, A, SELL, 10, px(22), 8))
    stop = desk.order(BUY, 10, 21.5, type=OrderType.STOP_LIMIT, stop_price=px(22)).order_id
    desk.order(Side.BUY, 10, 22, firm=8, retail=True)
    statistics = desk.engine.market(A).statistics
    assert (statistics.last_price, statistics.opening) == (px(22), px(22))
    assert desk.engine.floor.orders[stop].type is OrderType.LIMIT
