"""Continuous matching beyond the printed examples: times in force, icebergs, self-trades, gates."""

from typing import Any

import pytest

from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderType, SelfTrade, TimeInForce
from pregao.model.events import Event, ExecutionStatistics, ExecutionSummary, OrderUpdate, Trade
from pregao.model.market import Action, Aggressor
from tests.unit.exchange.desk import BUY, SELL, A, Desk, Reader, of, only_event, px, rows, updates


def sells(*entries: tuple[int, float], **attributes: Any) -> Desk:
    desk = Desk()
    for size, price in entries:
        desk.order(SELL, size, price, **attributes)
    return desk


def sizes(items: Any) -> list[int]:
    return [trade.size for trade in of(Trade, items)]


def test_the_resting_price_counts_and_the_rest_rests() -> None:
    desk = sells((10, 20.00), (10, 20.10))
    event = only_event(desk.order(BUY, 25, 20.50, firm=7))
    assert [(t.price, t.size, t.buyer, t.seller) for t in of(Trade, event)] == [
        (px(20.00), 10, 7, 1),
        (px(20.10), 10, 7, 1),
    ]
    assert isinstance(event[0], ExecutionSummary)
    assert event[0].last_price == px(20.10)
    assert rows(event)[-1][:4] == ("NEW", "BUY", 20.50, 5)
    assert isinstance(event[-1], ExecutionStatistics)


def test_an_order_that_only_rests_has_no_summary() -> None:
    assert [type(u) for u in only_event(Desk().order(BUY, 5, 10))] == [OrderUpdate]


@pytest.mark.parametrize(
    ("attributes", "filled"),
    [
        ({"price": 20.00, "tif": TimeInForce.IOC}, [10]),
        ({"price": 20.00, "tif": TimeInForce.FOK}, []),
        ({"price": 20.10, "tif": TimeInForce.FOK}, [10, 5]),
        ({"price": None, "type": OrderType.MARKET}, [10, 5]),
        ({"price": None, "type": OrderType.MARKET, "quantity": 30}, [10, 10]),
        ({"price": 20.00, "min_quantity": 11}, []),
        ({"price": 20.10, "min_quantity": 11}, [10, 5]),
    ],
)
def test_what_must_not_rest_does_not(attributes: dict[str, Any], filled: list[int]) -> None:
    desk = sells((10, 20.00), (10, 20.10))
    quantity = attributes.pop("quantity", 15)
    outcome = desk.order(BUY, quantity, attributes.pop("price"), **attributes)
    assert sizes(updates(outcome)) == filled
    assert len(outcome.events) == bool(filled)
    assert desk.book(BUY) == []
    market = desk.engine.market(A)
    assert market.cancelled == quantity - sum(filled)
    assert outcome.order_id not in desk.engine.floor.orders


def test_a_minimum_that_is_met_lets_the_rest_rest() -> None:
    desk = sells((10, 20.00))
    desk.order(BUY, 15, 20.00, min_quantity=10)
    assert [size for _, size, _ in desk.book(BUY)] == [5]


def test_fok_counts_hidden_quantity() -> None:
    desk = Desk()
    desk.order(SELL, 100, 20, max_floor=10)
    event = only_event(desk.order(BUY, 35, 20, tif=TimeInForce.FOK))
    assert sizes(event) == [10, 10, 10, 5]
    assert isinstance(event[0], ExecutionSummary)
    assert event[0].hidden_size == 35


def test_an_iceberg_goes_behind_its_level() -> None:
    desk = Desk()
    desk.order(SELL, 30, 20, max_floor=10, firm=1)
    desk.order(SELL, 10, 20, firm=2)
    event = only_event(desk.order(BUY, 25, 20))
    assert [t.seller for t in of(Trade, event)] == [1, 2, 1]
    assert [size for _, size, _ in desk.book(SELL)] == [5]


def test_an_incoming_iceberg_shows_its_floor() -> None:
    desk = sells((10, 20.00))
    event = only_event(desk.order(BUY, 100, 20.00, max_floor=20))
    assert rows(event)[-1][:4] == ("NEW", "BUY", 20.0, 20)
    assert isinstance(event[0], ExecutionSummary)
    assert event[0].hidden_size == 0


def test_cancel_aggressor_after_a_fill() -> None:
    desk = Desk()
    desk.order(SELL, 10, 20.00)
    desk.order(SELL, 10, 20.00, investor_id=5)
    event = only_event(desk.order(BUY, 15, 20.00, investor_id=5))
    assert isinstance(event[0], ExecutionSummary)
    assert (event[0].fill_size, event[0].cancelled_size) == (10, 5)
    assert desk.book(BUY) == []
    assert len(desk.book(SELL)) == 1


def test_cancel_aggressor_at_once_publishes_nothing() -> None:
    desk = Desk()
    desk.order(SELL, 10, 20.00, investor_id=5)
    outcome = desk.order(BUY, 15, 20.00, investor_id=5)
    assert (outcome.events, outcome.rejection) == ((), None)


def test_cancel_both_without_a_trade_is_a_delete_without_summary() -> None:
    desk = Desk()
    desk.order(SELL, 10, 20.00, investor_id=5)
    event = only_event(desk.order(BUY, 15, 20.00, investor_id=5, stp=SelfTrade.CANCEL_BOTH))
    assert [row[:4] for row in rows(event)] == [("DELETE", "SELL", 20.0, 10)]
    assert len(event) == 1


def test_fok_does_not_count_what_self_trade_prevention_would_stop() -> None:
    desk = Desk()
    desk.order(SELL, 10, 20.00, investor_id=5)
    desk.order(SELL, 10, 20.00)
    assert desk.order(BUY, 10, 20.00, investor_id=5, tif=TimeInForce.FOK).events == ()
    outcome = desk.order(BUY, 10, 20.00, investor_id=5, tif=TimeInForce.FOK, stp=SelfTrade.CANCEL_RESTING)
    assert sizes(updates(outcome)) == [10]


def test_positions_of_prevented_cancels_are_as_a_reader_sees_them() -> None:
    desk, reader = Desk(), Reader()
    outcomes = [
        desk.order(SELL, 6, 20.00, max_floor=2),
        desk.order(SELL, 5, 20.00, investor_id=5),
        desk.order(SELL, 5, 20.10),
        desk.order(SELL, 5, 20.10, investor_id=5),
        desk.order(SELL, 5, 20.10),
        desk.order(BUY, 12, 20.10, investor_id=5, stp=SelfTrade.CANCEL_RESTING),
    ]
    for outcome in outcomes:
        reader.read(outcome.events)
        assert outcome.rejection is None
    reader.check(desk.engine)
    summary, *prevented = outcomes[-1].events[0].updates[:3]
    assert [row[5] for row in rows(prevented)] == [2, 3]
    assert isinstance(summary, ExecutionSummary)
    assert summary.cancelled_size == 10


def test_a_range_stops_matching_and_the_rest_rests() -> None:
    desk = sells((10, 20.00), (10, 20.10))
    refused: list[int] = []
    desk.hooks.trade_ranges.append(lambda market: (0, px(20.00)))
    desk.hooks.on_trade_refused.append(lambda market, order, price, now_ns: refused.append(price))
    event = only_event(desk.order(BUY, 15, 20.10))
    assert sizes(event) == [10]
    assert refused == [px(20.10)]
    assert desk.engine.market(A).book.crossed  # until the auction that the hook starts


def test_self_trades_are_told() -> None:
    desk = Desk()
    met: list[tuple[int, int]] = []

    def told(market: InstrumentMarket, incoming: EnteredOrder, resting: EnteredOrder, now_ns: int) -> None:
        met.append((incoming.leaves, resting.leaves))

    desk.hooks.on_self_trade.append(told)
    desk.order(SELL, 10, 20.00, investor_id=5)
    desk.order(BUY, 15, 20.00, investor_id=5)
    assert met == [(15, 10)]


def stop(desk: Desk, side: Any, size: int, stop_price: float, price: float | None = None) -> Any:
    kind = OrderType.STOP if price is None else OrderType.STOP_LIMIT
    return desk.order(side, size, price, type=kind, stop_price=px(stop_price))


def test_elections_chain_event_by_event() -> None:
    desk = sells((10, 20.00), (10, 20.10), (10, 20.20))
    stop(desk, BUY, 10, 20.00)
    stop(desk, BUY, 10, 20.10)
    outcome = desk.order(BUY, 10, 20.00)
    assert [[t.price for t in of(Trade, e.updates)] for e in outcome.events] == [
        [px(20.00)],
        [px(20.10)],
        [px(20.20)],
    ]
    assert desk.engine.floor.orders == {}


def test_stops_of_both_sides_share_an_event_without_an_aggressor() -> None:
    desk = Desk()
    desk.order(SELL, 10, 20.00)
    desk.order(SELL, 10, 20.50)
    desk.order(BUY, 10, 19.50)
    stop(desk, BUY, 5, 20.00)
    stop(desk, SELL, 5, 20.00)
    _, elected = desk.order(BUY, 10, 20.00).events
    summary = elected.updates[0]
    assert isinstance(summary, ExecutionSummary)
    assert (summary.aggressor, summary.fill_size) == (Aggressor.NONE, 10)


def test_an_elected_stop_limit_may_only_rest() -> None:
    desk = sells((10, 20.00))
    stop(desk, BUY, 5, 20.00, 19.00)
    _, elected = desk.order(BUY, 10, 20.00).events
    assert elected == Event(tuple(of(OrderUpdate, elected.updates)))
    assert of(OrderUpdate, elected.updates)[0].action is Action.NEW


def test_a_market_stop_without_an_opposite_ends_unseen() -> None:
    desk = sells((10, 20.00))
    stop(desk, BUY, 5, 20.00)
    assert len(desk.order(BUY, 10, 20.00).events) == 1
    assert desk.engine.market(A).cancelled == 5


@pytest.mark.parametrize("stp", [SelfTrade.CANCEL_AGGRESSOR, SelfTrade.CANCEL_BOTH])
def test_fill_or_kill_does_not_count_what_an_iceberg_hides_behind_an_own_order(stp: SelfTrade) -> None:
    """The iceberg comes back behind the level (13.1.1), so prevention would stop the order before it."""
    desk = Desk()
    desk.order(SELL, 20, 20, max_floor=5, investor_id=1)
    desk.order(SELL, 5, 20, investor_id=7)
    assert desk.order(BUY, 10, 20, investor_id=7, stp=stp, tif=TimeInForce.FOK).events == ()
    assert [row[1] for row in desk.book(SELL)] == [5, 5]
    outcome = desk.order(BUY, 5, 20, investor_id=7, stp=stp, tif=TimeInForce.FOK)
    assert [t.size for t in of(Trade, only_event(outcome))] == [5]
