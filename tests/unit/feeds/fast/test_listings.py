"""Lists of instruments (35=y) and news (35=B): every field of 149 and 143, and what cannot be held."""

from dataclasses import replace
from typing import Any

import pytest

from pregao.codecs.fast import FastMessageDecoder, FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.publisher.listings import instrument_entry, news_fields
from pregao.feeds.fast.reader import FastReader
from pregao.feeds.fast.system import FAST
from pregao.lake.plan.records import as_columns, from_rows
from pregao.model.errors import Fault
from pregao.model.events import News
from pregao.model.instruments import (
    Attribute,
    Governance,
    Instrument,
    Leg,
    LotRule,
    OtherId,
    PriceMethod,
    Product,
    SecurityType,
    TickRule,
    ToldOn,
    TradeType,
    Underlying,
    UnderlyingWeight,
)
from pregao.model.market import FINE_SCALE, DefinitionAction, Side
from tests.kits.conflated import small_catalogue

SENT = 20131016130000123
SENT_NS = 1_381_928_400_123_000_000
DAY = 15_994  # 2013-10-16
ENCODER = FastMessageEncoder(load_builtin_templates())
LISTED: dict[str, Any] = {
    "Symbol": "PETR4", "SecurityID": 7, "ApplIDs": [], "SecurityUpdateAction": "A", "Product": 5,
    "SecurityType": "CS", "SecuritySubType": "0", "SecurityDesc": "PETROBRAS", "CFICode": "EPNNPR",
    "CountryOfIssue": "BR", "IssueDate": 20000101, "SecurityValidityTimestamp": SENT, "SecurityGroup": "01",
}  # fmt: skip


def listed(
    *entries: dict[str, Any], channel: int = 62
) -> tuple[list[Instrument | None], list[tuple[Any, ...]]]:
    """Instruments as they are read, and what was found: fault, entry, whether it is lost, and what it is."""
    fields = {"MsgSeqNum": 9, "SendingTime": str(SENT), "TotNoRelatedSym": 40, "LastFragment": "N"}
    reader = FastReader(channel, load_builtin_templates())
    reading = reader.read_unit(ENCODER.encode(149, fields | {"RelatedSym": list(entries)}))
    assert len(reading.rows) == len(entries)
    found = [reader.definition(row) for row in reading.rows]
    instruments = [None if each is None else each.definition.instrument for each in found]
    return instruments, [(each.fault, each.index, each.lost, each.detail) for each in reading.faults]


@pytest.mark.parametrize("instrument", small_catalogue().instruments, ids=lambda each: each.symbol)
@pytest.mark.parametrize("depth", [None, 5])
def test_instruments_come_back_as_they_were_listed(instrument: Instrument, depth: int | None) -> None:
    """12.3, 12.5, 13.3: as Binary UMDF tells them, but for what 149 has no room for."""
    entry = instrument_entry(instrument, DefinitionAction.ADD, 62, depth)
    (found,), faults = listed(entry)
    assert faults == []
    assert found is not None
    assert found.listing is not None
    assert found.listing.channels == (ToldOn("62", None if depth is None else "STD", depth),)
    expected = replace(
        instrument, channel=62, minimum_cross=None, closing_price=None, is_test=False, payout=found.payout,
        price_kind=found.price_kind, listing=found.listing, description=entry["SecurityDesc"],
        clearing_id=None, price_method=instrument.price_method if instrument.legs else None,
        multiplier_fine=instrument.multiplier_fine or FINE_SCALE,
        price_divisor_fine=instrument.price_divisor_fine or FINE_SCALE,
        governance=instrument.governance or None,
    )  # fmt: skip
    assert found == expected


EVERYTHING: dict[str, Any] = LISTED | {
    "ApplIDs": [
        {"ApplID": "51"}, {"ApplID": "151", "FeedTypes": [{"MDFeedType": "STD", "MarketDepth": 5}]},
    ],
    "SecurityAltIDs": [
        {"SecurityAltID": "BRPETRACNPR6", "SecurityAltIDSource": "4"},
        {"SecurityAltID": "PETR4", "SecurityAltIDSource": "8"},
        {"SecurityAltID": "4711", "SecurityAltIDSource": "H"},
    ],
    "Underlyings": [{
        "UnderlyingSymbol": "VALE3", "UnderlyingSecurityID": 12, "IndexPct": Scaled(1234, -3),
        "IndexTheoreticalQty": Scaled(123_456_789_012_345, -9),
    }],
    "ImpliedMarketIndicator": 1,
    "InstrAttrib": [
        {"InstAttribType": 24, "InstAttribValue": "1"}, {"InstAttribType": 24, "InstAttribValue": "17"},
        {"InstAttribType": 34, "InstAttribValue": "1"},
    ],
    "TickRules": [{
        "StartTickPriceRange": Scaled(0, -2), "EndTickPriceRange": Scaled(100, -2),
        "TickIncrement": Scaled(1, -2), "TickRuleType": 0,
    }],
    "Legs": [
        {"LegSymbol": "DOLZ13", "LegSecurityID": 11, "LegRatioQty": -3, "LegSecurityType": "FUT",
         "LegSide": 2},
    ],
    "SecurityUpdateAction": "M",
    "Lots": [{"LotType": 1, "MinLotSize": 1}, {"LotType": 2, "MinLotSize": 100}],
    "MinPriceIncrement": Scaled(5, -3), "TickSizeDenominator": 3, "PriceDivisor": Scaled(12_345_678_901, -10),
    "MinOrderQty": 100, "MaxOrderQty": 1_000_000, "MultiLegModel": 1, "MultiLegPriceMethod": 3,
    "Currency": "USD", "SettlCurrency": "BRL", "Product": 4, "SecurityType": "FUT", "SecuritySubType": "90",
    "SecurityStrategyType": "VTC", "Asset": "DOL", "NoShareIssued": 5_000_000_000, "MaturityDate": 20131101,
    "MaturityMonthYear": 2013112, "StrikePrice": Scaled(205, -1), "StrikeCurrency": "USD", "ExerciseStyle": 1,
    "PutOrCall": 0, "ContractMultiplier": Scaled(50, 0), "ContractSettlMonth": 201312, "DatedDate": 20131015,
    "StartDate": 20131014, "EndDate": 20131017, "SettlType": "D3", "SettlDate": 20131018,
    "MarketSegmentID": "9", "GovernanceIndicator": "NM", "CorporateActionEventID": 77,
    "SecurityGroup": "DOL ", "SecurityMatchType": 8,
}  # fmt: skip


def test_every_field_and_group_of_149() -> None:
    (found,), faults = listed(EVERYTHING)
    assert found is not None
    assert found == Instrument(
        7, "PETR4", 62, "DOL", "DOL", SecurityType.FUT, Product.CURRENCY, description="PETROBRAS",
        sub_type=90, segment=9, isin="BRPETRACNPR6", currency="USD", cfi_code="EPNNPR", tick=50, lot=100,
        minimum_quantity=100, maximum_quantity=1_000_000, multiplier_fine=50 * FINE_SCALE,
        price_divisor_fine=None, strike=205_000, is_put=True, is_american=True, issue_date=10_957,
        maturity_date=16_010, maturity=(2013, 11), shares_issued=5_000_000_000, accepts_gt=True, implied=True,
        user_defined=True, legs=(Leg(11, "DOLZ13", Side.SELL, 3, SecurityType.FUT),),
        underlyings=(Underlying(12, "VALE3"),), price_method=PriceMethod.INDIVIDUAL, strategy_type="VTC",
        governance=Governance.NEW_MARKET, is_buy_back=True, clearing_id=4711, settlement_days=3,
        settlement_date=DAY + 2, trade_types=(TradeType.ELECTRONIC, TradeType.NEGOTIATED),
        listing=found.listing,
    )  # fmt: skip
    more = found.listing
    assert more is not None
    assert (more.country, more.settlement_currency, more.strike_currency) == ("BR", "BRL", "USD")
    assert (more.decimals, more.corporate_action, more.contract_month) == (3, 77, (2013, 12))
    assert (more.dated_date, more.start_date, more.end_date) == (DAY - 1, DAY - 2, DAY + 1)
    assert (more.valid_until_ns, more.price_divisor) == (SENT_NS, "1.2345678901")
    assert more.other_ids == (OtherId("4", "BRPETRACNPR6"), OtherId("8", "PETR4"), OtherId("H", "4711"))
    assert more.attributes == (Attribute(24, "1"), Attribute(24, "17"), Attribute(34, "1"))
    assert more.lots == (LotRule(1, 1), LotRule(2, 100))
    assert more.tick_rules == (TickRule("0.00", "1.00", "0.01", 0),)
    assert more.weights == (UnderlyingWeight(12, "1.234", "123456.789012345"),)
    assert more.channels == (ToldOn("51", None, None), ToldOn("151", "STD", 5))
    assert from_rows(as_columns([found], Instrument).to_pylist(), Instrument) == [found], (
        "a lake's index has it"
    )
    beyond = "PriceDivisor 1.2345678901"
    assert faults == [(Fault.FAST_BEYOND_SCALE, 0, False, beyond)], "13.3: the reducer of an index"


@pytest.mark.parametrize(
    ("entry", "fault", "what"),
    [
        ({"InstrAttrib": [{"InstAttribType": 99, "InstAttribValue": "1"}]}, Fault.FAST_UNKNOWN_VALUE,
         "InstAttribType 99"),
        ({"ApplIDs": [{"ApplID": "62", "FeedTypes": [{"MDFeedType": "NEW", "MarketDepth": 5}]}]},
         Fault.FAST_UNKNOWN_VALUE, "MDFeedType 'NEW'"),
        ({"StrikePrice": Scaled(1, -5)}, Fault.FAST_BEYOND_SCALE, "StrikePrice 0.00001"),
        ({"MinPriceIncrement": Scaled(1, 20)}, Fault.FAST_BEYOND_SCALE, f"MinPriceIncrement 1{'0' * 20}"),
        ({"ContractMultiplier": Scaled(10**18, -8)}, Fault.FAST_BEYOND_SCALE,
         "ContractMultiplier 10000000000.00000000"),
        ({"NoShareIssued": (1 << 64) - 1}, Fault.FAST_BEYOND_SCALE, f"NoShareIssued {(1 << 64) - 1}"),
        ({"MaturityDate": 20139999}, Fault.FAST_IMPOSSIBLE_TIME, "MaturityDate 20139999"),
        ({"SecurityValidityTimestamp": 5}, Fault.FAST_IMPOSSIBLE_TIME, "SecurityValidityTimestamp 5"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_flagged_and_its_instrument_listed(
    entry: dict[str, Any], fault: Fault, what: str
) -> None:
    """Else the list of a channel would never be complete."""
    instruments, faults = listed(LISTED, LISTED | entry)
    assert [each is not None and each.symbol for each in instruments] == ["PETR4", "PETR4"]
    assert faults == [(fault, 1, False, what)]


def test_an_action_that_nobody_knows_is_flagged_and_its_instrument_listed() -> None:
    (found,), faults = listed(LISTED | {"SecurityUpdateAction": "Q"})
    assert found is not None
    assert found.symbol == "PETR4"
    assert faults == [(Fault.FAST_UNKNOWN_VALUE, 0, False, "SecurityUpdateAction 'Q'")]


@pytest.mark.parametrize("date", [0, None])
def test_what_ends_never_or_has_no_date(date: int | None) -> None:
    entry = LISTED | {"SecurityValidityTimestamp": 99991231235959000, "SettlDate": date, "MaturityDate": date}
    (found,), faults = listed(entry)
    assert faults == []
    assert found is not None
    assert found.listing is not None
    assert (found.listing.valid_until_ns, found.settlement_date, found.maturity_date) == (None, None, None)


# News


def told(template: int = 143, **fields: Any) -> tuple[News, list[Any]]:
    raw = ENCODER.encode(template, {"MsgSeqNum": 9, "SendingTime": SENT} | fields)
    reading = FastReader(63, load_builtin_templates()).read_unit(raw)
    (news,) = FAST.news_desk(63).receive(raw, 5)
    return news, [(each.fault, each.lost, each.detail) for each in reading.faults]


def test_every_field_of_a_news() -> None:
    """12.8, 13.10: encoded text stands for the plain one, which has lost its letters."""
    news, faults = told(
        OrigTime=SENT - 100, NewsSource="17", NewsID="1234", LanguageCode="pt", Headline="Negocia??o",
        URLLink="http://b3", EncodedHeadlineLen=12, EncodedHeadline="Negociação",
        RelatedSym=[
            {"SecurityID": 7, "SecurityExchange": "BVMF"}, {"SecurityID": 8, "SecurityExchange": "BVMF"},
        ],
        LinesOfText=[
            {"Text": "plain"}, {"Text": "a??o", "EncodedTextLen": 6, "EncodedText": "ação"}, {"Text": ""},
        ],
    )  # fmt: skip
    assert news == News(
        1234, "Negociação", "plain\nação\n", SENT_NS - 100_000_000, 17, "pt", "http://b3", 7, related=(7, 8)
    )
    assert faults == []


def test_a_news_with_nothing_but_what_it_must_have() -> None:
    news, faults = told()
    assert news == News(None, "", "", SENT_NS, 0, None)
    assert faults == []


@pytest.mark.parametrize("source", ["6", "12", "99999999", "X"])
def test_a_source_that_nobody_knows_is_kept_and_flagged(source: str) -> None:
    news, faults = told(NewsSource=source, Headline="H")
    assert faults == [(Fault.FAST_UNKNOWN_VALUE, False, f"NewsSource {source!r}")]
    assert news.source == (int(source) if len(source) < 3 and source.isdigit() else 0)


def test_encoded_text_that_is_not_utf_8_is_read_as_latin_1() -> None:
    """Nothing says an encoding (347 is not in 143). R2 says all the same that it is not UTF-8."""
    raw = ENCODER.encode(143, {
        "MsgSeqNum": 9, "SendingTime": SENT, "Headline": "a??o", "EncodedHeadlineLen": 4,
        "EncodedHeadline": "@@@@",
    })  # fmt: skip
    raw = raw.replace(b"@@@@", "ação".encode("latin-1"))
    (news,) = FAST.news_desk(63).receive(raw, 5)
    assert news.headline == "ação"
    found = FastMessageDecoder(load_builtin_templates()).decode(raw).findings
    assert [each.fault for each in found] == [Fault.FAST_BAD_UTF8]


def test_what_the_exchange_tells_comes_back() -> None:
    sent = News(5, "Sessão", "linha 1\nlinha 2", SENT_NS, 3, "pt", "http://b3", 7, related=(7,))
    news, faults = told(**news_fields(sent))
    assert (news, faults) == (sent, [])
