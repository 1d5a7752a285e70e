"""New, change, cancel and mass cancel: what is published, what is refused, and that refusals change
nothing. Behaviour by state (14.1) and the hooks."""

from typing import Any

import pytest

from pregao.exchange.commands import (
    CancelOrder,
    ChangeOrder,
    MassCancel,
    NewOrder,
    Rejection,
    RejectReason,
    RlpOrder,
)
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.events import Imbalance, OrderUpdate
from pregao.model.market import Action, ImbalanceSide, State
from tests.unit.exchange.desk import BUY, SELL, A, B, Desk, only_event, px, rows, spread, stock, updates

R = RejectReason


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"security_id": 99}, R.UNKNOWN_INSTRUMENT),
        ({"quantity": 0}, R.QUANTITY_INVALID),
        ({"quantity": -10}, R.QUANTITY_INVALID),
        ({"quantity": 15}, R.QUANTITY_INVALID),
        ({"quantity": 10_000}, R.QUANTITY_INVALID),
        ({"price": None}, R.PRICE_MISSING),
        ({"price": 0}, R.PRICE_INVALID),
        ({"price": -100}, R.PRICE_INVALID),
        ({"price": 101}, R.PRICE_INVALID),
        ({"type": OrderType.MARKET}, R.PRICE_NOT_ALLOWED),
        ({"type": OrderType.STOP_LIMIT}, R.STOP_PRICE_MISSING),
        ({"stop_price": 100}, R.STOP_PRICE_NOT_ALLOWED),
        ({"type": OrderType.STOP_LIMIT, "stop_price": 1}, R.PRICE_INVALID),
        ({"type": OrderType.STOP_LIMIT, "stop_price": px(20)}, R.STOP_PRICE_REACHED),
        ({"type": OrderType.MARKET_ON_AUCTION, "price": None}, R.TYPE_NEEDS_AUCTION),
        ({"max_floor": 0}, R.MAX_FLOOR_INVALID),
        ({"max_floor": 15}, R.MAX_FLOOR_INVALID),
        ({"max_floor": 110}, R.MAX_FLOOR_INVALID),
        ({"max_floor": 10, "tif": TimeInForce.IOC}, R.MAX_FLOOR_INVALID),
        ({"min_quantity": 0}, R.MIN_QUANTITY_INVALID),
        ({"min_quantity": 110}, R.MIN_QUANTITY_INVALID),
        ({"tif": TimeInForce.GTC}, R.GT_NOT_ACCEPTED),
        ({"tif": TimeInForce.IOC, "expire_date": 20_001}, R.EXPIRE_DATE_INVALID),
        ({"expire_date": 20_001}, R.EXPIRE_DATE_INVALID),  # a day order has none either
        ({"type": OrderType.STOP_LIMIT, "stop_price": px(30), "tif": TimeInForce.FOK}, R.TYPE_NEEDS_OPEN),
    ],
)
def test_bad_orders_are_refused(values: dict[str, Any], reason: RejectReason) -> None:
    desk = Desk(stock(A, lot=10, maximum_quantity=1000, accepts_gt=False))
    desk.order(SELL, 10, 20)
    desk.order(BUY, 10, 20)
    command: dict[str, Any] = {"security_id": A, "side": BUY, "quantity": 100, "price": px(10)} | values
    outcome = desk.submit(NewOrder(now_ns=9, **command))
    assert outcome.rejection == Rejection(reason)
    assert outcome.events == ()
    assert desk.engine.floor.orders == {}
    assert outcome.rejection.text == reason.text


@pytest.mark.parametrize(
    ("expire_date", "reason"), [(None, R.EXPIRE_DATE_INVALID), (19_999, R.EXPIRE_DATE_INVALID)]
)
def test_gtd_needs_its_date(expire_date: int | None, reason: RejectReason) -> None:
    desk = Desk()
    refused = desk.order(BUY, 1, 10, tif=TimeInForce.GTD, expire_date=expire_date)
    assert refused.rejection == Rejection(reason)
    assert desk.order(BUY, 1, 10, tif=TimeInForce.GTD, expire_date=20_000).rejection is None


def test_spreads_have_negative_prices() -> None:
    desk = Desk(stock(A), stock(B), spread())
    assert desk.order(BUY, 1, -0.05, security_id=3).rejection is None


def test_unknown_commands_and_codes() -> None:
    class Strange:
        now_ns = 1

    outcome = Desk().submit(Strange())
    assert outcome.rejection == Rejection(R.UNKNOWN_COMMAND, "Strange")
    assert outcome.rejection.text.endswith(": Strange")
    assert R.AUCTION_SYNCHRONISM.code == 7153


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"quantity": 6}, [("CHANGE", 10.0, 6, 1)]),
        ({"quantity": 12}, [("DELETE", 10.0, 10, 1), ("NEW", 10.0, 12, 2)]),
        ({"price": px(9)}, [("DELETE", 10.0, 10, 1), ("NEW", 9.0, 10, 2)]),
        ({"price": px(11)}, [("DELETE", 10.0, 10, 1), ("NEW", 11.0, 10, 1)]),
        ({"price": px(9), "quantity": 5}, [("DELETE", 10.0, 10, 1), ("NEW", 9.0, 5, 2)]),
    ],
)
def test_changes(change: dict[str, Any], expected: list[Any]) -> None:
    desk = Desk()
    first = desk.order(BUY, 10, 10).order_id
    desk.order(BUY, 10, 10)
    event = only_event(desk.submit(ChangeOrder(9, first, **change)))
    assert [(row[0], row[2], row[3], row[5]) for row in rows(event)] == expected
    changed = [u for u in event if isinstance(u, OrderUpdate)]
    assert [u.previous_size for u in changed] == [10 if u.action is Action.CHANGE else None for u in changed]


def test_a_change_that_crosses_trades_in_one_event() -> None:
    desk = Desk()
    desk.order(SELL, 5, 11)
    order_id = desk.order(BUY, 10, 10).order_id
    event = only_event(desk.submit(ChangeOrder(9, order_id, price=px(11))))
    assert [type(u).__name__ for u in event[:2]] == ["ExecutionSummary", "Trade"]
    assert [row[:4] for row in rows(event)] == [
        ("DELETE", "BUY", 10.0, 10),
        ("DELETE", "SELL", 11.0, 5),
        ("NEW", "BUY", 11.0, 5),
    ]
    assert desk.submit(ChangeOrder(9, order_id, quantity=5)).rejection == Rejection(R.QUANTITY_BELOW_EXECUTED)
    assert [row[3] for row in rows(updates(desk.submit(ChangeOrder(9, order_id, quantity=6))))] == [1]


def test_changes_of_icebergs() -> None:
    desk = Desk()
    order_id = desk.order(BUY, 100, 10, max_floor=10).order_id
    unseen = desk.submit(ChangeOrder(9, order_id, quantity=50))
    assert (unseen.events, unseen.rejection) == ((), None)
    assert [r[:1] + r[3:4] for r in rows(updates(desk.submit(ChangeOrder(9, order_id, max_floor=5))))] == [
        ("CHANGE", 5)
    ]
    assert [r[0] for r in rows(updates(desk.submit(ChangeOrder(9, order_id, max_floor=20))))] == [
        "DELETE",
        "NEW",
    ]


def test_stops_change_and_leave_unseen() -> None:
    desk = Desk()
    order_id = desk.order(BUY, 10, 11, type=OrderType.STOP_LIMIT, stop_price=px(11)).order_id
    assert desk.submit(ChangeOrder(9, order_id, stop_price=px(12))).events == ()
    desk.order(SELL, 10, 11)
    assert len(desk.order(BUY, 5, 11).events) == 1  # 11 would have elected it before the change
    gone = desk.submit(CancelOrder(9, order_id))
    assert (gone.events, gone.rejection) == ((), None)


def test_bad_changes_and_cancels() -> None:
    desk = Desk()
    order_id = desk.order(BUY, 10, 10, firm=3).order_id
    hidden = desk.submit(RlpOrder(9, A, BUY, 10, px(10), 3)).order_id
    for command, reason in (
        (ChangeOrder(9, 99, quantity=1), R.UNKNOWN_ORDER),
        (ChangeOrder(9, order_id), R.NOTHING_CHANGED),
        (ChangeOrder(9, order_id, max_floor=1), R.CHANGE_NOT_ALLOWED),
        (ChangeOrder(9, order_id, stop_price=100), R.STOP_PRICE_NOT_ALLOWED),
        (ChangeOrder(9, order_id, quantity=5, firm=4), R.NOT_THE_OWNER),
        (ChangeOrder(9, hidden, quantity=5), R.CHANGE_NOT_ALLOWED),
        (CancelOrder(9, 99), R.UNKNOWN_ORDER),
        (CancelOrder(9, order_id, firm=4), R.NOT_THE_OWNER),
    ):
        assert desk.submit(command).rejection == Rejection(reason)
    assert desk.submit(CancelOrder(9, hidden)).events == ()
    assert desk.submit(CancelOrder(9, order_id, firm=3)).rejection is None


def test_mass_cancel_is_one_event_over_instruments() -> None:
    desk = Desk(stock(A), stock(B))
    for security_id in (A, B):
        for firm in (1, 2):
            desk.order(BUY, 10, 10, security_id=security_id, firm=firm)
            desk.order(SELL, 10, 20, security_id=security_id, firm=firm)
    desk.order(BUY, 10, 15, type=OrderType.STOP_LIMIT, stop_price=px(15), firm=1)
    outcome = desk.submit(MassCancel(9, 1))
    event = only_event(outcome)
    assert [(u.security_id, u.firm) for u in event if isinstance(u, OrderUpdate)] == [(A, 1)] * 2 + [
        (B, 1)
    ] * 2
    assert len(outcome.order_ids) == 5
    assert len(only_event(desk.submit(MassCancel(9, 2, (A,), BUY)))) == 1
    assert desk.submit(MassCancel(9, 8)).events == ()


@pytest.mark.parametrize(
    ("state", "enters", "cancels"),
    [
        (State.OPEN, True, True),
        (State.RESERVED, True, True),
        (State.FINAL_CLOSING_CALL, True, True),
        (State.PAUSE, False, True),
        (State.CLOSE, False, False),
        (State.FORBIDDEN, False, False),
    ],
)
def test_states(state: State, enters: bool, cancels: bool) -> None:
    desk = Desk()
    order_id = desk.order(BUY, 10, 10, firm=2).order_id
    desk.states[A] = state
    entry = desk.order(BUY, 10, 10)
    assert entry.rejection == (None if enters else Rejection(R.STATE_FORBIDS_ENTRY))
    change = desk.submit(ChangeOrder(9, order_id, quantity=9))
    assert change.rejection == (None if enters else Rejection(R.STATE_FORBIDS_ENTRY))
    assert len(desk.submit(MassCancel(9, 2)).events) == cancels
    cancel = desk.submit(CancelOrder(9, order_id)).rejection
    assert cancel == Rejection(R.UNKNOWN_ORDER if cancels else R.STATE_FORBIDS_CANCEL)


def test_auction_books_may_cross_and_take_orders_without_price() -> None:
    desk = Desk()
    desk.states[A] = State.RESERVED
    desk.order(BUY, 10, 21)
    desk.order(SELL, 10, 20)
    event = only_event(desk.order(BUY, 5, type=OrderType.MARKET_ON_AUCTION))
    assert rows(event)[0][:4] == ("NEW", "BUY", None, 5)
    assert rows(event)[0][5] == 1
    assert desk.engine.market(A).book.crossed
    for attributes in ({"type": OrderType.MARKET}, {"price": 20, "tif": TimeInForce.IOC}):
        assert desk.order(BUY, 5, **attributes).rejection == Rejection(R.TYPE_NEEDS_OPEN)  # type: ignore[arg-type]
    assert desk.order(BUY, 5, 20, min_quantity=1).rejection == Rejection(R.TYPE_NEEDS_OPEN)


def test_market_on_close_waits_for_the_closing_call() -> None:
    desk = Desk()
    waiting = desk.order(BUY, 5, type=OrderType.MARKET_ON_CLOSE)
    assert waiting.events == ()
    assert list(desk.engine.market(A).on_close) == [waiting.order_id]
    desk.states[A] = State.FINAL_CLOSING_CALL
    assert rows(only_event(desk.order(BUY, 5, type=OrderType.MARKET_ON_CLOSE)))[0][:4] == (
        "NEW",
        "BUY",
        None,
        5,
    )
    assert desk.submit(CancelOrder(9, waiting.order_id)).events == ()
    assert desk.engine.market(A).on_close == {}


def test_hooks_reject_and_add() -> None:
    desk = Desk()
    balance = Imbalance(A, ImbalanceSide.MORE_BUYERS, 5, 1)
    desk.hooks.on_book_changed.append(lambda market, now_ns: [balance])
    desk.hooks.check_order.append(
        lambda market, order, now_ns: Rejection(R.PRICE_OUTSIDE_HARD_LIMIT) if order.price == px(99) else None
    )
    outcome = desk.order(BUY, 5, 10)
    assert only_event(outcome)[-1] == balance
    assert desk.order(BUY, 5, 99).rejection == Rejection(R.PRICE_OUTSIDE_HARD_LIMIT)
    assert desk.submit(ChangeOrder(9, outcome.order_id, price=px(99))).rejection is not None
    desk.hooks.check_cancel.append(lambda market, order, now_ns: Rejection(R.AUCTION_SYNCHRONISM))
    assert desk.submit(CancelOrder(9, outcome.order_id)).rejection == Rejection(R.AUCTION_SYNCHRONISM)
