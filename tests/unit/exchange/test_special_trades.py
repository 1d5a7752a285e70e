"""Crosses, sweeps, blocks, trades at close and average, termo, and market operations' own."""

from typing import Any

import pytest

from pregao.exchange import commands as c
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.orders import TimeInForce
from pregao.model.events import (
    Definition,
    ExecutionStatistics,
    ExecutionSummary,
    HighPrice,
    LastTrade,
    LowPrice,
    OpeningPrice,
    OrderUpdate,
    Trade,
    TradeBusted,
)
from pregao.model.instruments import SecurityType
from pregao.model.market import Action, Aggressor, DefinitionAction, Session, State, TradeSubType
from pregao.model.market import TradeCondition as C
from tests.unit.exchange.desk import BUY, SELL, TERMO, A, Desk, of, only_event, px, stock

R = RejectReason
P = px(20)


def names(items: Any) -> list[str]:
    return [type(item).__name__ for item in items]


STATISTICS = ["OpeningPrice", "HighPrice", "LowPrice", "ExecutionStatistics"]


def test_cross() -> None:
    desk = Desk()
    desk.order(BUY, 10, 19)
    desk.order(SELL, 10, 21)
    event = only_event(desk.submit(c.CrossOrder(9, A, 50, P, 1, 2)))
    assert names(event) == ["ExecutionSummary", "Trade", *STATISTICS]
    summary, trade = event[:2]
    assert isinstance(summary, ExecutionSummary)
    assert isinstance(trade, Trade)
    assert (summary.aggressor, summary.fill_size, summary.hidden_size) == (Aggressor.NONE, 50, 0)
    assert trade.condition == C.REGULAR | C.CROSSED | C.OPENING_PRICE
    for price in (px(18), px(22)):
        refused = desk.submit(c.CrossOrder(9, A, 50, price, 1, 2))
        assert refused.rejection == Rejection(R.CROSS_OUTSIDE_SPREAD)


@pytest.mark.parametrize(("quantity", "accepted"), [(29, False), (30, True)])
def test_the_smallest_cross(quantity: int, accepted: bool) -> None:
    """minCrossQty of the definition, for both kinds of cross orders; other orders may be smaller."""
    desk = Desk(stock(A, minimum_cross=30))
    for command in (
        c.CrossOrder(9, A, quantity, P, 1, 2),
        c.SweepAndCross(9, A, BUY, quantity, P, 1),
    ):
        rejection = desk.submit(command).rejection
        assert rejection == (None if accepted else Rejection(R.CROSS_TOO_SMALL, "29 is below 30"))
    assert desk.order(BUY, 1, 20).rejection is None


def test_sweep_and_cross() -> None:
    desk = Desk()
    desk.order(SELL, 10, 20, firm=5)
    event = only_event(desk.submit(c.SweepAndCross(9, A, BUY, 30, px(20.10), 7)))
    swept, crossed = of(Trade, event)
    assert (swept.price, swept.size, swept.condition, swept.sub_type) == (
        P,
        10,
        C.REGULAR,
        TradeSubType.SWEEP,
    )
    assert (crossed.price, crossed.size, crossed.buyer, crossed.seller) == (px(20.10), 20, 7, 7)
    assert (crossed.condition, crossed.sub_type) == (C.REGULAR | C.CROSSED, TradeSubType.SWEEP)
    assert isinstance(event[0], ExecutionSummary)
    assert (event[0].aggressor, event[0].fill_size) == (Aggressor.BUY, 30)


def test_a_sweep_does_not_pass_over_its_own_side() -> None:
    desk = Desk()
    desk.order(BUY, 10, 21)
    assert desk.submit(c.SweepAndCross(9, A, BUY, 30, P, 7)).events == ()
    assert desk.engine.market(A).cancelled == 30


@pytest.mark.parametrize("kind", c.BlockKind)
def test_blocks(kind: c.BlockKind) -> None:
    desk = Desk()
    desk.order(BUY, 10, 19.99)
    desk.order(SELL, 10, 20.01)
    price = None if kind is c.BlockKind.MIDPOINT else P
    event = only_event(desk.submit(c.BlockTrade(9, A, kind, 1000, 1, 2, price)))
    assert names(event) == ["ExecutionSummary", "Trade", "HighPrice", "LowPrice", "ExecutionStatistics"]
    summary, trade = event[:2]
    assert isinstance(summary, ExecutionSummary)
    assert isinstance(trade, Trade)
    assert (summary.aggressor, summary.hidden_size) == (Aggressor.NONE, 1000)
    assert (trade.price, trade.condition, trade.sub_type) == (P, C.BLOCK, kind.value)


def test_a_midpoint_is_the_middle_of_the_book() -> None:
    desk, kind = Desk(), c.BlockKind.MIDPOINT
    assert desk.submit(c.BlockTrade(9, A, kind, 10, 1, 2)).rejection == Rejection(R.NO_REFERENCE_PRICE)
    desk.order(BUY, 10, 38.24)
    assert desk.submit(c.BlockTrade(9, A, kind, 10, 1, 2)).rejection == Rejection(R.NO_REFERENCE_PRICE)
    desk.order(SELL, 10, 38.25)
    for price in (px(41.25), px(38.24)):
        refused = desk.submit(c.BlockTrade(9, A, kind, 10, 1, 2, price))
        assert refused.rejection == Rejection(R.PRICE_NOT_ALLOWED)
    (trade,) = of(Trade, only_event(desk.submit(c.BlockTrade(9, A, kind, 10, 1, 2))))
    assert trade.price == px(38.245)


@pytest.mark.parametrize("kind", [c.BlockKind.RFQ, c.BlockKind.BLOCK_BOOK])
def test_agreed_prices_are_within_the_hard_limits(kind: c.BlockKind) -> None:
    desk = Desk(stock(A), stock(TERMO, security_type=SecurityType.FORWARD))
    desk.hooks.hard_limits = lambda market: (px(19), px(21))
    assert desk.submit(c.BlockTrade(9, A, kind, 10, 1, 2)).rejection == Rejection(R.PRICE_MISSING)
    for price in (px(18.99), px(21.01)):
        for command in (
            c.BlockTrade(9, A, kind, 10, 1, 2, price),
            c.ForwardTrade(9, TERMO, 10, P, 1, 2, cash_security_id=A, cash_price=price),
        ):
            rejection = desk.submit(command).rejection
            assert rejection is not None
            assert rejection.reason is R.PRICE_OUTSIDE_HARD_LIMIT
    for price in (px(19), px(21)):
        assert desk.submit(c.BlockTrade(9, A, kind, 10, 1, 2, price)).rejection is None


@pytest.mark.parametrize(
    ("command", "condition", "sub_type"),
    [
        (c.TradeOnBehalf(9, A, 10, P, 1, 2), C.REGULAR | C.OPENING_PRICE | C.ON_BEHALF, None),
        (c.TradeOnBehalf(9, A, 10, P, 1, 2, c.BlockKind.RFQ), C.BLOCK | C.ON_BEHALF, TradeSubType.RFQ),
        (c.ManualTrade(9, A, 10, P, 1, 2), C.REGULAR | C.OUT_OF_SEQUENCE | C.ON_BEHALF, None),
    ],
)
def test_trades_without_a_summary(command: object, condition: C, sub_type: TradeSubType | None) -> None:
    event = only_event(Desk().submit(command))
    trade = event[0]
    assert isinstance(trade, Trade)
    assert (trade.condition, trade.sub_type) == (condition, sub_type)
    assert isinstance(event[-1], ExecutionStatistics)


def test_out_of_sequence_counts_but_makes_no_price() -> None:
    desk = Desk()
    event = only_event(desk.submit(c.ManualTrade(9, A, 10, P, 1, 2, transact_ns=5)))
    assert names(event) == ["Trade", "ExecutionStatistics"]
    assert of(Trade, event)[0].transact_ns == 5
    statistics = desk.engine.market(A).statistics
    assert (statistics.volume, statistics.last, statistics.high) == (10, None, None)


def test_termo_and_termo_vista() -> None:
    desk = Desk(stock(A), stock(TERMO, security_type=SecurityType.FORWARD))
    event = only_event(desk.submit(c.ForwardTrade(9, TERMO, 10, P, 1, 2, 30, 125)))
    forward = event[0]
    assert isinstance(forward, Trade)
    assert (forward.forward, forward.seller_days, forward.interest_rate) == (True, 30, 125)
    command = c.ForwardTrade(9, TERMO, 10, P, 1, 2, 30, 125, A, px(19.90))
    termo, cash = desk.submit(command).events
    assert of(Trade, termo.updates)[0].forward
    (trade,) = of(Trade, cash.updates)
    assert (trade.security_id, trade.price, trade.sub_type) == (A, px(19.90), TradeSubType.MULTI_ASSET)
    assert not trade.condition & (C.REGULAR | C.BLOCK)
    assert desk.submit(c.ForwardTrade(9, A, 10, P, 1, 2)).rejection == Rejection(R.NOT_A_FORWARD)
    half = c.ForwardTrade(9, TERMO, 10, P, 1, 2, cash_security_id=A)
    assert desk.submit(half).rejection == Rejection(R.PRICE_MISSING)


@pytest.mark.parametrize(
    "command",
    [
        c.CrossOrder(9, A, 10, P, 1, 2),
        c.SweepAndCross(9, A, BUY, 10, P, 1),
        c.BlockTrade(9, A, c.BlockKind.RFQ, 10, 1, 2, P),
        c.TacTrade(9, A, 10, 1, 2),
        c.ForwardTrade(9, A, 10, P, 1, 2),
    ],
)
def test_participants_trade_only_while_open(command: object) -> None:
    desk = Desk()
    desk.states[A] = State.RESERVED
    assert desk.submit(command).rejection == Rejection(R.STATE_FORBIDS_TRADE)
    assert Desk(stock(77)).submit(command).rejection == Rejection(R.UNKNOWN_INSTRUMENT)


def traded(*prices: float, closing: int | None = px(20) * 10_000) -> Desk:
    desk = Desk(stock(A, closing_price=closing))
    for price in prices:
        desk.order(SELL, 10, price)
        desk.order(BUY, 10, price)
    return desk


def test_statistics_of_a_session() -> None:
    desk = traded(20, 21, 19)
    desk.order(SELL, 30, 20)
    *_, told = only_event(desk.order(BUY, 30, 20))
    assert told == ExecutionStatistics(A, Session.REGULAR, 20_000, 60, px(20), 0, 4, desk.now_ns, px(1200))
    snapshot = desk.engine.market(A).statistics.snapshot(A, Session.REGULAR, 1, 1)
    assert names(snapshot) == [
        "OpeningPrice", "HighPrice", "LowPrice", "LastTrade", "ExecutionStatistics",
    ]  # fmt: skip


def test_net_change_has_eight_places() -> None:
    desk = traded(closing=1_912_345_678)
    desk.order(SELL, 10, 20)
    event = only_event(desk.order(BUY, 10, 20))
    assert of(ExecutionStatistics, event)[0].net_change_fine == 2_000_000_000 - 1_912_345_678
    assert of(OpeningPrice, event)[0].net_change_fine == 2_000_000_000 - 1_912_345_678


@pytest.mark.parametrize(("closing", "net"), [(None, None), (1_912_345_678, 2_000_000_000 - 1_912_345_678)])
def test_the_opening_price_of_a_snapshot_has_its_net_change(closing: int | None, net: int | None) -> None:
    """13.9.1: of the opening price itself, however the last one has moved since."""
    desk = traded(20, 21, closing=closing)
    snapshot = desk.engine.market(A).statistics.snapshot(A, Session.REGULAR, 20_000, 7)
    (opening,) = of(OpeningPrice, snapshot)
    assert (opening.price, opening.net_change_fine) == (P, net)


def test_a_snapshot_has_the_totals_that_were_told_also_when_every_trade_is_busted() -> None:
    """Whoever heard the incremental stream has them too, with nothing in them."""
    desk = traded(20)
    statistics = desk.engine.market(A).statistics
    event = only_event(desk.submit(c.BustTrade(99, A, 10)))
    (told,) = of(ExecutionStatistics, event)
    (kept,) = statistics.snapshot(A, Session.REGULAR, told.trade_date, told.time_ns)
    assert kept == told
    assert (told.volume, told.trades) == (0, 0)
    statistics.start_over()
    assert statistics.snapshot(A, Session.REGULAR, 1, 1) == []


def test_a_bust_counts_again_and_tells_what_changed() -> None:
    desk = traded(20, 21, 19)
    event = only_event(desk.submit(c.BustTrade(99, A, 30)))
    assert names(event) == ["TradeBusted", "LowPrice", "LastTrade", "ExecutionStatistics"]
    assert of(LastTrade, event)[0].trade_id == 20
    assert of(LowPrice, event)[0].price == px(20)
    told = of(ExecutionStatistics, event)[0]
    assert (told.volume, told.trades, told.vwap, told.net_change_fine) == (20, 2, px(20.50), 100_000_000)
    event = only_event(desk.submit(c.BustTrade(99, A, 10)))
    assert (of(OpeningPrice, event)[0].price, of(LowPrice, event)[0].price) == (px(21), px(21))
    event = only_event(desk.submit(c.BustTrade(99, A, 20)))
    assert [u.action for u in (*of(OpeningPrice, event), *of(HighPrice, event), *of(LowPrice, event))] == [
        Action.DELETE
    ] * 3
    assert (of(ExecutionStatistics, event)[0].vwap, of(ExecutionStatistics, event)[0].volume) == (None, 0)
    assert not of(LastTrade, event)
    assert desk.submit(c.BustTrade(99, A, 20)).rejection == Rejection(R.UNKNOWN_TRADE)


def test_a_bust_says_that_its_trade_was_a_forward() -> None:
    desk = Desk(stock(A), stock(TERMO, security_type=SecurityType.FORWARD))
    desk.submit(c.ForwardTrade(9, TERMO, 10, P, 1, 2, cash_security_id=A, cash_price=P))
    for security_id, is_forward in ((TERMO, True), (A, False)):
        (busted,) = of(TradeBusted, only_event(desk.submit(c.BustTrade(99, security_id, 10))))
        assert busted.forward is is_forward


def test_a_bust_on_a_later_date_changes_no_statistics() -> None:
    desk = traded(20)
    market = desk.engine.market(A)
    market.start_session(20_001, Session.REGULAR)
    assert only_event(desk.submit(c.BustTrade(99, A, 10, 20_000))) == (
        TradeBusted(A, 10, P, 10, 20_000, Session.REGULAR, 99),
    )
    assert desk.submit(c.BustTrade(99, A, 10, 20_000)).rejection == Rejection(R.UNKNOWN_TRADE)
    desk.order(SELL, 1, 20)
    assert of(Trade, only_event(desk.order(BUY, 1, 20)))[0].trade_id == 10


def test_the_after_market_goes_on_counting_trade_ids() -> None:
    desk = traded(20)
    market = desk.engine.market(A)
    market.start_session(20_000, Session.NON_REGULAR)
    desk.order(SELL, 1, 20)
    (trade,) = of(Trade, only_event(desk.order(BUY, 1, 20)))
    assert (trade.trade_id, trade.session) == (20, Session.NON_REGULAR)
    assert trade.condition & C.OPENING_PRICE
    assert names(only_event(desk.submit(c.BustTrade(99, A, 10)))) == ["TradeBusted"]


def test_an_amended_trade_is_busted_and_told_again() -> None:
    desk = traded(20, 21)
    event = only_event(desk.submit(c.AmendTrade(99, A, 20, price=px(20.50), transact_ns=55)))
    busted, again = event[:2]
    assert isinstance(busted, TradeBusted)
    assert isinstance(again, Trade)
    assert (busted.trade_id, busted.price) == (20, px(21))
    assert (again.trade_id, again.price, again.transact_ns) == (20, px(20.50), 55)
    assert of(HighPrice, event)[0].price == px(20.50)
    assert desk.submit(c.AmendTrade(99, A, 90)).rejection == Rejection(R.UNKNOWN_TRADE)
    assert desk.submit(c.AmendTrade(99, A, 20)).rejection == Rejection(R.NOTHING_CHANGED)


def test_gt_orders_are_restated_in_another_segment() -> None:
    desk = Desk(stock(A), stock(2, segment=2))
    for size, tif in ((1, TimeInForce.GTC), (2, TimeInForce.DAY), (3, TimeInForce.GTC)):
        desk.order(BUY, size, 20, tif=tif)
    desk.order(BUY, 9, 20, security_id=2)
    last = desk.engine.floor.segment(2).last()[0]
    event, told = (each.updates for each in desk.submit(c.MoveInstrument(99, A, 2)).events)
    assert [(u.action.name, u.size) for u in of(OrderUpdate, event)] == [
        ("DELETE", 1), ("DELETE", 2), ("DELETE", 3), ("NEW", 1), ("NEW", 3),
    ]  # fmt: skip
    assert [row[:2] for row in desk.book(BUY)] == [(last + 1, 1), (last + 2, 3)]
    assert [(u.instrument.segment, u.action) for u in of(Definition, told)] == [(2, DefinitionAction.MODIFY)]
    assert desk.submit(c.MoveInstrument(99, A, 2)).rejection == Rejection(R.NO_CHANGE_OF_SEGMENT)
    for segment in (0, 256, 1 << 40):  # ids and marketSegmentID would not fit their types (12.1)
        assert desk.submit(c.MoveInstrument(99, A, segment)).rejection == Rejection(
            R.UNKNOWN_SEGMENT, str(segment)
        )
    desk.engine.market(A).book.check_invariants(matching=True)


def test_an_empty_side_cannot_be_deleted() -> None:
    assert Desk().submit(c.CancelSide(1, A, BUY)).rejection == Rejection(R.UNKNOWN_ORDER, "the side is empty")
