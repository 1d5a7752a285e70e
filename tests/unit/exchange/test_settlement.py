"""Settlement on its schedule, open interest, closing prices."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import control
from pregao.exchange.commands import BustTrade
from pregao.exchange.settlement import (
    SCHEDULE,
    ClosingBook,
    OpenPositions,
    SettlementBook,
    SettlementStage,
    settlement_of,
)
from pregao.model.events import ClosingPrice, OpenInterest, SettlementPrice, Trade
from pregao.model.market import Phase, PriceOrigin, Session, SettlementKind, TradeCondition
from tests.unit.exchange.desk_kit import ABC, DATE, DOL, EXCHANGE, Exchange, clock


def test_the_regular_schedule_as_printed() -> None:
    assert list(SCHEDULE.items()) == [
        (SettlementStage.PREVIOUS_FINAL, (PriceOrigin.PREVIOUS_DAY, SettlementKind.FINAL)),
        (SettlementStage.PREVIOUS_UPDATED, (PriceOrigin.PREVIOUS_DAY, SettlementKind.UPDATED)),
        (SettlementStage.PREVIEW, (PriceOrigin.DAILY, SettlementKind.UPDATED)),
        (SettlementStage.FINAL, (PriceOrigin.DAILY, SettlementKind.FINAL)),
        (SettlementStage.EXPECTED, (PriceOrigin.EXPECTED, SettlementKind.THEORETICAL)),  # ours
    ]


def test_an_expected_price_is_told_and_forgotten() -> None:
    book = SettlementBook(1, 500, 11, 10, previous=100_000, settlement_days=1)
    told = book.publish(SettlementStage.EXPECTED, 7)
    assert told is not None
    assert (told.price, told.trade_date, told.settlement_date) == (100_000, 11, 12)
    assert book.daily is None


def test_dates_are_those_the_price_applies_to() -> None:
    book = SettlementBook(1, 500, 11, 10, previous=100_000)
    told = [book.publish(stage, 7, vwap=101_300) for stage in SettlementStage]
    assert [(each.price, each.trade_date) for each in told if each is not None] == [
        (100_000, 10),
        (100_000, 10),
        (101_500, 11),
        (101_500, 11),
        (101_500, 11),
    ]
    book.roll(14)
    before = book.publish(SettlementStage.PREVIOUS_FINAL, 8)
    assert before is not None
    assert (before.price, before.trade_date) == (101_500, 11)


def test_a_price_set_by_hand_stays() -> None:
    book = SettlementBook(1, 500, 11, 10, previous=100_000)
    book.publish(SettlementStage.PREVIOUS_UPDATED, 1, price=99_000)
    book.roll(12)  # a day without trades
    kept = book.publish(SettlementStage.PREVIOUS_FINAL, 2)
    assert kept is not None
    assert kept.price == 99_000
    assert SettlementBook(2, 500, 11, 10).publish(SettlementStage.FINAL, 1) is None


@given(st.integers(-(10**9), 10**9), st.integers(1, 10_000))
def test_a_settlement_price_is_the_nearest_tick(vwap: int, tick: int) -> None:
    found = settlement_of(vwap, None, tick)
    assert found is not None
    assert found % tick == 0
    assert 2 * abs(found - vwap) <= tick


def trade(number: int, buyer: int | None, seller: int | None, size: int) -> Trade:
    return Trade(1, number, 10, size, DATE, Session.REGULAR, TradeCondition.REGULAR, 0, None, buyer, seller)


def test_open_interest_opens_moves_and_closes() -> None:
    book = OpenPositions(1, before=100)
    opened = [trade(1, 7, 8, 5)]
    assert book.size(opened) == 105
    passed_on = [*opened, trade(2, 9, 7, 5)]
    assert book.size(passed_on) == 105
    closed = [*passed_on, trade(3, 8, 9, 5)]
    assert book.size(closed) == 100
    book.roll(opened)
    assert book.size([trade(1, 8, 7, 2)]) == 103
    assert book.size([trade(1, None, 7, 2)]) == 105


firms = st.integers(1, 4)


@given(st.lists(st.tuples(firms, firms, st.integers(1, 9)), max_size=30), st.integers(0, 30))
def test_open_interest_is_the_same_bought_as_sold_and_over_days(
    rows: list[tuple[int, int, int]], cut: int
) -> None:
    trades = [trade(number, *row) for number, row in enumerate(rows)]
    mirrored = [trade(each.trade_id, each.seller, each.buyer, each.size) for each in trades]
    whole = OpenPositions(1).size(trades)
    assert whole == OpenPositions(1).size(mirrored)
    assert 0 <= whole <= sum(each.size for each in trades)
    over_days = OpenPositions(1)
    over_days.roll(trades[:cut])
    assert over_days.size(trades[cut:]) == whole


def test_closing_prices_roll() -> None:
    book = ClosingBook(1, previous_fine=10**9, previous_date=10, last_trade_date=8)
    assert book.previous(1) == ClosingPrice(1, 10**9, 10, 1, PriceOrigin.PREVIOUS_DAY, 8)
    assert book.close(None, 11, 2) == ClosingPrice(1, 10**9, 11, 2, PriceOrigin.DAILY, 8)
    book.roll(11)
    assert book.close(12_3400, 12, 3) == ClosingPrice(1, 12_3400_0000, 12, 3, PriceOrigin.DAILY, 12)
    book.roll(12)
    assert book.previous(4) == ClosingPrice(1, 12_3400_0000, 12, 4, PriceOrigin.PREVIOUS_DAY, 12)
    assert ClosingBook(2).previous(1) is None
    assert ClosingBook(2).close(None, 1, 1) is None


def trade_at(exchange: Exchange, at: str, security_id: int, price: int, size: int = 10) -> None:
    exchange.buy(at, security_id, size, price, firm=3)
    exchange.sell(at, security_id, size, price, firm=4)


def test_figures_of_a_day_and_the_next() -> None:
    exchange = Exchange()
    exchange.open_all()
    trade_at(exchange, "10:01:00", DOL, 10_2000)
    trade_at(exchange, "10:02:00", DOL, 10_4000)
    ((preview,),) = exchange.do(control.PublishSettlement(clock("16:00:00"), DOL, SettlementStage.PREVIEW))
    assert isinstance(preview, SettlementPrice)
    assert (preview.price, preview.kind, preview.origin) == (
        10_3000,
        SettlementKind.UPDATED,
        PriceOrigin.DAILY,
    )
    ((interest,),) = exchange.do(control.PublishOpenInterest(clock("16:00:01"), DOL))
    assert interest == OpenInterest(DOL, 520, DATE, clock("16:00:01"))
    exchange.do(BustTrade(clock("16:00:02"), DOL, 20))
    ((interest,),) = exchange.do(control.PublishOpenInterest(clock("16:00:03"), DOL))
    assert isinstance(interest, OpenInterest)
    assert interest.size == 510
    exchange.phase("18:00:00", Phase.CLOSE, "D0", expires=True)
    ((closing,),) = exchange.do(control.PublishClosing(clock("18:01:00"), DOL))
    exchange.do(control.ChangeSession(clock("18:02:00"), "D0", EXCHANGE, Session.NON_REGULAR, DATE))
    ((interest,),) = exchange.do(control.PublishOpenInterest(clock("18:03:00"), DOL))
    assert isinstance(interest, OpenInterest)
    assert interest.size == 510  # the regular session's trades are still the day's
    assert isinstance(closing, ClosingPrice)
    assert (closing.price_fine, closing.origin) == (10_2000_0000, PriceOrigin.DAILY)
    exchange.do(control.ChangeSession(clock("30:00:00"), "D0", EXCHANGE, Session.REGULAR, DATE + 1))
    ((previous,),) = exchange.do(control.PublishClosing(clock("30:01:00"), DOL, of_day_before=True))
    assert previous == ClosingPrice(
        DOL, 10_2000_0000, DATE, clock("30:01:00"), PriceOrigin.PREVIOUS_DAY, DATE
    )
    assert exchange.engine.market(DOL).statistics.closing_fine == 10_2000_0000


def test_the_after_market_closes_nothing() -> None:
    exchange = Exchange()
    exchange.do(control.ChangeSession(1, "01", EXCHANGE, Session.NON_REGULAR, DATE))
    assert exchange.submit(control.PublishClosing(2, ABC)).rejection is not None
