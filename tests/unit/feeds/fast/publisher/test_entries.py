"""Entries of updates: what of them is told, and of which stream (10)."""

from decimal import Decimal

from pregao.feeds.fast.publisher.entries import closing_entry, opening_entry, trade_entry
from pregao.model import events as e
from pregao.model.market import Action, PriceOrigin, Session

NOW = 1_794_830_400_000_000_000


def test_a_busted_termo_is_of_the_stream_of_its_trade() -> None:
    """10.1; the listener knows it by stream and TradeID."""
    termo = e.TradeBusted(7, 30, 100_000, 5, 20_773, Session.REGULAR, NOW, False, True)
    other = e.TradeBusted(7, 31, 100_000, 5, 20_773, Session.REGULAR, NOW)
    found = [trade_entry(each) for each in (termo, other)]
    assert [(each["MDStreamID"], each["MDUpdateAction"]) for each in found] == [("T", 2), ("E", 2)]


def test_the_opening_of_a_termo_has_its_rate() -> None:
    """10.4."""
    plain = e.OpeningPrice(7, 100_000, None, 20_773, NOW)
    assert "MDEntryInterestRate" not in opening_entry(plain)
    termo = e.OpeningPrice(7, 100_000, None, 20_773, NOW, interest_rate=12_500)
    rate = opening_entry(termo)["MDEntryInterestRate"]
    assert Decimal(rate.mantissa).scaleb(rate.exponent) == Decimal("1.25")


def test_a_closing_price_of_the_day_before_says_how_it_was_adjusted() -> None:
    """10.5: 37013, 0 where nothing is known of it."""
    told = e.ClosingPrice(7, 10_00000000, 20_772, NOW, PriceOrigin.PREVIOUS_DAY)
    assert closing_entry(told)["PriceAdjustmentMethod"] == 0
    adjusted = e.ClosingPrice(7, 10_00000000, 20_772, NOW, PriceOrigin.PREVIOUS_DAY, adjustment=2)
    assert closing_entry(adjusted)["PriceAdjustmentMethod"] == 2
    today = e.ClosingPrice(7, 10_00000000, 20_772, NOW, PriceOrigin.DAILY, adjustment=2)
    assert "PriceAdjustmentMethod" not in closing_entry(today)
    assert closing_entry(today)["MDUpdateAction"] == int(Action.NEW)
