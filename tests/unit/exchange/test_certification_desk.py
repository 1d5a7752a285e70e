"""What B3's certification script asks of the desk, and the regular day does not."""

from dataclasses import replace

from pregao.exchange import control
from pregao.exchange.catalogues.rules import Index, IndexMember
from pregao.exchange.commands import NewOrder
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.exchange.orders import TimeInForce
from pregao.model.events import Definition, IndexValue, OrderUpdate, StateChanged
from pregao.model.market import Action, Phase, Side, State, StateEvent
from tests.unit.exchange.desk_kit import ABC, DATE, DOL, SECOND, XYZ, Exchange, catalogue, clock

P = 10_0000


def _paused() -> Exchange:
    exchange = Exchange()
    exchange.open_all()
    exchange.do(control.ChangeState(clock("10:01:00"), ABC, State.PAUSE))
    return exchange


def test_a_paused_instrument_goes_straight_to_auction() -> None:
    """Script B2.4 to B2.6: 326=21 with 1174=101, and nothing of the open market in between."""
    exchange = _paused()
    ((told,),) = exchange.do(control.StartAuction(clock("10:02:00"), ABC))
    assert isinstance(told, StateChanged)
    assert (told.state, told.event) == (State.RESERVED, StateEvent.LEAVES_GROUP)
    assert exchange.order("10:03:00", ABC, Side.BUY, 100, P).rejection is None


def test_an_instrument_whose_group_is_paused_does_not() -> None:
    exchange = _paused()
    exchange.phase("10:02:00", Phase.PAUSE, "01")
    assert exchange.submit(control.StartAuction(clock("10:03:00"), ABC)).rejection is not None
    assert exchange.submit(control.StartAuction(clock("10:03:00"), XYZ)).rejection is not None


def test_closing_an_instrument_ends_its_day_orders_from_the_top() -> None:
    """Script B2.11: so that each side goes in one Delete From. Only when told to; GT orders stay."""
    exchange = Exchange()
    exchange.open_all()
    for price in (P, P + 200, P + 100):
        exchange.order("10:01:00", ABC, Side.BUY, 100, price)
    exchange.order("10:01:00", ABC, Side.SELL, 100, P + 300)
    exchange.order("10:01:00", XYZ, Side.BUY, 100, P)
    kept = NewOrder(clock("10:01:01"), ABC, Side.SELL, 100, P + 400, tif=TimeInForce.GTC)
    exchange.do(kept)
    (updates,) = exchange.do(control.ChangeState(clock("10:02:00"), ABC, State.CLOSE, expires=True))
    state, *deleted = updates
    assert isinstance(state, StateChanged)
    assert (state.state, state.event) == (State.CLOSE, StateEvent.LEAVES_GROUP)
    orders = [each for each in deleted if isinstance(each, OrderUpdate)]
    assert [(each.action, each.side, each.position, each.price) for each in orders] == [
        (Action.DELETE, Side.BUY, 1, P + 200),
        (Action.DELETE, Side.BUY, 1, P + 100),
        (Action.DELETE, Side.BUY, 1, P),
        (Action.DELETE, Side.SELL, 1, P + 300),
    ]
    assert len(exchange.engine.market(ABC).book) == 1
    assert len(exchange.engine.market(XYZ).book) == 1


def test_only_a_closing_ends_orders() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.order("10:01:00", ABC, Side.BUY, 100, P)
    refused = exchange.submit(control.ChangeState(clock("10:02:00"), ABC, State.PAUSE, expires=True))
    assert refused.rejection is not None
    exchange.do(control.ChangeState(clock("10:02:00"), ABC, State.CLOSE))
    assert len(exchange.engine.market(ABC).book) == 1


def test_the_match_type_of_a_listed_instrument_changes() -> None:
    """Script B3.1: a definition with SecurityMatchType 8, and back."""
    exchange = Exchange()
    ((told,),) = exchange.do(control.ChangeInstrument(clock("10:00:00"), ABC, buy_back=True))
    assert isinstance(told, Definition)
    assert told.instrument.is_buy_back
    ((told,),) = exchange.do(control.ChangeInstrument(clock("10:01:00"), ABC, buy_back=False))
    assert isinstance(told, Definition)
    assert not told.instrument.is_buy_back
    assert exchange.submit(control.ChangeInstrument(clock("10:02:00"), ABC, buy_back=False)).rejection


def test_index_values_come_again_after_an_interval() -> None:
    """Script B7.3: also where no member has traded."""
    exchange = Exchange(
        replace(catalogue(), indices=(Index(9, "INDEX", 1_000_0000, (IndexMember(ABC, 1),)),))
    )
    engine = Engine(exchange.catalogue.instruments, trade_date=DATE)
    exchange.engine = engine
    exchange.desk = Desk(engine, exchange.catalogue, DATE, index_interval_ns=30 * SECOND)
    exchange.desk.start_indices(clock("10:00:00"))
    exchange.open_all("10:00:00")
    ((first,),) = exchange.run_to(clock("10:00:30"))
    ((second,),) = exchange.run_to(clock("10:01:29"))
    assert isinstance(first, IndexValue)
    assert isinstance(second, IndexValue)
    assert (first.value, second.value) == (1_000_0000, 1_000_0000)
    assert second.sequence == first.sequence + 1
    assert exchange.desk.next_timeout() == clock("10:01:30")


def test_without_an_interval_nothing_is_repeated() -> None:
    exchange = Exchange()
    exchange.open_all()
    assert exchange.desk.next_timeout() is None
    assert exchange.engine.market(DOL) is not None
