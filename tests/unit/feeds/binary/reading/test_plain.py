"""What the publisher writes is read as it was; what nobody should send does no harm."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from pregao.codecs.sbe import SbeMessage, SbeMessageDecoder, load_builtin_schema
from pregao.codecs.sbe.layout import ValueKind as FieldKind
from pregao.feeds.binary.news import NewsAssembler
from pregao.feeds.binary.news_parts import NewsPart
from pregao.feeds.binary.packets import FRAMING_SIZE
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.publisher.snapshots import SnapshotOrders
from pregao.feeds.binary.reading import words
from pregao.feeds.binary.reading.plain import PlainReader, news_of
from pregao.feeds.binary.reading.values import (
    NotUnderstood,
    SequenceTold,
    SequenceWasReset,
    SnapshotBegin,
    SnapshotOrder,
    TranslatedMessage,
)
from pregao.model import events as e
from pregao.model.market import (
    Action,
    BandType,
    LimitType,
    Midpoint,
    Phase,
    PriceKind,
    PriceOrigin,
    Session,
    SettlementKind,
    Side,
    State,
    StateEvent,
)
from pregao.model.rows import Flag
from tests.twins.wire import MessageWriter as RandomWriter
from tests.unit.feeds.binary.publisher.desk import DATE, NOW, A, order
from tests.unit.feeds.binary.publisher.test_laws import FREQUENT, others

SCHEMA = load_builtin_schema()
DECODER = SbeMessageDecoder(SCHEMA)
KNOWN = (7, 8, 9, 10, 15, 16, 17)
WRITERS = {version: MessageWriter(SCHEMA, version) for version in KNOWN}


def read(framed: bytes, index: int = 0) -> list[TranslatedMessage]:
    return PlainReader(84).read(DECODER.decode(framed, FRAMING_SIZE), index)


def as_sent(update: Any, version: int) -> Any:
    """An update as a version can say it."""
    if isinstance(update, e.OrderUpdate):
        deleted = update.action is Action.DELETE
        update = replace(
            update,
            position=update.position if version < 15 else 0,
            price=None if deleted and version < 15 else update.price,
            previous_size=None if deleted or version < 16 else update.previous_size,
            firm=None if deleted else update.firm,
            inserted_ns=0 if deleted else update.inserted_ns,
            recovery=update.recovery and not deleted,
        )
    if isinstance(update, e.SideDeleted):
        update = replace(update, position=1 if version < 15 else None)
    if isinstance(update, e.Trade) and not update.forward:
        update = replace(update, seller_days=None, interest_rate=None)
    if isinstance(update, e.Trade | e.LastTrade) and (update.sub_type or 0) == 109 and version < 9:
        update = replace(update, sub_type=None)
    if hasattr(update, "implied") and version < 10:
        update = replace(update, implied=False)
    if isinstance(update, e.SettlementPrice) and version < 17:
        update = replace(update, settlement_date=None)
    return update


@pytest.mark.parametrize("version", KNOWN)
@given(update=FREQUENT | others)
@settings(deadline=None, max_examples=80)
def test_what_is_written_is_read(version: int, update: Any) -> None:
    writer = WRITERS[version]
    if type(update) not in writer.packers:
        return
    if isinstance(update, e.PriceBand) and version < 8 and update.reference_fine is not None:
        update = replace(update, reference_fine=update.reference_fine // 10_000 * 10_000)  # four places then
    (told,) = read(writer.encode(update, 128, 77), index=5)
    assert told.update == as_sent(update, version)
    assert (told.version, told.index, told.lacks) == (version, 5, ())
    without = isinstance(update, e.BookEmptied | e.PhaseChanged | e.ChannelWasReset)
    assert told.rpt_seq == (None if without else 77)
    assert told.end_of_event == (not isinstance(update, e.ExecutionSummary))
    assert (Flag.NO_EVENT in told.flags) == isinstance(update, e.ExecutionSummary)


SELDOM: list[Any] = [
    e.SettlementPrice(
        A, 5, DATE, NOW, PriceOrigin.EXPECTED, SettlementKind.UPDATED, PriceKind.PERCENTAGE, DATE + 1
    ),
    e.PriceBand(A, BandType.REJECTION, NOW, LimitType.PERCENTAGE, -50_000, 50_000, Midpoint.THEORETICAL),
    e.PriceBand(A, None, NOW, reference_fine=12_340_000),
    e.QuantityBand(A, 0, None, NOW),
    e.ChannelWasReset(84, NOW),
    e.StateChanged(A, Session.REGULAR, None, None, DATE, NOW, NOW + 9),
    e.StateChanged(A, Session.REGULAR, State.FORBIDDEN, StateEvent.LEAVES_GROUP, DATE, NOW),
    *(e.PhaseChanged("01", "BVMF", Session.REGULAR, phase, None, DATE, NOW) for phase in Phase),
    *(e.StateChanged(A, Session.NON_REGULAR, state, None, DATE, NOW) for state in State),
    e.OpenInterest(A, 9, DATE, NOW),
]


@pytest.mark.parametrize("version", KNOWN)
@pytest.mark.parametrize("update", SELDOM)
def test_what_is_seldom_written_is_read(version: int, update: Any) -> None:
    writer = WRITERS[version]
    if type(update) in writer.packers:
        (told,) = read(writer.encode(update, 0, 3))
        assert told.update == as_sent(update, version)


def test_versions_between_are_read_as_the_nearest_lower_one() -> None:
    framed = bytearray(WRITERS[10].encode(order(price=5), 0, 3))
    framed[FRAMING_SIZE + 6] = 13
    (told,) = read(bytes(framed))
    assert (told.update, told.version) == (as_sent(order(price=5), 10), 13)


def test_control_messages() -> None:
    writer = WRITERS[16]
    assert read(writer.sequence(8))[0].update == SequenceTold(8)
    assert read(writer.sequence_reset)[0].update == SequenceWasReset()
    assert read(writer.sequence_reset)[0].flags == Flag.NO_EVENT


@pytest.mark.parametrize("version", [8, 15, 16])
def test_the_beginning_of_a_snapshot(version: int) -> None:
    fields = {
        "securityID": A, "lastMsgSeqNumProcessed": 703, "totNumReports": 2, "totNumBids": 2,
        "totNumOffers": 3, "totNumStats": 5, "lastRptSeq": 6998, "lastSequenceVersion": 1234,
    }  # fmt: skip
    (told,) = read(WRITERS[version].encode_fields("SnapshotFullRefresh_Header_30", fields))
    last_version = 1234 if version >= 15 else None
    assert told.update == SnapshotBegin(A, 703, 2, 2, 3, 5, 6998, last_version)
    assert (told.rpt_seq, told.flags) == (6998, Flag.NO_EVENT)
    (told,) = read(
        WRITERS[version].encode_fields("SnapshotFullRefresh_Header_30", fields | {"lastRptSeq": None})
    )
    assert (told.rpt_seq, told.flags) == (None, Flag.NO_EVENT | Flag.NO_REPORT)


@pytest.mark.parametrize("version", [8, 10, 15, 16, 17])
def test_the_orders_of_a_snapshot(version: int) -> None:
    bids = [order(order_id=7, firm=85, implied=True), order(order_id=8, price=None)]
    offers = [order(order_id=9, side=Side.SELL)]
    told = [
        told for framed in SnapshotOrders(SCHEMA, version, entries=2).messages(A, bids, offers)
        for told in read(framed)
    ]  # fmt: skip
    by_position, implied = version < 15, version >= 10
    assert [one.update for one in told] == [
        SnapshotOrder(A, Side.BUY, 7, 100_000, 100, by_position * 1, NOW - 5, 85, implied),
        SnapshotOrder(A, Side.BUY, 8, None, 100, by_position * 2, NOW - 5),
        SnapshotOrder(A, Side.SELL, 9, 100_000, 100, by_position * 1, NOW - 5),
    ]
    policy = (Flag.BY_POSITION if by_position else Flag(0)) | (Flag.PRICE_UNTOLD if version < 16 else Flag(0))
    assert told[1].flags == Flag.NO_EVENT | policy


def test_news_in_parts() -> None:
    news = e.News(5, "título", "ação " * 600, NOW, security_id=A, url="u")
    parts = [read(framed)[0] for framed in WRITERS[16].news(news, 0, 128)]
    assert len(parts) > 1
    assert [part.end_of_event for part in parts] == [False] * (len(parts) - 1) + [True]
    assembler, whole = NewsAssembler(), []
    for part in parts:
        assert isinstance(part.update, NewsPart)
        whole += assembler.receive(part.update, NOW)
    assert [news_of(one) for one in whole] == [news]


def test_unknown_values_stay_numbers_and_are_counted() -> None:
    framed = bytearray(WRITERS[16].encode(order(), 0, 1))
    body = FRAMING_SIZE + 8
    framed[body + 8], framed[body + 9], framed[body + 10] = 0x81, 9, ord("Z")
    reader = PlainReader(84)
    (told,) = reader.read(DECODER.decode(bytes(framed), FRAMING_SIZE))
    assert isinstance(told.update, e.OrderUpdate)
    assert (told.update.action, told.update.side) == (9, ord("Z"))
    assert told.end_of_event
    assert reader.unknown == {
        ("Order_MBO_50", "mDUpdateAction", 9): 1,
        ("Order_MBO_50", "mDEntryType", ord("Z")): 1,
    }


def test_values_that_the_schema_knows_and_the_model_does_not() -> None:
    framed = bytearray(WRITERS[16].encode(order(), 0, 1))
    framed[FRAMING_SIZE + 8 + 9], framed[FRAMING_SIZE + 8 + 10] = 5, ord("J")
    (told,) = read(bytes(framed))
    assert isinstance(told.update, e.OrderUpdate)
    assert (told.update.action, told.update.side) == (5, ord("J"))


def test_what_a_short_block_lacks_is_named() -> None:
    message = DECODER.decode(bytes((0, 0, 50, 0, 2, 0, 16, 0)))
    (told,) = PlainReader(84).read(message)
    assert set(told.lacks) == {"security_id", "action", "side", "order_id", "size"}
    assert told.flags == Flag.NO_EVENT


def test_unknown_templates() -> None:
    (told,) = PlainReader(84).read(SbeMessage(DECODER.header(bytes((0, 0, 99, 0, 2, 0, 16, 0)), 0)))
    assert told.update == NotUnderstood(99)


def test_prices_that_do_not_fit() -> None:
    """A reference price of four places (PriceBand_20) in units of eight."""
    raw = bytearray(8 + 48)
    raw[:8] = bytes((48, 0, 20, 0, 2, 0, 7, 0))
    raw[8 + 28 : 8 + 36] = (1 << 62).to_bytes(8, "little")
    (told,) = PlainReader(84).read(DECODER.decode(bytes(raw)))
    assert isinstance(told.update, e.PriceBand)
    assert told.update.reference_fine is None
    assert told.lacks == ("tradingReferencePrice",)


@pytest.mark.parametrize("version", KNOWN)
def test_nothing_that_is_sent_makes_reading_fail(version: int) -> None:
    writer, reader = RandomWriter(SCHEMA, random.Random(version), strange=0.5), PlainReader(84)
    for _ in range(20):
        for template in SCHEMA.at(version).messages:
            told = reader.read(DECODER.decode(writer.message(template, version)))
            assert all(one.version == version for one in told)
    assert reader.unknown


VOCABULARY = {
    "mDUpdateAction": words.ACTIONS, "mDEntryType": words.ENTRY_SIDES, "legSide": words.SIDES,
    "aggressorSide": words.AGGRESSORS, "tradingSessionID": words.SESSIONS, "trdSubType": words.SUB_TYPES,
    "securityTradingStatus": words.STATES, "tradingSessionSubID": words.PHASES,
    "securityTradingEvent": words.STATE_EVENTS, "openCloseSettlFlag": words.ORIGINS,
    "settlPriceType": words.SETTLEMENT_KINDS, "priceType": words.PRICE_KINDS,
    "priceBandType": words.BAND_TYPES, "priceLimitType": words.LIMIT_TYPES,
    "priceBandMidpointPriceType": words.MIDPOINTS, "securityUpdateAction": words.DEFINITION_ACTIONS,
    "securityType": words.SECURITY_TYPES, "legSecurityType": words.SECURITY_TYPES,
    "product": words.PRODUCTS, "newsSource": words.NEWS_SOURCES, "multiLegPriceMethod": words.PRICE_METHODS,
    "governanceIndicator": words.GOVERNANCES, "optPayoutType": words.PAYOUTS,
    "instrAttribValue": words.TRADE_TYPES, "tradeCondition": words.CONDITIONS,
    "imbalanceCondition": words.IMBALANCES,
}  # fmt: skip


@pytest.mark.parametrize("version", KNOWN)
def test_every_word_of_the_schema_is_known_by_its_number(version: int) -> None:
    checked = set()
    for layout in SCHEMA.at(version).messages.values():
        for field in (*layout.fields, *(f for group in layout.groups for f in group.fields)):
            known = VOCABULARY.get(field.name)
            if known is None:
                continue
            checked.add(field.name)
            for number, name in field.names.items():
                if field.name == "mDEntryType" and name in ("BID", "OFFER"):
                    continue
                assert known[name] == (1 << number if field.kind is FieldKind.SET else number), name
    assert len(checked) > 20
