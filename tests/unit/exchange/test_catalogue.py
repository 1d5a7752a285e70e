"""The packaged catalogue is what it says, and a wrong one is refused by the name of its key."""

from collections import Counter

import pytest

from pregao.exchange.catalogue import Catalogue, load_catalogue, load_default_catalogue
from pregao.model.errors import ConfigurationError
from pregao.model.instruments import (
    Governance,
    Payout,
    PriceMethod,
    SecuritySubType,
    SecurityType,
    TradeType,
)
from pregao.model.market import BandType, LimitType, PriceKind, Side

SMALL = """
pairs = "AAAA3 BBBB4"

[auctions.a]
duration_s = 300
extension_s = 60
maximum_extensions = 2
extension_window_s = 30
random_end_s = 0

[bands.b]
hard = { percent = 10 }
auction = { percent = 5, sent = "percentage", midpoint = "last" }

[[group]]
code = "01"
channel = 84
segment = 1
schedule = "equities"
auction = "a"
bands = "b"

[[shares]]
group = "01"
kind = "stock"
first_id = 1001
id_step = 10
tick = 0.01
lot = 100
daily = 1000
list = '''
AAAA3 10.05 5
BBBB4 3.33 1   # the second
'''

[[futures]]
asset = "DI1"
group = "01"
first_id = 3001
product = "economic_indicator"
cfi = "FFNCSX"
expiry = "first-business-day"
tick = 0.005
lot = 5
multiplier = 1
volatility = 0.01
implied = true
list = '''
F27 14.265 3 100
N27 14.405 2 50
'''

[[spreads]]
asset = "DII"
of = "DI1"
group = "01"
first_id = 4001
tick = 0.005
lot = 5
sub_type = "calendar"
list = "F27N27"
"""


@pytest.fixture(scope="module")
def default() -> Catalogue:
    return load_default_catalogue()


def test_default_counts(default: Catalogue) -> None:
    assert 180 <= len(default.listings) <= 220
    assert default.channels == (68, 72, 78, 84)
    channels = Counter(instrument.channel for instrument in default.instruments)
    assert min(channels.values()) >= 20
    kinds = Counter(instrument.security_type for instrument in default.instruments)
    assert kinds[SecurityType.OPT] == 40
    assert kinds[SecurityType.FUT] == 30
    assert kinds[SecurityType.FORWARD] == 5
    assert kinds[SecurityType.ETF] == 5
    assert kinds[SecurityType.SPOT] == 2
    assert sum(instrument.is_odd_lot for instrument in default.instruments) == 25
    sub_types = Counter(instrument.sub_type for instrument in default.instruments if instrument.legs)
    assert sub_types[SecuritySubType.FINANCIAL_ROLLOVER] == 7
    assert sub_types[SecuritySubType.AGRICULTURAL_ROLLOVER] == 2
    assert sub_types[SecuritySubType.STRATEGY] == 4
    assert sub_types[0] == 8


def test_default_ids_and_symbols_are_unique(default: Catalogue) -> None:
    assert len(default.by_id) == len(default.by_symbol) == len(default.listings)
    assert all(9 <= len(str(security_id)) <= 12 for security_id in default.by_id)
    assert not {index.security_id for index in default.indices} & default.by_id.keys()


def test_default_prices_fit_ticks_and_bands(default: Catalogue) -> None:
    for listing in default.listings:
        instrument = listing.instrument
        assert instrument.closing_price is not None
        assert instrument.closing_price % (instrument.tick * 10_000) == 0, instrument.symbol
        assert listing.bands, instrument.symbol
        for band in listing.bands:
            if band.limit_type is LimitType.PRICE:
                assert band.low <= listing.closing <= band.high, (instrument.symbol, band)
                assert band.low % instrument.tick == band.high % instrument.tick == 0
            else:
                assert band.low == -band.high
                assert band.midpoint is not None


def test_default_legs_and_underlyings_exist(default: Catalogue) -> None:
    indices = {index.security_id: index.symbol for index in default.indices}
    for listing in default.listings:
        instrument = listing.instrument
        for leg in instrument.legs:
            other = default.by_id[leg.security_id].instrument
            assert other.symbol == leg.symbol
            assert other.segment == instrument.segment or not instrument.implied
        for underlying in instrument.underlyings:
            known = indices.get(underlying.security_id)
            symbol = known or default.by_id[underlying.security_id].instrument.symbol
            assert symbol == underlying.symbol


def test_default_spreads_are_priced_by_their_legs(default: Catalogue) -> None:
    for listing in default.listings:
        legs = listing.instrument.legs
        value = sum(
            leg.ratio * default.by_id[leg.security_id].closing * (1 if leg.side is Side.BUY else -1)
            for leg in legs
        )
        assert not legs or value == listing.closing


def test_strategies_have_no_strike_or_zero(default: Catalogue) -> None:
    """16.1: they are known by their sub type."""
    strikes = [i.strike for i in default.instruments if i.sub_type == SecuritySubType.STRATEGY]
    assert sorted(strikes, key=str) == [0, None, None, None]
    assert all(i.strike is None for i in default.instruments if i.security_type is SecurityType.FUT)


def test_default_pairs_and_index(default: Catalogue) -> None:
    symbols = [tuple(default.by_id[one].instrument.symbol for one in pair) for pair in default.pairs]
    assert symbols == [("DOLZ26", "WDOZ26"), ("DOLF27", "WDOF27"), ("DOLG27", "WDOG27")]
    (index,) = default.indices
    assert index.symbol == "IBOV"
    assert all(member.security_id in default.by_id for member in index.members)
    assert default.instrument("WINZ26").underlyings[0].security_id == index.security_id


def test_known_facts(default: Catalogue) -> None:
    petr = default.instrument("PETR4")
    assert petr.isin == "BRPETRACNPR6"
    assert default.instrument("VALE3").isin == "BRVALEACNOR0"
    assert (petr.tick, petr.lot, petr.security_type) == (100, 100, SecurityType.PS)
    odd = default.instrument("PETR4F")
    assert (odd.lot, odd.maximum_quantity, odd.is_odd_lot) == (1, 99, True)
    assert (petr.minimum_cross, odd.minimum_cross) == (300, None)  # of what may be crossed at all
    # 18.1: bought, the spread sells the near and buys the far.
    spread = default.instrument("DIIF27N27")
    assert [(leg.symbol, leg.side) for leg in spread.legs] == [("DI1F27", Side.SELL), ("DI1N27", Side.BUY)]
    put, call = default.by_symbol["PETRX402"], default.by_symbol["PETRL402"]
    assert put.closing > call.closing
    assert (put.instrument.is_put, put.instrument.strike) == (True, 402_000)


def test_default_has_what_definitions_tell(default: Catalogue) -> None:
    """Words of the definition that depend on the kind of instrument."""
    assert default.instrument("VALE3").governance is Governance.NEW_MARKET
    only_listed = {Governance.LEVEL_3}  # by PUMA Conflated 7.4.2; Binary UMDF has no such word
    assert {i.governance for i in default.instruments} == {None, *Governance} - only_listed
    assert default.instrument("DI1F27").price_kind is PriceKind.PERCENTAGE
    assert default.instrument("DIIF27N27").price_method is PriceMethod.YIELD_DIFFERENCE
    assert all((i.strategy_type is None) is (not i.legs) for i in default.instruments)
    assert {t for i in default.instruments for t in i.trade_types} == set(TradeType)
    assert {i.payout for i in default.instruments} == set(Payout)
    spot, share = default.instrument("USDBRL2"), default.instrument("PETR4")
    assert (spot.settlement_days, share.settlement_days) == (2, 2)
    assert spot.settlement_date is not None
    butterfly = default.instrument("DIFV27N28F30")
    assert butterfly.implied
    assert [leg.ratio for leg in butterfly.legs] == [1, 2, 1]


def test_small_catalogue() -> None:
    catalogue = load_catalogue(SMALL)
    assert [i.symbol for i in catalogue.instruments] == ["AAAA3", "BBBB4", "DI1F27", "DI1N27", "DIIF27N27"]
    assert catalogue.instrument("BBBB4").security_id == 1011
    assert catalogue.by_symbol["DIIF27N27"].closing == 1400
    hard, auction = catalogue.by_symbol["AAAA3"].bands
    assert (hard.type, hard.low, hard.high) == (BandType.HARD, 90_500, 110_500)
    assert (auction.limit_type, auction.low, auction.high) == (LimitType.PERCENTAGE, -50_000, 50_000)
    assert load_catalogue(SMALL.encode()) == catalogue


WRONG = [
    ("BBBB4 3.33 1 ", "AAAA3 3.33 1 ", "shares[0].list[1]", "twice"),
    ("first_id = 3001", "first_id = 1001", "futures[0].list[0]", "already belongs to AAAA3"),
    ("10.05", "10.055", "shares[0].list[0]", "off its tick"),
    ("10.05", "abc", "shares[0].list[0]", "must be a number"),
    ("10.05", "NaN", "shares[0].list[0]", "must be a number"),
    ("10.05", "0", "shares[0].list[0]", "above zero"),
    ("tick = 0.01", "tick = 0", "shares[0].tick", "above zero"),
    ("tick = 0.01", "tick = 0.00001", "shares[0].tick", "four decimal places"),
    ("multiplier = 1", "multiplier = 0.000000001", "futures[0].multiplier", "eight decimal places"),
    ("multiplier = 1", "multiplier = 0", "futures[0].multiplier", "above zero"),
    ("multiplier = 1", "multiplier = true", "futures[0].multiplier", "must be a number"),
    ("lot = 100", "lot = 0", "shares[0].lot", "whole number"),
    ('"F27N27"', '"F27Z27"', "spreads[0].list", "no instrument DI1Z27"),
    ('"F27N27"', '"N27F27"', "spreads[0].list", "near maturity first"),
    ('"F27N27"', '"F27"', "spreads[0].list", "not a maturity"),
    ("implied = true", "implied = false", "spreads[0].list", "its leg DI1F27 is not"),
    ('pairs = "AAAA3 BBBB4"', 'pairs = "AAAA3 CCCC4"', "pairs[0]", "no instrument CCCC4"),
    ('pairs = "AAAA3 BBBB4"', 'pairs = "AAAA3 AAAA3"', "pairs[0]", "one other"),
    ('group = "01"\nkind', 'group = "09"\nkind', "shares[0].group", "no group 09"),
    ('bands = "b"', 'bands = "c"', "group[0].bands", "must be one of b"),
    ("hard = { percent = 10 }", "hard = { }", "bands.b.hard", "either percent or points"),
    ("hard = { percent = 10 }", "soft = { percent = 10 }", "bands.b.soft", "must be one of"),
    (', midpoint = "last"', "", "bands.b.auction.midpoint", "belongs to percentages"),
    ("daily = 1000", "dayly = 1000", "shares[0].daily", "is missing"),
    ("daily = 1000", "daily = 1000\nx = 1", "shares[0].x", "unknown key"),
    ("[[futures]]", "[[futurs]]", "spreads[0].list", "no instrument"),
    ("extension_window_s = 30", "extension_window_s = 400", "auctions.a.extension_window_s", "longer"),
    ("AAAA3 10.05 5", "AAAA3 10.05", "shares[0].list[0]", "3 to 4 words"),
    ("AAAA3 10.05 5", "AAAA3 10.05 5 N9", "shares[0].list[0]", "a level of governance"),
    ("AAAA3 10.05 5", "AAAA9 10.05 5", "shares[0].list[0]", "ends in 3, 4, 5 or 6"),
]


@pytest.mark.parametrize(("old", "new", "key", "reason"), WRONG)
def test_wrong_catalogues_name_their_key(old: str, new: str, key: str, reason: str) -> None:
    assert old in SMALL
    with pytest.raises(ConfigurationError) as raised:
        load_catalogue(SMALL.replace(old, new, 1), file="c.toml")
    assert raised.value.key == key
    assert raised.value.file == "c.toml"
    assert reason in raised.value.reason


@pytest.mark.parametrize("text", ["", "x = [", b"\xff", "auctions = 1", "[auctions]\n[bands]"])
def test_no_catalogue_at_all(text: str | bytes) -> None:
    with pytest.raises(ConfigurationError):
        load_catalogue(text)
