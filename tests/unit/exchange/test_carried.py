"""What outlives a restart of the platform (12.1, 13.3, 14)."""

from dataclasses import replace

import pytest

from pregao.exchange.carried import CarriedState, carry_over, restore
from pregao.exchange.commands import CancelOrder
from pregao.exchange.engine import Engine
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.instruments import Instrument
from tests.unit.exchange.desk import BUY, SELL, SPREAD, A, B, Desk, spread, stock

DATE = 20_000
GTC = {"tif": TimeInForce.GTC}


def traded_desk() -> Desk:
    desk = Desk(stock(A), stock(B), spread(), trade_date=DATE)
    desk.order(BUY, 1, 10, **GTC)
    desk.order(BUY, 20, 10, max_floor=5, investor_id=7, firm=9, client_order_id="x", **GTC)
    desk.order(BUY, 3, 10)  # a day order
    desk.order(BUY, 4, 10, tif=TimeInForce.GTD, expire_date=DATE + 1)
    desk.order(SELL, 6, 11, **GTC)
    desk.order(SELL, 3, 10)  # takes the first and two of the iceberg
    desk.order(SELL, 2, type=OrderType.STOP, stop_price=90_000, **GTC)
    desk.order(SELL, 7, 12, security_id=B, **GTC)
    return desk


def restarted(carried: CarriedState, *instruments: Instrument, trade_date: int = DATE) -> tuple[Desk, int]:
    desk = Desk(*instruments or (stock(A), stock(B), spread()), trade_date=trade_date)
    return desk, len(restore(desk.engine, carried, trade_date))


def public(engine: Engine, security_id: int) -> list[tuple[int, int, int | None]]:
    orders = [o for o in engine.market(security_id).book if not o.implied and o.survives_session]
    return [(o.secondary_id, o.shown, o.price) for o in orders]


def test_good_till_orders_have_their_place_and_their_ids() -> None:
    before = traded_desk()
    after, left = restarted(carry_over(before.engine, (5,)))
    assert left == 0
    for security_id in (A, B):
        assert public(after.engine, security_id) == public(before.engine, security_id)
        market = after.engine.market(security_id)
        market.book.check_invariants(matching=True)
        resting = sum(o.leaves for o in after.engine.floor.orders.values() if o.security_id == security_id)
        assert market.entered == resting
    (iceberg,) = [o for o in after.engine.floor.orders.values() if o.max_floor]
    assert (iceberg.executed, iceberg.leaves, iceberg.investor_id, iceberg.firm) == (2, 18, 7, 9)
    assert iceberg.client_order_id == "x"
    assert after.engine.market(A).stops.count == 1
    assert after.submit(CancelOrder(1, iceberg.order_id)).rejection is None


def test_numbers_go_on() -> None:
    before = traded_desk()
    carried = carry_over(before.engine, ())
    known = set(before.engine.floor.orders)
    after, _ = restarted(carried)
    outcome = after.order(BUY, 1, 9)
    assert outcome.order_id not in known
    assert after.book(BUY)[-1][0] > max(o.secondary_id for o in before.engine.floor.orders.values())
    last = before.engine.market(A).trade_ids.last
    assert after.engine.market(A).trade_ids.next() == last + 10  # the same date: unique for it
    tomorrow, _ = restarted(carried, trade_date=DATE + 1)
    assert tomorrow.engine.market(A).trade_ids.next() == 10
    # Implied orders come again as soon as something moves, above all others.
    assert after.order(BUY, 5, 9.5, security_id=B).rejection is None
    assert after.book(SELL, SPREAD) == after.book(BUY, SPREAD) == [] or all(
        row[0] > 1 << 62 for side in (BUY, SELL) for row in after.book(side, SPREAD)
    )


def test_another_segment_gives_new_ids_in_the_old_order() -> None:
    before = traded_desk()
    after, left = restarted(carry_over(before.engine, ()), stock(A, segment=2), stock(B))
    assert left == 0
    ids = [row[0] for row in public(after.engine, A)]
    assert all(each >> 40 == 2 for each in ids)
    # A new place shows anew what an iceberg shows, as a move to another segment does (12.1).
    assert [row[1] for row in public(after.engine, A)] == [5, 4, 6]


@pytest.mark.parametrize(
    ("instrument", "date", "left"),
    [
        (stock(B), DATE, 4),  # A is gone
        (stock(A), DATE + 2, 2),  # B is gone, and one is past its date
        (replace(stock(A), accepts_gt=False), DATE, 5),
        (replace(stock(A), tick=70_000), DATE, 5),
    ],
)
def test_what_cannot_be_restored_is_named(instrument: Instrument, date: int, left: int) -> None:
    carried = carry_over(traded_desk().engine, ())
    assert len(carried.orders) == 5
    assert restarted(carried, instrument, trade_date=date)[1] == left
