"""Statistics, plain and by kernel: the same tests for both, then both under anything."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.books.statistics import Statistics, last_trade_of
from pregao.model import events as e
from pregao.model.market import (
    Action,
    BandType,
    ImbalanceSide,
    LimitType,
    Midpoint,
    Phase,
    PriceKind,
    PriceOrigin,
    Session,
    SettlementKind,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from tests.twins.plain_phases import PlainPhases
from tests.unit.books.making import SECURITY, LivePhases, row_of

DATE, NOW = 20_000, 1_700_000_000_000_000_000
REGULAR = Session.REGULAR
GROUP = ("XX", "BVMF")


class Plain:
    """Statistics and phases of one instrument, in plain Python."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.phases = PlainPhases()
        self.phases.add(SECURITY, *GROUP)

    def apply(self, update: Any) -> None:
        if isinstance(update, e.PhaseChanged):
            effects = self.phases.apply_phase(update)
        elif isinstance(update, e.StateChanged):
            effects = self.phases.apply_state(update)
        else:
            self.statistics.apply(update)
            return
        if effects.forget:
            self.statistics.forget_auction()
        if effects.reset:
            self.statistics.reset_session()
        if isinstance(update, e.StateChanged):
            self.statistics.apply(update)

    @property
    def own(self) -> int:
        return int(self.phases.own(SECURITY) or 0)

    @property
    def phase(self) -> int:
        return int(self.phases.phase_of(SECURITY) or 0)


class Kernel:
    """The same as the program has it."""

    def __init__(self) -> None:
        self.phases = LivePhases()
        self.phases.add(SECURITY, GROUP[0])
        self.store = self.phases.store

    def apply(self, update: Any) -> None:
        if isinstance(update, e.PhaseChanged):
            self.phases.apply_phase(update)
        elif isinstance(update, e.StateChanged):
            self.phases.apply_state(update)
        else:
            assert self.store.apply(row_of(update))[1] == 1

    @property
    def statistics(self) -> Statistics:
        return self.store.statistics(0)

    @property
    def own(self) -> int:
        return self.store.own_state(0)

    @property
    def phase(self) -> int:
        return self.store.group_phase(0)


KEPT = {"plain": Plain, "kernel": Kernel}


@pytest.fixture(params=KEPT)
def kept(request: pytest.FixtureRequest) -> Plain | Kernel:
    made: Plain | Kernel = KEPT[request.param]()
    return made


def trade(trade_id: int = 10, price: int = 100, **more: Any) -> e.Trade:
    made = e.Trade(SECURITY, trade_id, price, 5, DATE, REGULAR, TradeCondition.REGULAR, NOW)
    return replace(made, **{"buyer": 85, "seller": 88, **more})


def state(told: State | None, event: StateEvent | None, date: int = DATE) -> e.StateChanged:
    return e.StateChanged(SECURITY, REGULAR, told, event, date, NOW)


def phase(told: Phase, event: StateEvent | None = None) -> e.PhaseChanged:
    return e.PhaseChanged(*GROUP, REGULAR, told, event, DATE, NOW)


OPENING = e.OpeningPrice(SECURITY, 100, -5, DATE, NOW)
THEORETICAL = e.TheoreticalPrice(SECURITY, 101, 7, DATE, NOW)
HIGH, LOW = e.HighPrice(SECURITY, 110, DATE, NOW), e.LowPrice(SECURITY, 90, DATE, NOW)
TOTALS = e.ExecutionStatistics(SECURITY, REGULAR, DATE, 1000, 99, None, 12, NOW)
IMBALANCE = e.Imbalance(SECURITY, ImbalanceSide.MORE_BUYERS, 300, NOW)
CLOSING = e.ClosingPrice(SECURITY, 100 << 20, DATE, NOW, PriceOrigin.DAILY)
PREVIOUS = e.ClosingPrice(SECURITY, 99 << 20, DATE - 1, NOW, PriceOrigin.PREVIOUS_DAY, DATE - 3)
SETTLEMENT = e.SettlementPrice(
    SECURITY, 100, DATE, NOW, PriceOrigin.DAILY, SettlementKind.UPDATED, PriceKind.PERCENTAGE
)
OPEN_INTEREST = e.OpenInterest(SECURITY, 123, DATE, NOW)
QUANTITY = e.QuantityBand(SECURITY, None, 5000, NOW)
REFERENCE = e.PriceBand(SECURITY, None, NOW, reference_fine=10**10)
HARD = e.PriceBand(SECURITY, BandType.HARD, NOW, LimitType.PRICE, 90, 110)
REJECTION = e.PriceBand(
    SECURITY, BandType.REJECTION, NOW, LimitType.PERCENTAGE, -100, 100, Midpoint.LAST_TRADE
)
ALL = (
    OPENING, THEORETICAL, HIGH, LOW, TOTALS, IMBALANCE, CLOSING, PREVIOUS, SETTLEMENT, OPEN_INTEREST,
    QUANTITY, REFERENCE, HARD, REJECTION,
)  # fmt: skip


class TestFigures:
    def test_each_is_kept_as_told(self, kept: Plain | Kernel) -> None:
        for update in ALL:
            kept.apply(update)
        now = kept.statistics
        assert (now.opening, now.theoretical, now.high, now.low) == (OPENING, THEORETICAL, HIGH, LOW)
        assert (now.totals, now.imbalance, now.open_interest) == (TOTALS, IMBALANCE, OPEN_INTEREST)
        assert (now.closing, now.previous_closing, now.settlement) == (CLOSING, PREVIOUS, SETTLEMENT)
        assert now.quantity_band == QUANTITY

    def test_bands_by_type_13_11(self, kept: Plain | Kernel) -> None:
        for update in (HARD, REFERENCE, REJECTION):
            kept.apply(update)
        moved = replace(HARD, low=80)
        kept.apply(moved)
        now = kept.statistics
        assert now.band(BandType.HARD) == moved
        assert now.band(None) == REFERENCE
        percentage = now.band(BandType.REJECTION)
        assert percentage is not None
        assert percentage.limit_type is LimitType.PERCENTAGE
        assert now.band(BandType.STATIC) is None

    @pytest.mark.parametrize("told", [OPENING, THEORETICAL, HIGH, LOW, IMBALANCE])
    def test_a_delete_takes_it_away(self, kept: Plain | Kernel, told: Any) -> None:
        kept.apply(told)
        assert kept.statistics.latest
        kept.apply(replace(told, action=Action.DELETE))
        assert not kept.statistics.latest

    def test_the_last_trade(self, kept: Plain | Kernel) -> None:
        kept.apply(trade())
        assert kept.statistics.last_trade == last_trade_of(trade())
        for other in (
            trade(11, 1, condition=TradeCondition.OUT_OF_SEQUENCE),  # 13.3, 19
            trade(12, 2, condition=TradeCondition.NONE, sub_type=TradeSubType.LEG),
            trade(13, 3, condition=TradeCondition(1 << 5)),  # how older versions mark a leg
        ):
            kept.apply(other)
        assert kept.statistics.last_trade == last_trade_of(trade())
        block = trade(14, 4, condition=TradeCondition.BLOCK, sub_type=TradeSubType.RFQ)
        kept.apply(block)
        assert kept.statistics.last_trade == last_trade_of(block)

    def test_last_trade_price_13_6(self, kept: Plain | Kernel) -> None:
        told = last_trade_of(trade(20, 55, condition=TradeCondition.NONE, implied=True))
        kept.apply(trade())
        kept.apply(told)
        assert kept.statistics.last_trade == told

    def test_a_bust_takes_the_last_trade_and_invents_none(self, kept: Plain | Kernel) -> None:
        kept.apply(trade())
        kept.apply(e.TradeBusted(SECURITY, 10, 100, 5, DATE - 1, REGULAR, NOW))
        kept.apply(e.TradeBusted(SECURITY, 9, 100, 5, DATE, REGULAR, NOW))
        assert kept.statistics.last_trade == last_trade_of(trade())
        kept.apply(e.TradeBusted(SECURITY, 10, 100, 5, DATE, REGULAR, NOW))
        assert kept.statistics.last_trade is None

    def test_the_price_of_the_day_before_ends_that_of_the_day(self, kept: Plain | Kernel) -> None:
        daily = e.ClosingPrice(SECURITY, 100, DATE, NOW, PriceOrigin.DAILY)
        kept.apply(daily)
        kept.apply(e.ClosingPrice(SECURITY, 90, DATE - 1, NOW, PriceOrigin.PREVIOUS_DAY))
        assert kept.statistics.closing == daily
        kept.apply(e.ClosingPrice(SECURITY, 100, DATE, NOW, PriceOrigin.PREVIOUS_DAY))
        assert kept.statistics.closing is None
        assert kept.statistics.previous_closing is not None

    @pytest.mark.parametrize("by_group", [False, True])
    def test_a_new_session_resets_14_3(self, kept: Plain | Kernel, by_group: bool) -> None:
        kept.apply(phase(Phase.CLOSE))  # so that no auction ends with the session
        for update in (*ALL, trade()):
            kept.apply(update)
        changed = StateEvent.SESSION_CHANGE
        kept.apply(phase(Phase.CLOSE, changed) if by_group else state(State.CLOSE, changed))
        now = kept.statistics
        assert now.opening is now.theoretical is now.high is now.low is now.last_trade is now.totals is None
        assert (now.closing, now.settlement, now.imbalance) == (CLOSING, SETTLEMENT, IMBALANCE)
        assert now.band(None) == REFERENCE


class TestAuctionEnds:
    """13.10."""

    def auction(self, kept: Plain | Kernel) -> None:
        kept.apply(THEORETICAL)
        kept.apply(IMBALANCE)

    def is_kept(self, kept: Plain | Kernel) -> bool:
        now = kept.statistics
        assert (now.theoretical is None) == (now.imbalance is None)
        return now.theoretical is not None

    @pytest.mark.parametrize("auction", [Phase.PRE_OPEN, Phase.FINAL_CLOSING_CALL])
    def test_with_the_group(self, kept: Plain | Kernel, auction: Phase) -> None:
        kept.apply(phase(auction))
        self.auction(kept)
        kept.apply(phase(auction))
        assert self.is_kept(kept)
        kept.apply(phase(Phase.OPEN))
        assert not self.is_kept(kept)

    def test_not_of_an_instrument_that_is_reserved_itself(self, kept: Plain | Kernel) -> None:
        kept.apply(phase(Phase.PRE_OPEN))
        kept.apply(state(State.RESERVED, StateEvent.LEAVES_GROUP))
        self.auction(kept)
        kept.apply(phase(Phase.OPEN))
        assert self.is_kept(kept)
        kept.apply(state(State.OPEN, StateEvent.REJOINS_GROUP))
        assert not self.is_kept(kept)

    def test_rejoining_a_group_in_auction_keeps_it(self, kept: Plain | Kernel) -> None:
        kept.apply(phase(Phase.PRE_OPEN))
        kept.apply(state(State.RESERVED, StateEvent.LEAVES_GROUP))
        self.auction(kept)
        kept.apply(state(State.RESERVED, StateEvent.REJOINS_GROUP))
        assert self.is_kept(kept)


STATES = st.one_of(st.none(), st.sampled_from(State))
UPDATES = st.one_of(
    st.sampled_from(ALL),
    st.sampled_from((OPENING, THEORETICAL, HIGH, LOW, IMBALANCE)).map(
        lambda told: replace(told, action=Action.DELETE)
    ),
    st.builds(
        trade, st.integers(1, 99), st.integers(-5, 99), condition=st.integers(0, 0x7FFF).map(TradeCondition),
        sub_type=st.one_of(st.none(), st.sampled_from(TradeSubType)),
    ),
    st.builds(state, STATES, st.one_of(st.none(), st.sampled_from(StateEvent)), st.integers(DATE, DATE + 1)),
    st.builds(phase, st.sampled_from(Phase), st.sampled_from((None, StateEvent.SESSION_CHANGE))),
)  # fmt: skip


@given(st.lists(UPDATES, max_size=30))
@settings(max_examples=300)
def test_kernel_and_plain_are_equal(updates: list[Any]) -> None:
    plain, kernel = Plain(), Kernel()
    for update in updates:
        plain.apply(update)
        kernel.apply(update)
        assert kernel.statistics == plain.statistics
        assert (kernel.own, kernel.phase) == (plain.own, plain.phase)
    kernel.store.check_invariants()
