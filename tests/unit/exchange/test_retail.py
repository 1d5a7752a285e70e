"""Retail orders and their own firm's hidden RLP orders: one event with the book (13.1, 13.3.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import commands as c
from pregao.exchange.engine import CommandOutcome
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.events import ExecutionSummary, OrderUpdate, Trade
from pregao.model.market import Aggressor, Side, State, TradeSubType
from tests.unit.exchange.desk import BUY, SELL, A, Desk, of, only_event, px

RLP = TradeSubType.RLP


def desk(*offers: tuple[int, float]) -> Desk:
    made = Desk()
    for quantity, price in offers:
        made.order(SELL, quantity, price, firm=5)
    return made


def provide(market: Desk, quantity: int, price: float, firm: int = 8, side: Side = SELL) -> None:
    outcome = market.submit(c.RlpOrder(market.tick(), A, side, quantity, px(price), firm))
    assert (outcome.rejection, outcome.events) == (None, ())


def traded(outcome: CommandOutcome) -> list[tuple[float, int, TradeSubType | None]]:
    assert outcome.rejection is None
    trades = [t for event in outcome.events for t in of(Trade, event.updates)]
    return [(t.price / 10_000, t.size, t.sub_type) for t in trades]


def test_a_retail_order_does_not_trade_past_its_own_firm_s_provider() -> None:
    market = desk((100, 38.26))
    provide(market, 100, 38.25)
    assert traded(market.order(BUY, 50, 38.26, firm=8, retail=True)) == [(38.25, 50, RLP)]


def test_one_event_has_the_provider_and_the_book() -> None:
    market = desk((10, 38.24), (10, 38.26), (10, 38.27))
    provide(market, 15, 38.26)
    provide(market, 5, 38.25)
    event = only_event(market.order(BUY, 60, 38.27, firm=8, retail=True))
    summary, *rest = event
    trades = of(Trade, rest)
    assert [(t.price / 10_000, t.size, t.sub_type) for t in trades] == [
        (38.24, 10, None), (38.25, 5, RLP), (38.26, 10, None), (38.26, 15, RLP), (38.27, 10, None),
    ]  # fmt: skip
    assert [(t.buyer, t.seller) for t in trades if t.sub_type is RLP] == [(8, 8)] * 2
    assert isinstance(summary, ExecutionSummary)
    assert (summary.aggressor, summary.fill_size, summary.hidden_size) == (Aggressor.BUY, 50, 20)
    assert [(u.action.name, u.size) for u in of(OrderUpdate, rest)] == [("DELETE", 10)] * 3 + [("NEW", 10)]
    assert not market.engine.market(A).hidden


def test_the_last_price_of_a_mixed_event_is_not_always_its_worst() -> None:
    """13.1 as 2.2.0.1 words it: two elected stops, of which the second meets its own firm's provider."""
    market = desk((10, 38.25), (10, 38.30))
    provide(market, 10, 38.27)
    for firm, retail in ((3, False), (8, True)):
        stop = {"type": OrderType.STOP, "stop_price": px(38.25), "firm": firm, "retail": retail}
        assert market.order(BUY, 10, **stop).events == ()
    _, elected = market.order(BUY, 10, 38.25).events
    summary, *rest = elected.updates
    assert [(t.price / 10_000, t.sub_type) for t in of(Trade, rest)] == [(38.30, None), (38.27, RLP)]
    assert isinstance(summary, ExecutionSummary)
    assert summary.last_price == px(38.27) < max(t.price for t in of(Trade, rest))


@pytest.mark.parametrize(("firm", "retail"), [(8, False), (7, True), (7, False)])
def test_nobody_else_meets_it(firm: int, retail: bool) -> None:
    market = desk((100, 38.26))
    provide(market, 100, 38.25)
    assert traded(market.order(BUY, 50, 38.26, firm=firm, retail=retail)) == [(38.26, 50, None)]


def test_a_retail_order_that_rests_is_not_met_by_a_provider_that_comes() -> None:
    market = desk((10, 38.26))
    market.order(BUY, 50, 38.25, firm=8, retail=True)
    provide(market, 100, 38.25)
    assert market.book(BUY)[0][1:] == (50, 38.25)
    # Changed, it comes again; and it meets what it would have rested before.
    order = next(o for o in market.engine.floor.orders.values() if o.side is BUY)
    outcome = market.submit(c.ChangeOrder(market.tick(), order.order_id, quantity=60))
    assert traded(outcome) == [(38.25, 60, RLP)]


def test_a_provider_is_met_without_a_book_and_not_beyond_the_limit() -> None:
    market = desk()
    provide(market, 100, 38.25)
    assert traded(market.order(BUY, 50, 38.24, firm=8, retail=True)) == []
    assert traded(market.order(BUY, 50, 38.25, firm=8, retail=True)) == [(38.25, 50, RLP)]


def test_its_price_is_held_to_the_spread() -> None:
    market = desk((10, 38.26))
    market.order(BUY, 10, 38.24, firm=5)
    provide(market, 10, 38.20)
    provide(market, 10, 38.30, side=BUY)
    retail = {"firm": 8, "retail": True, "type": OrderType.MARKET, "tif": TimeInForce.IOC}
    assert traded(market.order(BUY, 10, **retail)) == [(38.24, 10, RLP)]
    assert traded(market.order(SELL, 10, **retail)) == [(38.26, 10, RLP)]


@pytest.mark.parametrize(("quantity", "filled"), [(25, 25), (26, 0)])
def test_fill_or_kill_counts_the_provider(quantity: int, filled: int) -> None:
    market = desk((10, 38.26))
    provide(market, 15, 38.26)
    outcome = market.order(BUY, quantity, 38.26, firm=8, retail=True, tif=TimeInForce.FOK)
    assert sum(size for _, size, _ in traded(outcome)) == filled


def test_the_band_holds_for_providers_too() -> None:
    market = desk((10, 38.26))
    provide(market, 15, 38.25)
    market.hooks.trade_ranges.append(lambda _: (0, px(38.24)))
    refused: list[int] = []
    market.hooks.on_trade_refused.append(lambda market, order, price, now_ns: refused.append(price))
    assert traded(market.order(BUY, 10, 38.26, firm=8, retail=True, tif=TimeInForce.IOC)) == []
    assert refused == [px(38.25)]


def test_there_is_no_provider_in_an_auction() -> None:
    market = desk()
    provide(market, 15, 38.25)
    market.states[A] = State.RESERVED
    assert traded(market.order(BUY, 10, 38.26, firm=8, retail=True)) == []


rows = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 6)), max_size=6)


@given(rows, rows, st.integers(1, 60), st.integers(0, 6))
def test_fills_are_the_plain_merge_of_book_and_providers(
    offers: list[tuple[int, int]], hidden: list[tuple[int, int]], quantity: int, limit: int
) -> None:
    """All there is by price, what is seen before what is not, each in the order it came."""
    market = desk(*((size, 20 + ticks / 100) for size, ticks in offers))
    for size, ticks in hidden:
        provide(market, size, 20 + ticks / 100)
    expected: list[tuple[float, int, TradeSubType | None]] = []
    left = quantity
    for sub_type, ticks, size in sorted(
        [(None, ticks, size) for size, ticks in offers] + [(RLP, ticks, size) for size, ticks in hidden],
        key=lambda row: (row[1], row[0] is not None),
    ):
        if left and ticks <= limit:
            expected.append((20 + ticks / 100, min(left, size), sub_type))
            left -= min(left, size)
    found = traded(market.order(BUY, quantity, 20 + limit / 100, firm=8, retail=True))
    assert found == [(pytest.approx(price), size, kind) for price, size, kind in expected]
