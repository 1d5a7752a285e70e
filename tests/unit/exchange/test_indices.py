"""Indices follow the trades of their members, and nothing else."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.catalogues.rules import Index, IndexMember
from pregao.exchange.commands import NewOrder
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.exchange.indices import IndexState
from pregao.model.events import IndexValue, Trade
from pregao.model.market import Phase, Side
from tests.unit.exchange import desk_kit as kit

INDEX = Index(99, "TEST", 1000_0000, (IndexMember(kit.ABC, 75_0000), IndexMember(kit.XYZ, 25_0000)))


def exchange() -> tuple[Engine, Desk]:
    catalogue = replace(kit.catalogue(), indices=(INDEX,))
    engine = Engine(catalogue.instruments, trade_date=kit.DATE)
    desk = Desk(engine, catalogue, kit.DATE)
    for group in catalogue.groups:
        engine.submit(kit.control.ChangePhase(kit.clock("10:00:00"), group.code, kit.EXCHANGE, Phase.OPEN))
    return engine, desk


def traded(engine: Engine, security_id: int, price: int, now_ns: int) -> list[IndexValue]:
    """The index values told by a trade at a price."""
    engine.submit(NewOrder(now_ns, security_id, Side.SELL, 100, price=price, firm=1))
    outcome = engine.submit(NewOrder(now_ns + 1, security_id, Side.BUY, 100, price=price, firm=2))
    updates = [update for event in outcome.events for update in event.updates]
    assert any(isinstance(update, Trade) for update in updates)
    return [update for update in updates if isinstance(update, IndexValue)]


def test_a_trade_of_a_member_moves_the_index_by_its_weight() -> None:
    engine, _ = exchange()
    now = kit.clock("10:00:01")
    # Both members closed at 10.00; the first is three quarters of the index.
    (value,) = traded(engine, kit.ABC, 10_2000, now)
    assert (value.security_id, value.value, value.sequence) == (99, 1015_0000, 1)
    (value,) = traded(engine, kit.XYZ, 9_8000, now + kit.SECOND)
    assert (value.value, value.sequence) == (1010_0000, 2)


def test_the_same_price_again_or_another_instrument_says_nothing() -> None:
    engine, _ = exchange()
    now = kit.clock("10:00:01")
    assert traded(engine, kit.ABC, 10_2000, now)
    assert traded(engine, kit.ABC, 10_2000, now + kit.SECOND) == []
    assert traded(engine, kit.DOL, 10_2000, now + 2 * kit.SECOND) == []


@given(st.lists(st.tuples(st.sampled_from([kit.ABC, kit.XYZ]), st.integers(1, 10**7)), max_size=30))
def test_the_running_sum_is_the_formula(trades: list[tuple[int, int]]) -> None:
    state = IndexState(INDEX, {kit.ABC: 10_0000, kit.XYZ: 10_0000})
    last = {kit.ABC: 10_0000, kit.XYZ: 10_0000}
    for security_id, price in trades:
        state.trade(security_id, price)
        last[security_id] = price
    plain = sum(Decimal(m.weight) * last[m.security_id] / 10_0000 for m in INDEX.members) / 100_0000
    assert state.value == pytest.approx(Decimal(INDEX.closing) * plain, abs=1)


def test_the_default_catalogue_has_an_index_that_opens_at_its_closing() -> None:
    catalogue = load_default_catalogue()
    closings = {entry.instrument.security_id: entry.closing for entry in catalogue.listings}
    states = [IndexState(index, closings) for index in catalogue.indices]
    assert [state.value for state in states] == [index.closing for index in catalogue.indices]
    assert states
