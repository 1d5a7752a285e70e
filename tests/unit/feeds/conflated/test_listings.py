"""Instruments (7.4.2), phases and states (7.5.5, 7.8.14) and news (7.5.6) as messages."""

from typing import Any

import pytest

from pregao.codecs.fix import Encoder, FixMessage, parse_message, validate
from pregao.feeds.conflated.definitions import ConflatedNewsDesk, definition_of
from pregao.feeds.conflated.publisher.listings import (
    instrument_fields,
    is_encoded,
    news_fields,
    state_entry,
    status_fields,
)
from pregao.model import events as e
from pregao.model.instruments import (
    Governance,
    Instrument,
    Leg,
    ListingTerms,
    Payout,
    PriceMethod,
    Product,
    SecurityType,
    TickRule,
    TradeType,
    Underlying,
    UnderlyingWeight,
)
from pregao.model.market import FINE_SCALE, DefinitionAction, Phase, Session, Side, State, StateEvent
from tests.kits.conflated import DICTIONARY, PETR4, START, small_catalogue

DATE = 20_774


def written(msg_type: bytes, fields: dict[int, Any], **header: Any) -> FixMessage:
    head = {34: 1, 49: "B3", 52: START, 56: "CLIENT"} | {int(tag[1:]): value for tag, value in header.items()}
    data = Encoder(DICTIONARY).message(msg_type, head, fields)
    message = parse_message(data, DICTIONARY)
    message.raw = data
    assert validate(message, DICTIONARY) is None
    return message


@pytest.mark.parametrize("instrument", small_catalogue().instruments, ids=lambda each: each.symbol)
def test_every_instrument_is_a_valid_entry(instrument: Instrument) -> None:
    message = written(b"y", {146: [instrument_fields(instrument, DefinitionAction.MODIFY)]})
    (entry,) = message.group(146)
    assert entry[55] == instrument.symbol.encode()
    assert entry[1141] == [{1022: b"STD", 264: b"0", 1021: b"3"}]
    assert entry[980] == b"M"
    assert len(entry.get(555, [])) == len(instrument.legs)
    assert len(entry.get(711, [])) == len(instrument.underlyings)


def test_an_option_says_what_it_pays() -> None:
    option = Instrument(
        1, "PETRK240", 84, "02", "PETR", SecurityType.OPT, Product.EQUITY, strike=240_000, is_put=False,
        is_american=True, maturity_date=DATE, maturity=(2026, 11), payout=Payout.VANILLA_CASH,
        isin="BRPETRACNPR6", minimum_cross=500,
    )  # fmt: skip
    (entry,) = written(b"y", {146: [instrument_fields(option, DefinitionAction.ADD)]}).group(146)
    expected = {
        201: b"1", 202: b"24.00", 947: b"BRL", 1194: b"1", 541: b"20261117", 200: b"202611", 1482: b"2",
        980: b"A", 35561: b"500", 454: [{455: b"BRPETRACNPR6", 456: b"4"}],
    }  # fmt: skip
    assert {tag: entry[tag] for tag in expected} == expected


EVERY_FIELD = Instrument(
    7, "EVERY", 0, "G1", "AST", SecurityType.MLEG, Product.MULTILEG, description="Every field",
    sub_type=90, segment=3, isin="BREVERYACNPR", currency="USD", cfi_code="FXXXXX", tick=50, lot=5,
    minimum_quantity=5, maximum_quantity=500, minimum_cross=50, multiplier_fine=10 * FINE_SCALE,
    price_divisor_fine=100 * FINE_SCALE, strike=123_400, is_put=True, is_american=False, issue_date=DATE,
    maturity_date=DATE + 9, maturity=(2026, 11), shares_issued=1_000, accepts_gt=True, implied=True,
    user_defined=True, price_kind=None, legs=(Leg(8, "LEG", Side.SELL, 2, SecurityType.FUT),),
    underlyings=(Underlying(9, "UND"),), price_method=PriceMethod.INDIVIDUAL,
    strategy_type="FR1", governance=Governance.LEVEL_3, payout=Payout.BINARY, is_buy_back=True,
    clearing_id=77, settlement_days=2, settlement_date=DATE + 2, trade_types=(TradeType.BLOCK,),
    listing=ListingTerms(
        maturity_week=4, contract_month=(2026, 12), dated_date=DATE + 1, start_date=DATE + 3,
        end_date=DATE + 4, corporate_action=321,
        tick_rules=(TickRule("1.00", "9.99", "0.01", 0),),
        weights=(UnderlyingWeight(9, "12.50", "350.123456789"),),
    ),
)  # fmt: skip


def test_a_list_has_every_field_of_7_4_2() -> None:
    """Written, valid by the dictionary, and read back as the same instrument."""
    fields = {146: [instrument_fields(EVERY_FIELD, DefinitionAction.ADD, price_depth=True)]}
    (entry,) = written(b"y", fields).group(146)
    group = DICTIONARY.messages[b"y"].body.groups[146]
    assert set(entry) == set(group.own)
    for tag, nested in group.groups.items():
        told = entry[tag]
        assert isinstance(told, list)
        assert set().union(*told) == set(nested.own), tag
    expected = {
        200: b"2026114", 667: b"202612", 873: b"20261118", 916: b"20261120", 917: b"20261121", 37010: b"321",
        711: [{311: b"UND", 309: b"9", 305: b"8", 308: b"BVMF", 6919: b"12.50", 37021: b"350.123456789"}],
        1205: [{1206: b"1.00", 1207: b"9.99", 1208: b"0.01", 1209: b"0"}], 37011: b"N3",
    }  # fmt: skip
    assert {tag: entry[tag] for tag in expected} == expected
    assert definition_of(entry, 0) == e.Definition(EVERY_FIELD, DefinitionAction.ADD)


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        (None, b"202611"),
        (ListingTerms(maturity_day=7), b"20261107"),
        (ListingTerms(maturity_week=4), b"2026114"),
    ],
)
def test_a_maturity_is_a_month_a_week_or_a_day(terms: ListingTerms | None, text: bytes) -> None:
    option = Instrument(
        1, "X", 0, "G", "A", SecurityType.OPT, Product.EQUITY, maturity=(2026, 11), listing=terms
    )
    assert instrument_fields(option, DefinitionAction.ADD)[200] == text


def test_a_group_changes_its_phase_without_an_instrument() -> None:
    phase = e.PhaseChanged("01", "BVMF", Session.REGULAR, Phase.PAUSE, None, DATE, START)
    message = written(b"f", status_fields(phase))
    assert message.body == {60: b"20261117-12:00:00.000", 75: b"20261117", 1151: b"01", 625: b"2"}


def test_an_instrument_leaves_its_group_for_an_auction() -> None:
    state = e.StateChanged(
        7, Session.NON_REGULAR, State.RESERVED, StateEvent.LEAVES_GROUP, DATE, START, START + 60_000_000_000
    )
    assert written(b"f", status_fields(state)).body == {
        60: b"20261117-12:00:00.000", 75: b"20261117", 48: b"7", 22: b"8", 207: b"BVMF", 326: b"21",
        336: b"6", 342: b"20261117-12:01:00.000", 1174: b"101",
    }  # fmt: skip


def test_a_snapshot_says_the_phase_that_an_instrument_follows() -> None:
    """7.8.14: 326 of its own, else 625 of its group."""
    follows = e.StateChanged(7, Session.REGULAR, None, None, DATE, START)
    phase = e.PhaseChanged("01", "BVMF", Session.REGULAR, Phase.FINAL_CLOSING_CALL, None, DATE, START)
    entry = state_entry(follows, phase)
    assert (entry[269], entry[625], entry.get(326)) == (b"c", b"101", None)
    own = e.StateChanged(7, Session.REGULAR, State.FORBIDDEN, StateEvent.LEAVES_GROUP, DATE, START)
    entry = state_entry(own, phase)
    assert (entry[326], entry[1174], entry.get(625)) == (b"18", b"101", None)


def test_a_snapshot_does_not_tell_of_a_change_of_session() -> None:
    """1174 of 269=c is 101 or 102 (7.8.14): 4 would forget statistics that have been told since."""
    changed = e.StateChanged(7, Session.REGULAR, State.CLOSE, StateEvent.SESSION_CHANGE, DATE, START)
    phase = e.PhaseChanged("01", "BVMF", Session.REGULAR, Phase.CLOSE, StateEvent.SESSION_CHANGE, DATE, START)
    follows = e.StateChanged(7, Session.REGULAR, None, None, DATE, START)
    assert 1174 not in state_entry(changed, None)
    assert 1174 not in state_entry(follows, phase)
    assert status_fields(changed)[1174] == b"4", "35=f tells it (7.5.5)"


def test_a_news_is_one_message_with_all_its_lines() -> None:
    news = e.News(5, "Aviso", "um\n\ntres", START, url="https://example.org", security_id=PETR4.security_id)
    message = written(b"B", news_fields(news))
    assert not is_encoded(news)
    assert [line[58] for line in message.group(33)] == [b"um", b" ", b"tres"]
    assert message.group(146) == [{48: b"200001", 22: b"8", 207: b"BVMF"}]
    assert {tag: message.body[tag] for tag in (42, 6940, 1472, 1474, 148, 149)} == {
        42: b"20261117-12:00:00.000", 6940: b"3", 1472: b"5", 1474: b"pt", 148: b"Aviso",
        149: b"https://example.org",
    }  # fmt: skip


def test_a_news_may_concern_several_instruments() -> None:
    news = e.News(5, "Aviso", "um", START, security_id=7, related=(7, 9))
    message = written(b"B", news_fields(news))
    assert message.group(146) == [{48: b"%d" % each, 22: b"8", 207: b"BVMF"} for each in (7, 9)]
    (read,) = ConflatedNewsDesk(DICTIONARY).receive(message.raw, START)
    assert read == news


def test_text_that_is_not_ascii_goes_encoded() -> None:
    news = e.News(None, "Leilão", "não\nsim", START, language=None)
    assert is_encoded(news)
    message = written(b"B", news_fields(news), t347=b"UTF-8")
    assert (message.body[148], message.body[359]) == (b"Leil?o", "Leilão".encode())
    assert message.group(33) == [{58: b"n?o", 354: b"4", 355: "não".encode()}, {58: b"sim"}]
