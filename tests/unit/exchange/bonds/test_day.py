"""A day of bonds from a seed: its script, its holidays, and that everything happens."""

from collections import Counter
from datetime import date

import pytest

from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.day import BondDay, Step
from pregao.model.errors import ConfigurationError
from pregao.model.events import StateChanged
from pregao.model.local_time import local_datetime
from pregao.model.market import Action, State, TradeCondition, TradeSubType
from pregao.model.updates import OrderUpdate, TheoreticalPrice, Trade, TradeBusted
from tests.kits.bonds import CATALOGUE, DAY, BookReader


def run(seed: int = 1, orders: int = 1_500, rate_order: RateOrder = RateOrder.MARKET) -> list[Step]:
    day, reader = BondDay(CATALOGUE, DAY, seed=seed, orders=orders, rate_order=rate_order), BookReader()
    steps = []
    for step in day.run():
        reader.read(step[1])
        steps.append(step)
    day.market.check_invariants()
    assert not any(reader.sides.values())
    return steps


@pytest.mark.parametrize("rate_order", RateOrder)
def test_everything_happens_on_a_day(rate_order: RateOrder) -> None:
    steps = run(rate_order=rate_order)
    times = [now_ns for now_ns, _ in steps]
    assert times == sorted(times)
    assert [f"{local_datetime(now_ns):%F %H:%M}" for now_ns in (times[0], times[-1])] == [
        "2026-11-16 09:00", "2026-11-16 17:00",
    ]  # fmt: skip
    updates = [update for _, events in steps for event in events for update in event.updates]
    trades = [update for update in updates if isinstance(update, Trade)]
    conditions = Counter(flag for trade in trades for flag in TradeCondition if trade.condition & flag)
    for flag in (
        TradeCondition.OPENING_PRICE, TradeCondition.AUCTION, TradeCondition.AUCTION_OPENING,
        TradeCondition.LAST_AT_SAME_PRICE,
    ):  # fmt: skip
        assert conditions[flag] > 0
    assert {trade.sub_type for trade in trades} == {None, TradeSubType.RFQ, TradeSubType.VOICE}
    assert any(isinstance(update, TradeBusted) for update in updates)
    assert any(isinstance(update, TheoreticalPrice) for update in updates)
    states = {update.state for update in updates if isinstance(update, StateChanged)}
    assert states == {State.OPEN, State.PAUSE, State.RESERVED}
    orders = [update for update in updates if isinstance(update, OrderUpdate)]
    assert {order.action for order in orders} == {Action.NEW, Action.CHANGE, Action.DELETE}
    assert any((order.price or 0) < 0 for order in orders)
    traded = {trade.security_id for trade in trades}
    assert {CATALOGUE.bonds[number].price_kind for number in traded} == {1, 2, 6, 9}
    assert len(traded) > 70


def test_a_seed_is_a_day() -> None:
    assert run(seed=5, orders=300) == run(seed=5, orders=300)
    assert run(seed=5, orders=300) != run(seed=6, orders=300)


def test_holidays_are_the_nations() -> None:
    for text in ("2026-11-20", "2026-12-25", "2026-11-15"):
        with pytest.raises(ConfigurationError, match="is no business day of bonds"):
            BondDay(CATALOGUE, date.fromisoformat(text))
    for text in ("2026-12-24", "2026-12-31"):
        assert next(BondDay(CATALOGUE, date.fromisoformat(text)).run())
