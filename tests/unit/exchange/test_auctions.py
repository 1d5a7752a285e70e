"""Running auctions: how they start, are prolonged and end, and what they tell meanwhile."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import control
from pregao.exchange.auction import Levels, Theoretical
from pregao.exchange.auctions import AuctionKind, Auctions, leaves_unpriced
from pregao.exchange.catalogues.rules import AuctionTemplate, BandRule
from pregao.exchange.orders import OrderType, SelfTrade
from pregao.model.events import (
    Event,
    ExecutionStatistics,
    ExecutionSummary,
    HighPrice,
    Imbalance,
    LowPrice,
    OpeningPrice,
    OrderUpdate,
    PhaseChanged,
    StateChanged,
    TheoreticalPrice,
    Trade,
    Update,
)
from pregao.model.market import (
    Action,
    BandType,
    ImbalanceSide,
    LimitType,
    Midpoint,
    Phase,
    State,
    StateEvent,
    TradeCondition,
)
from tests.unit.exchange.desk_kit import ABC, DATE, SECOND, TEMPLATE, XYZ, Exchange, catalogue, clock, listing

MORE_BUYERS, MORE_SELLERS = ImbalanceSide.MORE_BUYERS, ImbalanceSide.MORE_SELLERS


def of(events: tuple[Event, ...] | list[tuple[Update, ...]], *kinds: type) -> list[Update]:
    groups = [event.updates if isinstance(event, Event) else event for event in events]
    return [each for updates in groups for each in updates if isinstance(each, kinds)]


def equities(template: AuctionTemplate = TEMPLATE, *bands: BandRule, liquid: bool = True) -> Exchange:
    return Exchange(
        catalogue(listing(ABC, template, *bands, liquid=liquid), listing(XYZ, template), pairs=())
    )


def opened(*arguments: object, **named: object) -> Exchange:
    exchange = equities(*arguments, **named)  # type: ignore[arg-type]
    exchange.open_all()
    return exchange


def test_theoretical_price_and_imbalance_after_every_change() -> None:
    exchange = equities()
    exchange.phase("09:45:00", Phase.PRE_OPEN, "01", ends="10:00:00")
    first = exchange.buy("09:46:00", ABC, 300, 10_0000)
    assert of(first.events, TheoreticalPrice, Imbalance) == []
    second = exchange.sell("09:46:01", ABC, 200, 9_9000)
    (event,) = second.events
    now_ns = clock("09:46:01")
    assert [type(each) for each in event.updates] == [OrderUpdate, TheoreticalPrice, Imbalance]
    assert event.updates[1:] == (
        TheoreticalPrice(ABC, 10_0000, 200, DATE, now_ns),
        Imbalance(ABC, MORE_BUYERS, 100, now_ns),
    )
    third = exchange.sell("09:46:02", ABC, 100, 10_0100)  # beside the price: nothing new to tell
    assert of(third.events, TheoreticalPrice, Imbalance) == []
    fourth = exchange.sell("09:46:03", ABC, 100, 10_0000)
    assert of(fourth.events, TheoreticalPrice, Imbalance) == [
        TheoreticalPrice(ABC, 10_0000, 300, DATE, clock("09:46:03")),
        Imbalance(ABC, ImbalanceSide.BALANCED, None, clock("09:46:03")),
    ]
    gone = exchange.cancel("09:46:04", first.order_id)
    assert of(gone.events, TheoreticalPrice, Imbalance) == [
        TheoreticalPrice(ABC, None, None, DATE, clock("09:46:04"), Action.DELETE),
        Imbalance(ABC, ImbalanceSide.BALANCED, None, clock("09:46:04"), Action.DELETE),
    ]


def test_the_opening_auction_trades_without_summary_and_opens() -> None:
    exchange = equities()
    exchange.phase("09:45:00", Phase.PRE_OPEN, "01", ends="10:00:00")
    exchange.buy("09:46:00", ABC, 300, None, firm=7)
    exchange.buy("09:46:01", ABC, 200, 10_0000, firm=8)
    exchange.sell("09:46:02", ABC, 400, 9_9000, firm=9)
    (updates,) = exchange.phase("10:00:00", Phase.OPEN, "01")
    assert of([updates], ExecutionSummary) == []
    trades = [each for each in updates if isinstance(each, Trade)]
    assert [(each.price, each.size, each.buyer, each.seller) for each in trades] == [
        (10_0000, 300, 7, 9),
        (10_0000, 100, 8, 9),
    ]
    assert all(each.condition & TradeCondition.OPENING_PRICE for each in trades)
    assert all(each.condition & TradeCondition.REGULAR for each in trades)
    order = [type(each) for each in updates]
    assert order[:3] == [PhaseChanged, Trade, Trade]
    assert order[-4:] == [OpeningPrice, HighPrice, LowPrice, ExecutionStatistics]
    books = [each for each in updates if isinstance(each, OrderUpdate)]
    assert [(each.action, each.size) for each in books] == [
        (Action.DELETE, 300),
        (Action.DELETE, 400),
        (Action.CHANGE, 100),
    ]


def test_leftovers_without_price_are_cancelled_and_limits_rest() -> None:
    exchange = opened(replace(TEMPLATE, maximum_extensions=0))
    exchange.do(control.StartAuction(clock("11:00:00"), ABC))
    exchange.buy("11:00:01", ABC, 300, None)
    exchange.sell("11:00:02", ABC, 100, 10_0000)
    exchange.sell("11:00:03", ABC, 100, 10_5000, max_floor=100)
    exchange.sell("11:00:04", XYZ, 100, 10_5000)
    (updates,) = exchange.run_to(clock("11:05:00"))
    cancelled = [each for each in updates if isinstance(each, OrderUpdate)][-1]
    assert (cancelled.action, cancelled.price, cancelled.size) == (Action.DELETE, None, 100)
    assert len(exchange.engine.market(ABC).book) == 0
    assert len(exchange.engine.market(XYZ).book) == 1


def test_an_iceberg_trades_with_all_it_has() -> None:
    exchange = opened()
    exchange.do(control.StartAuction(clock("11:00:00"), ABC))
    exchange.sell("11:00:01", ABC, 500, 10_0000, max_floor=100)
    told = exchange.buy("11:00:02", ABC, 300, 10_0000)
    assert of(told.events, TheoreticalPrice) == [TheoreticalPrice(ABC, 10_0000, 300, DATE, clock("11:00:02"))]
    (updates,) = exchange.run_to(clock("11:05:00"))
    assert [each.size for each in updates if isinstance(each, Trade)] == [300]
    (left,) = exchange.engine.market(ABC).book
    assert (left.leaves, left.shown) == (200, 100)
    exchange.engine.market(ABC).book.check_invariants(matching=True)


def test_a_self_trade_in_an_illiquid_instrument_starts_an_auction() -> None:
    for liquid in (True, False):
        exchange = opened(liquid=liquid)
        exchange.sell("11:00:00", ABC, 100, 10_0000, investor_id=5)
        outcome = exchange.buy("11:00:01", ABC, 100, 10_0000, investor_id=5, stp=SelfTrade.CANCEL_AGGRESSOR)
        states = of(outcome.events, StateChanged)
        assert len(states) == (0 if liquid else 1)
        running = exchange.desk.surveillance.auctions.get(ABC)
        assert (running is None) is liquid
        assert running is None or running.kind is AuctionKind.SELF_TRADE


def test_an_auction_may_start_with_a_theoretical_price() -> None:
    band = BandRule(BandType.AUCTION, LimitType.PERCENTAGE, -1_0000, 1_0000, Midpoint.LAST_TRADE)
    exchange = opened(TEMPLATE, band)
    exchange.sell("11:00:00", ABC, 100, 10_5000)
    outcome = exchange.buy("11:00:01", ABC, 100, 10_5000)
    # The order, the state, the theoretical price, the imbalance: no two of them one event (4.2.2).
    assert [[type(each) for each in event.updates] for event in outcome.events] == [
        [OrderUpdate],
        [StateChanged],
        [TheoreticalPrice],
        [Imbalance],
    ]
    # At its end the band still protects: prolonged until its extensions are used up, then traded.
    ends = [
        each.ends_ns
        for each in of(exchange.run_to(clock("11:30:00")), StateChanged)
        if isinstance(each, StateChanged)
    ]
    start = clock("11:05:01")
    assert ends == [start + 30 * SECOND, start + 60 * SECOND, start + 90 * SECOND, None]
    assert exchange.engine.market(ABC).statistics.last_price == 10_5000


def test_a_movement_near_the_end_prolongs_and_an_early_one_does_not() -> None:
    exchange = opened()
    exchange.do(control.StartAuction(clock("11:00:00"), ABC))
    exchange.buy("11:01:00", ABC, 900, 10_0000)
    assert of(exchange.sell("11:03:59", ABC, 100, 10_0000).events, StateChanged) == []
    (state,) = of(exchange.sell("11:04:00", ABC, 100, 10_0000).events, StateChanged)
    assert isinstance(state, StateChanged)
    assert (state.event, state.ends_ns) == (StateEvent.LEAVES_GROUP, clock("11:05:30"))
    assert of(exchange.sell("11:05:00", ABC, 100, 10_2000).events, StateChanged) == []  # moved nothing
    for at in ("11:05:10", "11:05:40"):
        (state,) = of(exchange.sell(at, ABC, 100, 10_0000).events, StateChanged)
    assert isinstance(state, StateChanged)
    assert state.ends_ns == clock("11:06:30")
    assert of(exchange.sell("11:06:00", ABC, 100, 10_0000).events, StateChanged) == []  # no more than three
    (updates,) = exchange.run_to(clock("11:06:30"))
    assert isinstance(updates[0], StateChanged)
    assert updates[0].event is StateEvent.REJOINS_GROUP


def test_an_unpriced_order_that_would_be_left_prolongs_the_end() -> None:
    exchange = opened()
    exchange.do(control.StartAuction(clock("11:00:00"), ABC))
    exchange.buy("11:01:00", ABC, 300, None)
    ((state,),) = exchange.run_to(clock("11:05:00"))
    assert isinstance(state, StateChanged)
    assert state.ends_ns == clock("11:05:30")
    assert leaves_unpriced(Levels({}, {10: 5}, unpriced_bids=5), Theoretical(10, 5, 0)) is False
    assert leaves_unpriced(Levels({}, {10: 5}, unpriced_bids=6), Theoretical(10, 5, 1)) is True


def test_a_prolonged_instrument_leaves_its_group_and_comes_back() -> None:
    exchange = equities()
    exchange.phase("09:45:00", Phase.PRE_OPEN, "01", ends="10:00:00")
    exchange.buy("09:50:00", ABC, 100, 10_0000)
    exchange.sell("09:59:30", ABC, 100, 10_0000)
    exchange.phase("10:00:00", Phase.OPEN, "01")
    assert exchange.engine.trading_state(ABC) is State.RESERVED
    assert exchange.engine.trading_state(XYZ) is State.OPEN
    (updates,) = exchange.run_to(clock("10:00:30"))
    assert [type(each) for each in updates[:2]] == [StateChanged, Trade]
    assert exchange.engine.trading_state(ABC) is State.OPEN


def test_final_closing_call_with_moc() -> None:
    exchange = opened()
    exchange.buy("11:00:00", ABC, 100, 10_0000)
    waiting = exchange.sell("12:00:00", ABC, 300, None, type=OrderType.MARKET_ON_CLOSE)
    assert waiting.rejection is None
    assert waiting.events == ()
    (called,) = exchange.phase("16:55:00", Phase.FINAL_CLOSING_CALL, "01", ends="17:00:00")
    assert [type(each) for each in called] == [PhaseChanged, OrderUpdate, TheoreticalPrice, Imbalance]
    entered = called[1]
    assert isinstance(entered, OrderUpdate)
    assert (entered.action, entered.price, entered.size) == (Action.NEW, None, 300)
    assert exchange.buy("16:56:00", ABC, 100, 9_9900).rejection is None
    # The imbalance prolongs this instrument alone, which PRE_CLOSE lets run on.
    told = exchange.phase("17:00:00", Phase.PRE_CLOSE, "01")
    ((state,), (phase,)) = told
    assert isinstance(state, StateChanged)
    assert (state.state, state.ends_ns) == (State.FINAL_CLOSING_CALL, clock("17:00:30"))
    assert isinstance(phase, PhaseChanged)
    exchange.buy("17:00:10", ABC, 100, 9_9000)
    ended = exchange.run_to(clock("17:05:00"))
    trades = [each for each in of(ended, Trade) if isinstance(each, Trade)]
    assert [(each.price, each.size) for each in trades] == [(9_9000, 100)] * 3
    assert len(exchange.engine.market(ABC).book) == 0
    assert exchange.engine.trading_state(ABC) is State.CLOSE


def test_special_auctions_by_command() -> None:
    exchange = opened()
    ((state,),) = exchange.do(control.StartAuction(clock("11:00:00"), ABC, ends_ns=clock("11:02:00")))
    assert isinstance(state, StateChanged)
    assert (state.state, state.event, state.ends_ns) == (
        State.RESERVED,
        StateEvent.LEAVES_GROUP,
        clock("11:02:00"),
    )
    assert exchange.submit(control.StartAuction(clock("11:00:30"), ABC)).rejection is not None
    assert exchange.submit(control.RejoinGroup(clock("11:00:30"), ABC)).rejection is not None
    ((state,),) = exchange.do(control.ExtendAuction(clock("11:01:00"), ABC, 60 * SECOND))
    assert isinstance(state, StateChanged)
    assert state.ends_ns == clock("11:03:00")
    ((state,),) = exchange.do(control.EndAuction(clock("11:01:30"), ABC))
    assert isinstance(state, StateChanged)
    assert (state.state, state.event) == (State.OPEN, StateEvent.REJOINS_GROUP)
    assert exchange.desk.next_timeout() is None


@pytest.mark.parametrize("seed", range(5))
def test_a_random_end_is_within_its_span_and_from_the_seed(seed: int) -> None:
    template = replace(TEMPLATE, random_end_ns=20 * SECOND)
    closes = []
    for _ in range(2):
        exchange = Exchange(catalogue(listing(ABC, template), listing(XYZ, template), pairs=()), seed=seed)
        exchange.open_all()
        for security_id in (ABC, XYZ):
            exchange.do(control.StartAuction(clock("11:00:00"), security_id))
        found = [exchange.desk.surveillance.auctions.get(each) for each in (ABC, XYZ)]
        closes.append([running.closes_ns for running in found if running is not None])
    assert closes[0] == closes[1]
    assert all(clock("11:05:00") <= each <= clock("11:05:20") for each in closes[0] if each is not None)
    assert closes[0][0] != closes[0][1]


moves = st.lists(
    st.tuples(st.integers(0, 40), st.one_of(st.none(), st.tuples(st.integers(1, 3), st.integers(1, 3)))),
    max_size=40,
)


@given(moves, st.integers(0, 4))
def test_extensions_are_bounded_and_only_for_movements_near_the_end(
    steps: list[tuple[int, tuple[int, int] | None]], most: int
) -> None:
    auctions, now_ns = Auctions(), 0
    template = AuctionTemplate("t", 100, 10, most, 30, 0)
    running = auctions.start(1, AuctionKind.SPECIAL, template, 0, ends_ns=100)
    for wait, found in steps:
        now_ns += wait
        if running.closes_ns is None or now_ns >= running.closes_ns:
            break
        before, was = running.ends_ns, running.theoretical
        told = auctions.observe(1, None if found is None else Theoretical(*found, 0), DATE, now_ns)
        moved = auctions.moved_near_end(1, now_ns)
        assert before is not None
        assert any(isinstance(each, TheoreticalPrice) for each in told) is (was != running.theoretical)
        assert moved is (was != running.theoretical and before - 30 <= now_ns and running.extensions < most)
        if moved:
            assert auctions.extend(1, now_ns) == before + 10
            assert not auctions.moved_near_end(1, now_ns)
    assert running.extensions <= most
    assert running.ends_ns == 100 + 10 * running.extensions
    assert auctions.next_timeout() == running.closes_ns
