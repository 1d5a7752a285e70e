"""The market of bonds: books by price kind, auctions, casadas, requests for quotes, voice trades."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.market import BondMarket
from pregao.exchange.bonds.pricing import PricingError, unit_price
from pregao.exchange.commands import RejectReason
from pregao.model.errors import ConfigurationError
from pregao.model.events import StateChanged
from pregao.model.fixed_income import BondKind
from pregao.model.market import Action, BandType, PriceOrigin, Side, State, TradeCondition, TradeSubType
from pregao.model.updates import (
    ClosingPrice,
    ExecutionStatistics,
    HighPrice,
    LowPrice,
    OpeningPrice,
    PriceBand,
    TheoreticalPrice,
    Trade,
    TradeBusted,
)
from tests.kits.bonds import (
    CASADA,
    CATALOGUE,
    CRI,
    DEB,
    FIXINGS,
    FUTURE,
    LFT,
    LTN,
    NOW,
    PERCENT,
    market,
    updates,
)

BUY, SELL = Side.BUY, Side.SELL


def opened(*numbers: int, rate_order: RateOrder = RateOrder.MARKET) -> BondMarket:
    made = market(rate_order)
    for number in numbers:
        made.submit(c.ChangeTradingState(NOW, number, State.OPEN))
    return made


def enter(made: BondMarket, number: int, side: Side, price: str, size: int, firm: int = 1) -> list[object]:
    return updates(made.submit(c.EnterOrder(NOW, number, side, cents(price), size, firm)))


def cents(price: str) -> int:
    return int(Decimal(price) * PERCENT)


def prices(made: BondMarket, number: int, side: Side) -> list[int]:
    return [order.price for order in made.floor.listed[number].book.sides[side].orders]


@pytest.mark.parametrize(
    ("number", "order", "bids", "offers"),
    [
        (LTN, RateOrder.MARKET, ["13.10", "13.20", "13.30"], ["13.05", "13.04", "12.90"]),
        (CASADA, RateOrder.MARKET, ["13.10", "13.20", "13.30"], ["13.05", "13.04", "12.90"]),
        (LTN, RateOrder.PLAIN, ["13.05", "13.04", "12.90"], ["13.10", "13.20", "13.30"]),
        (DEB, RateOrder.MARKET, ["13.05", "13.04", "12.90"], ["13.10", "13.20", "13.30"]),
    ],
)
def test_the_better_bid_is_the_lower_rate_and_the_higher_price(
    number: int, order: RateOrder, bids: list[str], offers: list[str]
) -> None:
    made = opened(LTN, CASADA, DEB, rate_order=order)
    for price in (bids[1], bids[2], bids[0]):
        assert enter(made, number, BUY, price, 1000)
    for price in (offers[2], offers[0], offers[1]):
        assert enter(made, number, SELL, price, 1000)
    assert prices(made, number, BUY) == [cents(price) for price in bids]
    assert prices(made, number, SELL) == [cents(price) for price in offers]
    # An order at the best of the other side trades with it, at its price.
    trade = next(each for each in enter(made, number, BUY, offers[0], 1000, 2) if isinstance(each, Trade))
    assert (trade.price, trade.size, trade.buyer, trade.seller) == (cents(offers[0]), 1000, 2, 1)


def test_an_order_takes_better_rates_first_then_time_and_rests_with_the_rest() -> None:
    made = opened(LTN)
    enter(made, LTN, SELL, "13.10", 1000, 1)
    enter(made, LTN, SELL, "13.20", 2000, 2)
    enter(made, LTN, SELL, "13.20", 1000, 3)
    told = enter(made, LTN, BUY, "13.15", 4000, 9)
    trades = [(each.price, each.size, each.seller) for each in told if isinstance(each, Trade)]
    assert trades == [(cents("13.20"), 2000, 2), (cents("13.20"), 1000, 3)]
    assert prices(made, LTN, BUY) == [cents("13.15")]
    assert prices(made, LTN, SELL) == [cents("13.10")]
    figures = next(each for each in reversed(told) if isinstance(each, ExecutionStatistics))
    unit = unit_price(BondKind.LTN, FIXINGS.settlement, date(2030, 1, 1), Decimal("13.20"))
    assert (figures.volume, figures.trades, figures.vwap) == (3000, 2, cents("13.20"))
    assert figures.value == int((unit * 2000).quantize(Decimal("0.01"), "ROUND_DOWN") * PERCENT) + int(
        (unit * 1000).quantize(Decimal("0.01"), "ROUND_DOWN") * PERCENT
    )
    kinds = [type(each) for each in told]
    assert kinds.count(OpeningPrice) == kinds.count(HighPrice) == kinds.count(LowPrice) == 1


def test_changes_keep_the_place_only_for_less() -> None:
    made = opened(LTN)
    first = made.submit(c.EnterOrder(NOW, LTN, BUY, cents("13.1"), 3000, 1)).number or 0
    second = made.submit(c.EnterOrder(NOW, LTN, BUY, cents("13.1"), 3000, 2)).number or 0
    less = updates(made.submit(c.AmendOrder(NOW, first, cents("13.1"), 1000, 1)))
    assert [(each.action, each.size, each.previous_size, each.position) for each in less] == [
        (Action.CHANGE, 1000, 3000, 1)
    ]
    more = made.submit(c.AmendOrder(NOW, first, cents("13.1"), 2000, 1))
    assert [(each.action, each.position) for each in updates(more)] == [(Action.DELETE, 1), (Action.NEW, 2)]
    assert (more.number or 0) > second
    assert made.submit(c.AmendOrder(NOW, first, cents("13.1"), 2000, 1)).rejection is not None
    assert updates(made.submit(c.WithdrawOrder(NOW, second, 2)))[0].action is Action.DELETE
    made.check_invariants()


def test_what_is_not_taken_changes_nothing() -> None:
    made = opened(LTN, DEB, LFT)
    order = made.submit(c.EnterOrder(NOW, LTN, BUY, cents("13.1"), 3000, 1)).number or 0
    reasons = {
        c.EnterOrder(NOW, 7, BUY, cents("13"), 1000, 1): RejectReason.UNKNOWN_INSTRUMENT,
        c.EnterOrder(NOW, LTN, BUY, cents("13.00001"), 1000, 1): RejectReason.PRICE_INVALID,
        c.EnterOrder(NOW, LTN, BUY, cents("-1"), 1000, 1): RejectReason.PRICE_INVALID,
        c.EnterOrder(NOW, LFT, BUY, cents("-100"), 1000, 1): RejectReason.PRICE_INVALID,
        c.EnterOrder(NOW, LTN, BUY, cents("13"), 1500, 1): RejectReason.QUANTITY_INVALID,
        c.EnterOrder(NOW, LTN, BUY, cents("13"), 51000, 1): RejectReason.QUANTITY_INVALID,
        c.AmendOrder(NOW, order, cents("13.1"), 3000, 1): RejectReason.NOTHING_CHANGED,
        c.AmendOrder(NOW, order, cents("13.2"), 3000, 2): RejectReason.NOT_THE_OWNER,
        c.WithdrawOrder(NOW, 99, 1): RejectReason.UNKNOWN_ORDER,
        c.CancelTrade(NOW, LTN, 1): RejectReason.UNKNOWN_TRADE,
        c.ChangeTradingState(NOW, 99, State.OPEN): RejectReason.UNKNOWN_INSTRUMENT,
        c.ChangeTradingState(NOW, LTN, State.FORBIDDEN): RejectReason.NOT_NOW,
        c.SetTunnel(NOW, LTN, BandType.HARD, 2, 1): RejectReason.PRICE_INVALID,
    }
    for command, reason in reasons.items():
        outcome = made.submit(command)
        assert outcome.rejection is not None
        assert (outcome.rejection.reason, outcome.events) == (reason, ())
    assert prices(made, LTN, BUY) == [cents("13.1")]
    assert enter(made, LFT, BUY, "-0.01", 1000)  # a rate that may be negative
    made.check_invariants()


def test_a_tunnel_is_told_and_holds() -> None:
    made = opened(LTN)
    told = updates(made.submit(c.SetTunnel(NOW, LTN, BandType.REJECTION, cents("12"), cents("14"))))
    assert [(each.type, each.low, each.high) for each in told if isinstance(each, PriceBand)] == [
        (BandType.REJECTION, cents("12"), cents("14"))
    ]
    rejection = made.submit(c.EnterOrder(NOW, LTN, BUY, cents("14.01"), 1000, 1)).rejection
    assert rejection is not None
    assert rejection.reason is RejectReason.PRICE_OUTSIDE_REJECTION_BAND
    assert enter(made, LTN, BUY, "14", 1000)


def test_a_pre_open_gathers_and_uncrosses_at_one_price() -> None:
    made = market()
    assert not any(isinstance(each, TheoreticalPrice) for each in enter(made, LTN, BUY, "13.30", 3000, 1))
    told = enter(made, LTN, SELL, "13.32", 2000, 2)
    assert [(each.price, each.size) for each in told if isinstance(each, TheoreticalPrice)] == [
        (cents("13.30"), 2000)
    ]
    enter(made, LTN, BUY, "13.31", 1000, 3)
    opening = updates(made.submit(c.ChangeTradingState(NOW, LTN, State.OPEN)))
    assert isinstance(opening[0], StateChanged)
    trades = [each for each in opening if isinstance(each, Trade)]
    assert {each.price for each in trades} == {cents("13.30")}
    assert [(each.size, each.condition) for each in trades] == [(2000, TradeCondition.AUCTION_OPENING)]
    assert [each.action for each in opening if isinstance(each, TheoreticalPrice)] == [Action.DELETE]
    # A second auction of the day is no opening any more.
    made.submit(c.ChangeTradingState(NOW, LTN, State.RESERVED))
    enter(made, LTN, SELL, "13.40", 1000, 2)
    again = updates(made.submit(c.ChangeTradingState(NOW, LTN, State.OPEN)))
    conditions = [each.condition for each in again if isinstance(each, Trade)]
    assert conditions
    assert all(condition & TradeCondition.AUCTION for condition in conditions)
    assert not any(condition & TradeCondition.AUCTION_OPENING for condition in conditions)
    made.check_invariants()


def test_an_auction_is_told_with_its_end() -> None:
    """342 (1.3.3); a time that has passed, or a state that is no auction, has none."""
    made = BondMarket(CATALOGUE, FIXINGS)
    told = [each for event in made.open_day(NOW, NOW + 9) for each in event.updates]
    assert {each.ends_ns for each in told if isinstance(each, StateChanged)} == {NOW + 9}
    changes = [(State.OPEN, NOW + 9), (State.RESERVED, NOW + 5), (State.PAUSE, NOW + 5), (State.RESERVED, 0)]
    found = []
    for state, ends_ns in [*changes, (State.OPEN, 0), (State.RESERVED, NOW - 1)]:
        [update] = updates(made.submit(c.ChangeTradingState(NOW, DEB, state, ends_ns)))
        assert isinstance(update, StateChanged)
        found.append(update.ends_ns)
    assert found == [None, NOW + 5, None, None, None, None]


def test_a_casada_is_halted_with_a_leg_and_trades_alone() -> None:
    made = opened(LTN, CASADA)
    enter(made, CASADA, BUY, "0.05", 1000)
    for leg in (LTN, FUTURE):
        halted = updates(made.submit(c.ChangeTradingState(NOW, leg, State.PAUSE)))
        assert (CASADA, State.PAUSE) in [
            (each.security_id, each.state) for each in halted if isinstance(each, StateChanged)
        ]
        rejection = made.submit(c.EnterOrder(NOW, CASADA, SELL, cents("0.05"), 1000, 2)).rejection
        assert rejection is not None
        assert rejection.reason is RejectReason.STATE_FORBIDS_ENTRY
        resumed = updates(made.submit(c.ChangeTradingState(NOW, leg, State.OPEN)))
        assert (CASADA, State.OPEN) in [(each.security_id, each.state) for each in resumed]
    told = enter(made, CASADA, SELL, "0.05", 1000, 2)
    assert {each.security_id for each in told} == {CASADA}
    figures = next(each for each in told if isinstance(each, ExecutionStatistics))
    unit = unit_price(BondKind.LTN, FIXINGS.settlement, date(2030, 1, 1), Decimal("13.30"))
    assert figures.value == int(unit * 1000 * 100) * 10**6
    # Its own halt stands when the leg resumes.
    made.submit(c.ChangeTradingState(NOW, CASADA, State.PAUSE))
    made.submit(c.ChangeTradingState(NOW, LTN, State.PAUSE))
    assert [
        each.security_id for each in updates(made.submit(c.ChangeTradingState(NOW, LTN, State.OPEN)))
    ] == [LTN]


def test_a_request_for_quotes_ends_in_one_trade_of_volume_only() -> None:
    made = opened(LTN)
    request = made.submit(c.RequestQuote(NOW, LTN, BUY, 60000, 1, (2, 3), NOW + 100))
    assert request.events == ()
    number = request.number or 0
    quote = made.submit(c.AnswerQuote(NOW + 1, number, cents("13.2"), 2)).number or 0
    better = made.submit(c.AnswerQuote(NOW + 2, number, cents("13.25"), 3)).number or 0
    stranger = made.submit(c.AnswerQuote(NOW + 2, number, cents("13.25"), 4)).rejection
    assert stranger is not None
    wrong = made.submit(c.AcceptQuote(NOW + 3, number, better, 9)).rejection
    assert wrong is not None
    assert wrong.reason is RejectReason.NOT_THE_OWNER
    told = updates(made.submit(c.AcceptQuote(NOW + 4, number, better, 1)))
    trade = told[0]
    assert (trade.price, trade.size, trade.sub_type) == (cents("13.25"), 60000, TradeSubType.RFQ)
    assert (trade.buyer, trade.seller) == (1, 3)
    assert [type(each) for each in told[1:]] == [ExecutionStatistics]
    assert (told[1].volume, told[1].vwap) == (60000, None)
    assert made.submit(c.AcceptQuote(NOW + 5, number, quote, 1)).rejection is not None
    late = made.submit(c.RequestQuote(NOW, LTN, BUY, 1000, 1, (2,), NOW + 10)).number or 0
    assert made.submit(c.AnswerQuote(NOW + 10, late, cents("13.2"), 2)).rejection is not None
    for wrong_request in (
        c.RequestQuote(NOW, LTN, BUY, 151_000, 1, (2,), NOW + 10),
        c.RequestQuote(NOW, LTN, BUY, 1000, 1, (1, 2), NOW + 10),
        c.RequestQuote(NOW, LTN, BUY, 1000, 1, (2,), NOW),
    ):
        assert made.submit(wrong_request).rejection is not None


def test_each_channel_has_its_own_limit() -> None:
    """The book's (9748) is the least, then that of requests for quotes (9746), then that of voice (9747)."""
    made, bond = opened(LTN), CATALOGUE.bonds[LTN]
    lot, price = bond.instrument.lot, cents("13.2")
    most = bond.instrument.maximum_quantity, bond.largest_rfq, bond.largest_voice
    assert most[0] < most[1] < most[2]
    for channel, largest in enumerate(most):
        for size, is_taken in ((largest, True), (largest + lot, False)):
            commands: tuple[c.BondCommand, ...] = (
                c.EnterOrder(NOW, LTN, BUY, price, size, 1),
                c.RequestQuote(NOW, LTN, BUY, size, 1, (2,), NOW + 10),
                c.RegisterVoice(NOW, LTN, BUY, price, size, 1, 2),
            )
            rejection = made.submit(commands[channel]).rejection
            assert (rejection is None) is is_taken
            if rejection is not None:
                assert rejection.reason is RejectReason.QUANTITY_INVALID


def test_two_sides_of_a_voice_trade_find_each_other() -> None:
    made = opened(DEB, CRI)
    mine = c.RegisterVoice(NOW, CRI, BUY, cents("1018.5"), 2 * PERCENT // 4, 1, 2)
    assert made.submit(mine).events == ()
    other = replace(mine, side=SELL, firm=2, counterparty=1)
    wrong: list[dict[str, Any]] = [{"price": cents("1018")}, {"size": PERCENT}, {"side": BUY}]
    for change in wrong:
        assert made.submit(replace(other, **change)).events == ()
    told = updates(made.submit(other))
    assert (told[0].sub_type, told[0].size) == (TradeSubType.VOICE, PERCENT // 2)
    assert told[1].value == 50925 * 10**6  # half a certificate: 509.25
    busted = updates(made.submit(c.CancelTrade(NOW, CRI, told[0].trade_id)))
    assert isinstance(busted[0], TradeBusted)
    assert (busted[1].volume, busted[1].value) == (0, 0)
    assert made.submit(replace(mine, counterparty=1)).rejection is not None


def test_a_busted_trade_is_as_if_it_had_never_been() -> None:
    made = opened(DEB)
    enter(made, DEB, SELL, "99.8", 10, 1)
    enter(made, DEB, SELL, "99.9", 10, 1)
    enter(made, DEB, BUY, "99.9", 20, 2)
    told = updates(made.submit(c.CancelTrade(NOW, DEB, 1)))
    figures = [each for each in told if isinstance(each, OpeningPrice | LowPrice)]
    changed = {type(each): (each.action, each.price) for each in figures}
    assert changed == {
        OpeningPrice: (Action.CHANGE, cents("99.9")),
        LowPrice: (Action.CHANGE, cents("99.9")),
    }
    gone = updates(made.submit(c.CancelTrade(NOW, DEB, 2)))
    assert {each.action for each in gone if isinstance(each, OpeningPrice | HighPrice | LowPrice)} == {
        Action.DELETE
    }
    made.check_invariants()


def test_a_day_begins_with_yesterday_and_ends_with_today() -> None:
    made = BondMarket(CATALOGUE, FIXINGS)
    first = [update for event in made.open_day(NOW) for update in event.updates]
    origins = [each.origin for each in first if isinstance(each, ClosingPrice)]
    assert origins == [PriceOrigin.PREVIOUS_DAY] * len(CATALOGUE)
    assert {each.state for each in first if isinstance(each, StateChanged)} == {State.RESERVED}
    made.submit(c.ChangeTradingState(NOW, DEB, State.OPEN))
    enter(made, DEB, SELL, "99.8", 10, 1)
    enter(made, DEB, BUY, "99.8", 4, 2)
    told = updates(made.submit(c.CloseDay(NOW)))
    assert [(each.price_fine, each.origin) for each in told if isinstance(each, ClosingPrice)] == [
        (cents("99.8"), PriceOrigin.DAILY)
    ]
    assert prices(made, DEB, SELL) == []
    made.check_invariants()


def test_a_holiday_and_missing_fixings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="2026-11-20 is no business day of bonds"):
        BondMarket(CATALOGUE, replace(FIXINGS, settlement=date(2026, 11, 20)))
    with pytest.raises(PricingError, match="no nominal value"):
        BondMarket(CATALOGUE, replace(FIXINGS, vna={}))
    with pytest.raises(PricingError, match="its rate of 2026-11-16 is not given"):
        BondMarket(CATALOGUE, replace(FIXINGS, rates={}))
