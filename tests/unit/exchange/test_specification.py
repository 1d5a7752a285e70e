"""The printed examples of 12.2, 13.1 and 18, message for message. Where the text contradicts itself the
test says what it prints and what we do; docs/specification-notes.md has the list."""

import pytest

from pregao.exchange.commands import CancelSide, ChangeOrder
from pregao.exchange.orders import OrderType, SelfTrade
from pregao.model.events import (
    Event,
    ExecutionStatistics,
    ExecutionSummary,
    OrderUpdate,
    SideDeleted,
    Trade,
)
from pregao.model.market import Action, Aggressor, TradeCondition, TradeSubType
from tests.unit.exchange.desk import (
    BUY,
    SELL,
    SPREAD,
    A,
    B,
    Desk,
    of,
    only_event,
    px,
    rows,
    spread,
    stock,
    updates,
)

BIDS = [
    (300358, 15, 12.10),
    (400358, 5, 12.10),
    (545922, 10, 12.10),
    (120478, 5, 12.00),
    (303690, 15, 12.00),
    (789100, 10, 11.90),
]
OFFERS = [(95010, 15, 12.30), (101020, 10, 12.30), (434001, 25, 12.60), (200452, 10, 12.80)]


def sums(summary: object) -> tuple[Aggressor, int, int, int, int]:
    """AggressorSide, LastPx, FillQty, TradedHiddenQty, CxlQty, as the text prints them."""
    assert isinstance(summary, ExecutionSummary)
    return (
        summary.aggressor,
        summary.last_price,
        summary.fill_size,
        summary.hidden_size,
        summary.cancelled_size,
    )


def book_of_12_2(*later_offers: tuple[int, int, float]) -> Desk:
    """Ids rise with time (12.1), so the orders are entered in the order of their ids."""
    desk = Desk()
    entries = [(i, BUY, size, price) for i, size, price in BIDS]
    entries += [(i, SELL, size, price) for i, size, price in (*OFFERS, *later_offers)]
    for secondary_id, side, size, price in sorted(entries):
        desk.numbered(secondary_id, side, size, price)
    return desk


def test_12_1_2_delete_thru() -> None:
    desk = Desk()
    for size, price in ((5000, 10.58), (4000, 10.58), (3000, 10.57), (4000, 10.54)):
        desk.order(BUY, size, price)
    for size, price in ((7000, 11.03), (2000, 11.03), (1000, 11.05)):
        desk.order(SELL, size, price)
    event = only_event(desk.submit(CancelSide(99, A, BUY)))
    assert event == (SideDeleted(A, Action.DELETE_THRU, BUY, 99),)
    assert desk.book(BUY) == []
    assert [size for _, size, _ in desk.book(SELL)] == [7000, 2000, 1000]


def test_12_2_1_adding_a_new_order() -> None:
    # 500910 is entered after 789100 in the text, though ids rise: here it comes in its turn.
    desk = Desk()
    for secondary_id, side, size, price in sorted(
        [(i, BUY, s, p) for i, s, p in BIDS if i < 500910] + [(i, SELL, s, p) for i, s, p in OFFERS]
    ):
        desk.numbered(secondary_id, side, size, price)
    event = only_event(desk.numbered(500910, SELL, 20, 12.30))
    assert rows(event) == [("NEW", "SELL", 12.30, 20, 500910, 3)]
    for secondary_id, size, price in BIDS:
        if secondary_id > 500910:
            desk.numbered(secondary_id, BUY, size, price)
    assert desk.book(BUY) == BIDS
    assert desk.book(SELL) == [*OFFERS[:2], (500910, 20, 12.30), *OFFERS[2:]]


def _order_id(desk: Desk, secondary_id: int) -> int:
    return next(o.order_id for o in desk.engine.floor.orders.values() if o.secondary_id == secondary_id)


def test_12_2_2_1_keeping_priority() -> None:
    desk = book_of_12_2((500910, 20, 12.30))
    event = only_event(desk.submit(ChangeOrder(99, _order_id(desk, 95010), quantity=5)))
    assert rows(event) == [("CHANGE", "SELL", 12.30, 5, 95010, 1)]
    assert of(OrderUpdate, event)[0].previous_size == 15
    assert desk.book(SELL)[:3] == [(95010, 5, 12.30), (101020, 10, 12.30), (500910, 20, 12.30)]


def _after_losing_priority() -> tuple[Desk, tuple[object, ...]]:
    desk = book_of_12_2((500910, 20, 12.30))
    order_id = _order_id(desk, 95010)
    desk.submit(ChangeOrder(98, order_id, quantity=5))
    # The text gives it 645120; 789100 was given before, and ids rise, so the next is 789101.
    return desk, only_event(desk.submit(ChangeOrder(99, order_id, quantity=20)))


def test_12_2_2_2_losing_priority() -> None:
    desk, event = _after_losing_priority()
    # The text prints CHANGE for the DeleteOrder_MBO message.
    assert rows(event) == [("DELETE", "SELL", 12.30, 5, 95010, 1), ("NEW", "SELL", 12.30, 20, 789101, 3)]
    assert desk.book(SELL) == [
        (101020, 10, 12.30),
        (500910, 20, 12.30),
        (789101, 20, 12.30),
        (434001, 25, 12.60),
        (200452, 10, 12.80),
    ]


def test_12_2_3_matching_a_resting_order() -> None:
    desk, _ = _after_losing_priority()
    event = only_event(desk.order(BUY, 40, 12.30))
    # The text gives implicit positions as each message is applied.
    assert rows(event) == [
        ("DELETE", "SELL", 12.30, 10, 101020, 1),
        ("DELETE", "SELL", 12.30, 20, 500910, 1),
        ("CHANGE", "SELL", 12.30, 10, 789101, 1),
    ]
    assert of(OrderUpdate, event)[2].previous_size == 20
    assert desk.book(SELL) == [(789101, 10, 12.30), (434001, 25, 12.60), (200452, 10, 12.80)]
    assert desk.book(BUY) == BIDS
    summary, statistics = event[0], event[-1]
    assert isinstance(summary, ExecutionSummary)
    assert (summary.aggressor, summary.last_price, summary.fill_size) == (Aggressor.BUY, px(12.30), 40)
    assert isinstance(statistics, ExecutionStatistics)
    assert [t.size for t in of(Trade, event)] == [10, 20, 10]


def test_12_2_4_real_orders_go_before_implied_ones() -> None:
    desk = Desk(stock(A), stock(B), spread())
    for secondary_id, side, size, price in sorted(
        [(i, BUY, s, p) for i, s, p in BIDS]
        + [(i, SELL, s, p) for i, s, p in [(645120, 10, 12.30), *OFFERS[2:]]]
    ):
        desk.numbered(secondary_id, side, size, price, security_id=SPREAD)
    desk.order(BUY, 30, 20.00, security_id=A)
    event = desk.order(SELL, 20, 32.20, security_id=B).events[1].updates
    (implied,) = of(OrderUpdate, event)
    assert (implied.action, implied.side, implied.price, implied.size) == (Action.NEW, SELL, px(12.20), 20)
    assert implied.implied
    assert implied.position == 1
    assert implied.order_id > 789100
    # The text numbers the real order 300160, below ids given long before; ids rise (12.1).
    event = only_event(desk.order(SELL, 15, 12.20, security_id=SPREAD))
    real = of(OrderUpdate, event)[0]
    assert rows(event) == [("NEW", "SELL", 12.20, 15, real.order_id, 1)]
    assert not real.implied
    assert 789100 < real.order_id < implied.order_id
    assert [size for _, size, _ in desk.book(SELL, SPREAD)] == [15, 20, 10, 25, 10]


def test_13_1_1_iceberg() -> None:
    desk = Desk()
    # The order entry table prints the iceberg first, but the ordinary order has the higher priority.
    ordinary = only_event(desk.order(BUY, 800, 20.50))
    iceberg = only_event(desk.order(BUY, 10_000, 20.50, max_floor=500))
    s21, s1 = (of(OrderUpdate, event)[0].order_id for event in (ordinary, iceberg))
    event = only_event(desk.order(SELL, 1800, 20.50))
    summary = event[0]
    assert sums(summary) == (Aggressor.SELL, px(20.50), 1800, 1000, 0)
    trades = of(Trade, event)
    assert [(t.price, t.size, t.trade_id) for t in trades] == [
        (px(20.50), 800, 10),
        (px(20.50), 500, 20),
        (px(20.50), 500, 30),
    ]
    s2, s3 = (u.order_id for u in of(OrderUpdate, event) if u.action is Action.NEW)
    assert s1 < s2 < s3
    # The text prints 21.00 for SORD_21, though all orders are at 20.50.
    assert rows(event) == [
        ("DELETE", "BUY", 20.50, 800, s21, 1),
        ("DELETE", "BUY", 20.50, 500, s1, 1),
        ("NEW", "BUY", 20.50, 500, s2, 1),
        ("DELETE", "BUY", 20.50, 500, s2, 1),
        ("NEW", "BUY", 20.50, 500, s3, 1),
    ]
    assert desk.engine.market(A).book.buys.orders[0].leaves == 9000


def test_13_1_2_self_trade_prevention() -> None:
    desk = Desk()
    # Order entry has SORD_1 first, market data SORD_2 first; as market data, both enter at position 1.
    second = only_event(desk.order(BUY, 200, 20.50, investor_id=123, stp=SelfTrade.CANCEL_RESTING))
    first = only_event(desk.order(BUY, 100, 21.00))
    s2, s1 = (of(OrderUpdate, event)[0].order_id for event in (second, first))
    assert rows(second) == [("NEW", "BUY", 20.50, 200, s2, 1)]
    assert rows(first) == [("NEW", "BUY", 21.00, 100, s1, 1)]
    event = only_event(desk.order(SELL, 300, 20.50, investor_id=123, stp=SelfTrade.CANCEL_RESTING))
    summary, prevented, trade, delete, rest = event[:5]
    # The text prints 20.50 as LastPx and trade price; the resting order's price is 21.00.
    assert sums(summary) == (Aggressor.SELL, px(21.00), 100, 0, 200)
    assert rows([prevented]) == [("DELETE", "BUY", 20.50, 200, s2, 2)]
    assert isinstance(trade, Trade)
    assert (trade.price, trade.size) == (px(21.00), 100)
    assert isinstance(rest, OrderUpdate)
    assert rows([delete, rest]) == [
        ("DELETE", "BUY", 21.00, 100, s1, 1),
        ("NEW", "SELL", 20.50, 200, rest.order_id, 1),
    ]
    assert isinstance(event[-1], ExecutionStatistics)
    assert desk.book(BUY) == []
    assert desk.book(SELL) == [(rest.order_id, 200, 20.50)]


def test_13_1_3_several_stops_in_one_event() -> None:
    desk = Desk()
    entries = [
        (330, BUY, 100, 7.28), (700, BUY, 200, 7.28), (100, BUY, 100, 7.20), (800, SELL, 300, 7.31),
        (320, SELL, 100, 7.32), (600, SELL, 200, 7.32), (200, SELL, 100, 7.50), (300, SELL, 400, 7.52),
    ]  # fmt: skip
    for secondary_id, side, size, price in sorted(entries):
        desk.numbered(secondary_id, side, size, price)
    for size, price in ((100, 7.31), (200, 7.32), (200, 7.32)):
        stop = desk.order(BUY, size, price, type=OrderType.STOP_LIMIT, stop_price=px(7.31))
        assert stop.rejection is None
        assert stop.events == ()
    outcome = desk.order(BUY, 200, 7.32)
    assert len(outcome.events) == 2
    electing, elected = (event.updates for event in outcome.events)
    assert [(t.price, t.size) for t in of(Trade, electing)] == [(px(7.31), 200)]
    assert rows(electing) == [("CHANGE", "SELL", 7.31, 100, 800, 1)]
    summary = elected[0]
    assert sums(summary) == (Aggressor.BUY, px(7.32), 400, 0, 0)
    trades = of(Trade, elected)
    assert [(t.price, t.size) for t in trades] == [(px(p), 100) for p in (7.31, 7.32, 7.32, 7.32)]
    assert all(t.condition & TradeCondition.REGULAR and t.sub_type is None for t in trades)
    assert [t.trade_id - trades[0].trade_id for t in trades] == [0, 10, 20, 30]
    rest = of(OrderUpdate, elected)[-1].order_id
    # The text prints only the last of these; 720 is below ids given before (800), ours rises.
    assert rows(elected) == [
        ("DELETE", "SELL", 7.31, 100, 800, 1),
        ("DELETE", "SELL", 7.32, 100, 320, 1),
        ("CHANGE", "SELL", 7.32, 100, 600, 1),
        ("DELETE", "SELL", 7.32, 100, 600, 1),
        ("NEW", "BUY", 7.32, 100, rest, 1),
    ]
    assert desk.book(BUY) == [(rest, 100, 7.32), (330, 100, 7.28), (700, 200, 7.28), (100, 100, 7.20)]
    # The text's final book has 320 at 7.52, 360 and 370 at 7.55: 320 was filled, the others never entered.
    assert desk.book(SELL) == [(200, 100, 7.50), (300, 400, 7.52)]


F24, N24, F24N24 = A, B, SPREAD


def _implied_in(partial: str = "change") -> tuple[Desk, list[Event]]:
    """18.1: selling DI1F24 and buying DI1N24 is buying the spread."""
    desk = Desk(stock(F24), stock(N24), spread(buys=N24, sells=F24), implied_partial=partial)
    events = [*desk.order(BUY, 10, 6.99, security_id=F24, firm=11).events]
    events += desk.order(SELL, 10, 7.34, security_id=N24, firm=12).events
    events += desk.order(SELL, 15, 0.35, security_id=F24N24, firm=13).events
    return desk, events


def _printed(event: Event) -> list[tuple[int, str, str, float, int, bool, int]]:
    return [
        (u.security_id, u.side.name, u.action.name, (u.price or 0) / 10_000, u.size, u.implied, u.position)
        for u in of(OrderUpdate, event.updates)
    ]


def test_18_1_implied_in() -> None:
    desk, events = _implied_in()
    assert [row for event in events for row in _printed(event)] == [
        (F24, "BUY", "NEW", 6.99, 10, False, 1),
        (N24, "SELL", "NEW", 7.34, 10, False, 1),
        (F24N24, "SELL", "NEW", 0.35, 10, True, 1),
        (F24N24, "SELL", "NEW", 0.35, 15, False, 1),
    ]
    assert len(events) == 4
    assert [(size, price) for _, size, price in desk.book(SELL, F24N24)] == [(15, 0.35), (10, 0.35)]


def _trades(event: Event) -> list[tuple[int, float, int, bool]]:
    return [(t.security_id, t.price / 10_000, t.size, t.implied) for t in of(Trade, event.updates)]


@pytest.mark.parametrize("partial", ["change", "restate"])
def test_18_3_match_that_involves_an_implied_order(partial: str) -> None:
    desk, _ = _implied_in(partial)
    outcome = desk.order(BUY, 20, 0.35, security_id=F24N24, firm=14)
    assert outcome.rejection is None
    in_spread, in_n24, in_f24, *after = outcome.events
    assert _trades(in_spread) == [(F24N24, 0.35, 15, False), (F24N24, 0.35, 5, True)]
    # The text prints leg trades for the implied order alone; 13.3.2 has them for any trade of the spread.
    assert _trades(in_n24) == [(N24, 7.34, 5, True), (N24, 7.34, 15, False)]
    assert _trades(in_f24) == [(F24, 6.99, 5, True), (F24, 6.99, 15, False)]
    # One event for each instrument (4.2.1); 18.3 prints the legs' updates as of the same event.
    for event in (in_spread, in_n24, in_f24):
        assert isinstance(event.updates[0], ExecutionSummary)
        assert isinstance(event.updates[-1], ExecutionStatistics)
    for event in (in_n24, in_f24):
        for trade in of(Trade, event.updates):
            assert trade.sub_type is TradeSubType.LEG
            assert not trade.condition & (TradeCondition.REGULAR | TradeCondition.BLOCK)
    # The text prints the delete of the implied order without its flag and the legs' sides swapped.
    assert _printed(in_f24) == [(F24, "BUY", "CHANGE", 6.99, 5, False, 1)]
    assert _printed(in_n24) == [(N24, "SELL", "CHANGE", 7.34, 5, False, 1)]
    normal = (F24N24, "SELL", "DELETE", 0.35, 15, False, 1)
    if partial == "restate":
        assert _printed(in_spread) == [normal, (F24N24, "SELL", "DELETE", 0.35, 10, True, 1)]
        assert [_printed(event) for event in after] == [[(F24N24, "SELL", "NEW", 0.35, 5, True, 1)]]
    else:
        assert _printed(in_spread) == [normal, (F24N24, "SELL", "CHANGE", 0.35, 5, True, 1)]
        assert after == []
    for security_id, side, price in ((F24N24, SELL, 0.35), (F24, BUY, 6.99), (N24, SELL, 7.34)):
        assert [row[1:] for row in desk.book(side, security_id)] == [(5, price)]
        assert desk.book(side.opposite, security_id) == []


def test_18_restated_under_another_id() -> None:
    desk, _ = _implied_in("restate")
    before = desk.book(SELL, F24N24)[1][0]
    found = [u for u in of(OrderUpdate, updates(desk.order(BUY, 20, 0.35, security_id=F24N24))) if u.implied]
    assert [u.order_id == before for u in found] == [True, False]
    assert found[1].order_id > before


def test_18_an_outright_that_shrinks_changes_the_implied_order() -> None:
    desk, _ = _implied_in()
    order_id = next(o.order_id for o in desk.engine.floor.orders.values() if o.security_id == F24)
    leg, implied = desk.submit(ChangeOrder(99, order_id, quantity=6)).events
    assert _printed(leg) == [(F24, "BUY", "CHANGE", 6.99, 6, False, 1)]
    assert _printed(implied) == [(F24N24, "SELL", "CHANGE", 0.35, 6, True, 2)]


def test_18_an_outright_that_grows_or_moves_replaces_the_implied_order() -> None:
    desk, _ = _implied_in()
    desk.order(BUY, 5, 6.99, security_id=F24)
    desk.order(SELL, 20, 7.35, security_id=N24)
    leg, implied = desk.order(SELL, 5, 7.34, security_id=N24).events
    assert _printed(leg) == [(N24, "SELL", "NEW", 7.34, 5, False, 2)]
    assert _printed(implied) == [
        (F24N24, "SELL", "DELETE", 0.35, 10, True, 2),
        (F24N24, "SELL", "NEW", 0.35, 15, True, 2),
    ]
    _, implied = desk.order(BUY, 1, 7.00, security_id=F24).events
    assert _printed(implied) == [
        (F24N24, "SELL", "DELETE", 0.35, 15, True, 2),
        (F24N24, "SELL", "NEW", 0.34, 1, True, 1),
    ]
