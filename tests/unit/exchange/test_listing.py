"""Instruments added, changed and deleted in the session (6.5.8), and what is refused."""

from dataclasses import replace

import pytest

from pregao.exchange.catalogues.rules import Catalogue, Index, IndexMember
from pregao.exchange.commands import RejectReason
from pregao.exchange.control import AddInstrument, ChangeInstrument, DeleteInstrument, StrategyLeg
from pregao.exchange.engine import Command
from pregao.exchange.orders import TimeInForce
from pregao.model.events import Definition, OrderUpdate, PriceBand, QuantityBand, TheoreticalPrice, Trade
from pregao.model.instruments import PriceMethod, SecuritySubType, SecurityType
from pregao.model.market import Action, DefinitionAction, Phase, Side, State
from tests.unit.exchange.desk_kit import ABC, DOL, WDO, XYZ, Exchange, catalogue, clock, listing

NEW, UDS = 77, 78
LEGS = (StrategyLeg(DOL, Side.SELL), StrategyLeg(WDO, Side.BUY, 2))


def open_exchange(entries: Catalogue | None = None) -> Exchange:
    exchange = Exchange(entries)
    exchange.open_all()
    return exchange


def eligible() -> Catalogue:
    """Futures that may be legs of strategies with implied orders."""
    futures = [
        replace(each, instrument=replace(each.instrument, implied=True))
        for each in (listing(DOL), listing(WDO))
    ]
    return catalogue(*futures, pairs=())


def reason(exchange: Exchange, command: Command) -> RejectReason | None:
    before = dict(exchange.engine.floor.markets), dict(exchange.desk.listings.by_symbol)
    outcome = exchange.submit(command)
    if outcome.rejection is None:
        return None
    assert outcome.events == ()
    assert (dict(exchange.engine.floor.markets), dict(exchange.desk.listings.by_symbol)) == before
    return outcome.rejection.reason


def now(minute: int) -> int:
    return clock(f"11:{minute:02}:00")


def test_an_added_instrument_is_told_with_its_bands_and_trades_at_once() -> None:
    exchange = open_exchange()
    told = exchange.do(AddInstrument(now(0), NEW, "NOVO3", ABC, lot=10))
    (definition,) = told[0]
    assert isinstance(definition, Definition)
    assert definition.action is DefinitionAction.ADD
    instrument = definition.instrument
    assert (instrument.symbol, instrument.lot, instrument.group, instrument.isin) == ("NOVO3", 10, "01", None)
    assert all(isinstance(each, PriceBand | QuantityBand) for event in told[1:] for each in event)
    exchange.buy("11:01:00", NEW, 10, 10_0000)
    outcome = exchange.sell("11:01:00", NEW, 10, 10_0000)
    assert [u.size for e in outcome.events for u in e.updates if isinstance(u, Trade)] == [10]


def test_one_added_in_a_pre_open_takes_part_in_its_auction() -> None:
    exchange = Exchange()
    exchange.phase("09:45:00", Phase.PRE_OPEN, "01", ends="10:00:00")
    exchange.do(AddInstrument(clock("09:46:00"), NEW, "NOVO3", ABC))
    assert exchange.engine.trading_state(NEW) is State.RESERVED
    exchange.buy("09:47:00", NEW, 100, 10_0000)
    outcome = exchange.sell("09:47:00", NEW, 100, 10_0000)
    assert any(isinstance(u, TheoreticalPrice) for e in outcome.events for u in e.updates)
    (updates,) = exchange.phase("10:00:00", Phase.OPEN, "01")
    assert [u.security_id for u in updates if isinstance(u, Trade)] == [NEW]


def test_a_user_defined_strategy_is_known_by_its_sub_type_and_has_implied_orders_if_its_legs_may() -> None:
    exchange = open_exchange(eligible())
    exchange.sell("10:01:00", DOL, 9, 10_0000)
    exchange.buy("10:01:00", WDO, 9, 10_0000)
    exchange.do(AddInstrument(now(0), UDS, "UDS1", DOL, legs=LEGS, implied=True))
    instrument = exchange.engine.market(UDS).instrument
    assert (instrument.security_type, instrument.sub_type) == (SecurityType.MLEG, SecuritySubType.STRATEGY)
    assert instrument.strike is None  # 16.1
    (implied,) = exchange.engine.market(UDS).book
    assert (implied.side, implied.price, implied.shown) == (Side.BUY, 10_0000, 4)
    (deleted, told) = exchange.do(DeleteInstrument(now(1), UDS))
    assert [(u.action, u.implied) for u in deleted if isinstance(u, OrderUpdate)] == [(Action.DELETE, True)]
    assert isinstance(told[0], Definition)
    exchange.sell("11:02:00", DOL, 9, 9_9000)  # nothing follows it any more
    individual = AddInstrument(
        now(3), UDS, "UDS1", DOL, legs=LEGS, implied=True, price_method=PriceMethod.INDIVIDUAL
    )
    exchange.do(individual)
    assert len(exchange.engine.market(UDS).book) == 0


def test_a_change_of_lot_or_tick_is_followed_by_implied_orders() -> None:
    exchange = open_exchange(eligible())
    exchange.sell("10:01:00", DOL, 9, 10_0000)
    exchange.buy("10:01:00", WDO, 9, 10_0000)
    exchange.do(AddInstrument(now(0), UDS, "UDS1", DOL, legs=LEGS, implied=True))
    exchange.do(ChangeInstrument(now(1), UDS, lot=3, minimum_quantity=3))
    assert [order.shown for order in exchange.engine.market(UDS).book] == [3]


def test_a_change_is_told_and_holds_at_once() -> None:
    exchange = open_exchange()
    ((told,),) = exchange.do(ChangeInstrument(now(0), ABC, tick=500, description="Nova"))
    assert isinstance(told, Definition)
    assert (told.action, told.instrument.tick) == (DefinitionAction.MODIFY, 500)
    rejection = exchange.buy("11:01:00", ABC, 100, 10_0100).rejection
    assert rejection is not None
    assert rejection.reason is RejectReason.PRICE_INVALID
    assert exchange.desk.surveillance.listings[ABC].instrument is exchange.engine.market(ABC).instrument


def test_a_symbol_may_get_another_instrument_s_id() -> None:
    exchange = open_exchange(eligible())
    exchange.do(AddInstrument(now(0), UDS, "UDS1", DOL, legs=LEGS))
    exchange.do(ChangeInstrument(now(1), DOL, symbol="DOLOLD"))
    told = exchange.do(ChangeInstrument(now(2), WDO, symbol="DOLF24"))
    # The strategy names its legs, so it is told again too.
    names = [u.instrument.symbol for event in told for u in event if isinstance(u, Definition)]
    assert names == ["DOLF24", "UDS1"]
    assert exchange.desk.listings.by_symbol == {"DOLOLD": DOL, "DOLF24": WDO, "UDS1": UDS}
    assert [leg.symbol for leg in exchange.engine.market(UDS).instrument.legs] == ["DOLOLD", "DOLF24"]
    exchange.do(DeleteInstrument(now(3), UDS))
    exchange.do(AddInstrument(now(4), UDS, "WDOF24", DOL))
    assert exchange.desk.listings.by_symbol["WDOF24"] == UDS


def test_an_id_that_comes_back_goes_on_with_its_trade_ids() -> None:
    """tradeIDs are unique for an instrument and a date (13.3): also for its securityID."""
    exchange = open_exchange()
    exchange.do(AddInstrument(now(0), NEW, "NOVO3", ABC))
    exchange.buy("11:01:00", NEW, 100, 10_0000)
    exchange.sell("11:01:00", NEW, 100, 10_0000)
    assert reason(exchange, DeleteInstrument(now(2), NEW)) is RejectReason.TRADES_OPEN
    market = exchange.engine.market(NEW)
    market.statistics.start_over()  # the next session of the same date
    exchange.do(DeleteInstrument(now(3), NEW))
    exchange.do(AddInstrument(now(4), NEW, "OUTRO3", ABC))
    exchange.buy("11:05:00", NEW, 100, 10_0000)
    outcome = exchange.sell("11:05:00", NEW, 100, 10_0000)
    assert [u.trade_id for e in outcome.events for u in e.updates if isinstance(u, Trade)] == [20]


def test_a_deleted_instrument_takes_its_orders_with_it() -> None:
    exchange = open_exchange()
    exchange.do(AddInstrument(now(0), NEW, "NOVO3", ABC))
    exchange.buy("11:01:00", NEW, 100, 10_0000)
    exchange.buy("11:01:00", NEW, 100, 9_0000, tif=TimeInForce.GTC)
    cancelled, told = exchange.do(DeleteInstrument(now(2), NEW))
    assert [u.action for u in cancelled if isinstance(u, OrderUpdate)] == [Action.DELETE] * 2
    assert [u.action for u in told if isinstance(u, Definition)] == [DefinitionAction.DELETE]
    assert not exchange.engine.floor.orders
    assert exchange.engine.trading_state(NEW) is State.CLOSE
    rejection = exchange.buy("11:03:00", NEW, 100, 10_0000).rejection
    assert rejection is not None
    assert rejection.reason is RejectReason.UNKNOWN_INSTRUMENT


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (AddInstrument(now(0), ABC, "NOVO3", XYZ), RejectReason.DUPLICATE_ID),
        (AddInstrument(now(0), NEW, "ABCD3", XYZ), RejectReason.DUPLICATE_SYMBOL),
        (AddInstrument(now(0), NEW, "IDX", XYZ), RejectReason.DUPLICATE_SYMBOL),
        (AddInstrument(now(0), 900, "NOVO3", XYZ), RejectReason.DUPLICATE_ID),
        (AddInstrument(now(0), 10**12, "NOVO3", XYZ), RejectReason.INSTRUMENT_INVALID),
        (AddInstrument(now(0), NEW, "", XYZ), RejectReason.INSTRUMENT_INVALID),
        (AddInstrument(now(0), NEW, "NOVO3", 99), RejectReason.UNKNOWN_INSTRUMENT),
        (AddInstrument(now(0), NEW, "NOVO3", ABC, tick=0), RejectReason.INSTRUMENT_INVALID),
        (
            AddInstrument(now(0), NEW, "NOVO3", ABC, maximum_quantity=1, minimum_quantity=1),
            RejectReason.INSTRUMENT_INVALID,
        ),
        (AddInstrument(now(0), NEW, "UDS1", DOL, legs=LEGS[:1]), RejectReason.INSTRUMENT_INVALID),
        (AddInstrument(now(0), NEW, "UDS1", DOL, legs=(*LEGS, LEGS[0])), RejectReason.INSTRUMENT_INVALID),
        (AddInstrument(now(0), NEW, "UDS1", DOL, legs=LEGS, implied=True), RejectReason.INSTRUMENT_INVALID),
        (
            AddInstrument(now(0), NEW, "UDS1", DOL, legs=(LEGS[0], StrategyLeg(99, Side.BUY))),
            RejectReason.UNKNOWN_INSTRUMENT,
        ),
        (ChangeInstrument(now(0), 99, tick=1), RejectReason.UNKNOWN_INSTRUMENT),
        (ChangeInstrument(now(0), ABC), RejectReason.NOTHING_CHANGED),
        (ChangeInstrument(now(0), ABC, symbol="XYZW3"), RejectReason.DUPLICATE_SYMBOL),
        (ChangeInstrument(now(0), ABC, tick=700), RejectReason.ORDERS_OPEN),
        (ChangeInstrument(now(0), ABC, lot=200), RejectReason.ORDERS_OPEN),
        (ChangeInstrument(now(0), ABC, accepts_gt=False), RejectReason.ORDERS_OPEN),
        (DeleteInstrument(now(0), 99), RejectReason.UNKNOWN_INSTRUMENT),
        (DeleteInstrument(now(0), DOL), RejectReason.INSTRUMENT_IN_USE),  # of a pair
        (DeleteInstrument(now(0), ABC), RejectReason.INSTRUMENT_IN_USE),  # of an index
    ],
)
def test_what_is_refused_is_named_and_changes_nothing(command: Command, expected: RejectReason) -> None:
    entries = catalogue()
    index = Index(900, "IDX", 100_0000, (IndexMember(ABC, 100_0000),))
    exchange = open_exchange(Catalogue(entries.listings, entries.groups, entries.pairs, (index,)))
    exchange.buy("10:01:00", ABC, 100, 10_0000, tif=TimeInForce.GTC)
    assert reason(exchange, command) is expected


def test_legs_and_what_stands_apart_stay() -> None:
    exchange = open_exchange(eligible())
    exchange.do(AddInstrument(now(0), UDS, "UDS1", DOL, legs=LEGS))
    assert reason(exchange, DeleteInstrument(now(1), DOL)) is RejectReason.INSTRUMENT_IN_USE
    exchange.desk.surveillance.phases.leave(UDS, State.PAUSE, now(2))
    assert reason(exchange, DeleteInstrument(now(2), UDS)) is RejectReason.NOT_NOW
