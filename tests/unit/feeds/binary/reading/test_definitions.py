"""Instruments are read as they were listed."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from pregao.codecs.sbe import SbeMessage, SbeMessageDecoder, SbeMessageEncoder, load_builtin_schema
from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.binary.packets import FRAMING_SIZE, PacketHeader
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.reading import rows
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.binary.reading.values import TranslatedMessage
from pregao.model import events as e
from pregao.model.instruments import Instrument, Payout
from pregao.model.market import DefinitionAction, Side

SCHEMA = load_builtin_schema()
DECODER = SbeMessageDecoder(SCHEMA)
VERSIONS = (7, 8, 9, 10, 15, 16, 17)


def read(framed: bytes, channel: int = 84) -> TranslatedMessage:
    (told,) = PlainReader(channel).read(DECODER.decode(framed, FRAMING_SIZE))
    return told


def as_sent(instrument: Instrument, version: int) -> Instrument:
    """As a version can say it; the closing price has a message of its own."""
    payout = instrument.payout
    if version < 16 or instrument.is_put is None:
        payout = None
    elif version < 17 and payout is Payout.VANILLA_CASH:
        payout = Payout.VANILLA
    return replace(
        instrument,
        closing_price=None,
        implied=instrument.implied and version >= 10,
        is_test=instrument.is_test and version >= 17,
        user_defined=instrument.user_defined and bool(instrument.legs),
        payout=payout,
        price_method=instrument.price_method if instrument.legs else None,
    )


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_instrument_of_the_catalogue(version: int, signed: bool) -> None:
    """Whether ratios of legs have a sign on the wire or not."""
    writer = MessageWriter(SCHEMA, version, signed_ratios=signed)
    for listing in load_default_catalogue().listings:
        instrument = listing.instrument
        told = read(writer.definition(instrument, DefinitionAction.MODIFY, 7), instrument.channel)
        assert told.update == e.Definition(as_sent(instrument, version), DefinitionAction.MODIFY)
        assert (told.total, told.last, told.rpt_seq, told.lacks) == (7, True, None, ())


FIELDS: dict[str, Any] = {
    "securityID": 5, "securityExchange": "BVMF", "securityIDSource": "EXCHANGE_SYMBOL",
    "securityGroup": "01", "symbol": "AAAA3", "securityUpdateAction": "ADD", "securityType": "CS",
    "securitySubType": 0, "totNoRelatedSym": 1, "issueDate": 0, "asset": "AAAA", "cfiCode": "ESXXXX",
    "currency": "BRL", "product": "EQUITY",
}  # fmt: skip


def definition(version: int, **other: Any) -> TranslatedMessage:
    name = "SecurityDefinition_4" if version < 8 else "SecurityDefinition_12"
    message = SbeMessageEncoder(SCHEMA, version).encode(name, FIELDS | other)
    (told,) = PlainReader(84).read(DECODER.decode(message))
    return told


def instrument_of(told: TranslatedMessage) -> Instrument:
    assert isinstance(told.update, e.Definition)
    return told.update.instrument


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_null_is_as_the_model_has_it(version: int) -> None:
    instrument = instrument_of(definition(version))
    assert (instrument.tick, instrument.lot, instrument.strike) == (100, 100, None)
    assert (instrument.segment, instrument.price_kind, instrument.trade_types) == (0, None, ())
    assert not instrument.accepts_gt


def test_increments_of_four_and_of_eight_places() -> None:
    assert instrument_of(definition(7, minPriceIncrement=Decimal("0.0005"))).tick == 5
    assert instrument_of(definition(16, minPriceIncrement=Decimal("0.0005"))).tick == 5


def test_what_the_model_cannot_hold_is_rounded_down_and_said() -> None:
    told = definition(16, minPriceIncrement=Decimal("0.00015"))
    assert instrument_of(told).tick == 1
    assert told.lacks == ("minPriceIncrement",)


@pytest.mark.parametrize("version", VERSIONS)
def test_multipliers_and_divisors_have_eight_places(version: int) -> None:
    told = definition(version, contractMultiplier=Decimal("0.2"), priceDivisor=Decimal("1.00000001"))
    instrument = instrument_of(told)
    assert (instrument.multiplier_fine, instrument.price_divisor_fine) == (20_000_000, 100_000_001)
    assert told.lacks == ()
    writer = MessageWriter(SCHEMA, version)
    again = read(writer.definition(instrument, DefinitionAction.ADD, 1))
    assert instrument_of(again) == instrument


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_null_is_neither_one_nor_lacking(version: int) -> None:
    told = definition(version)
    instrument = instrument_of(told)
    assert (instrument.multiplier_fine, instrument.price_divisor_fine) == (None, None)
    assert told.lacks == ()
    again = read(MessageWriter(SCHEMA, version).definition(instrument, DefinitionAction.ADD, 1))
    assert instrument_of(again).price_divisor_fine is None


@pytest.mark.parametrize(
    ("ratio", "side", "expected", "lacks"),
    [
        ("-1", "SELL", (Side.SELL, 1), ()),  # as B3 sends it: the sign counts once
        ("1", "SELL", (Side.SELL, 1), ()),
        ("2", "BUY", (Side.BUY, 2), ()),
        ("-2", None, (Side.SELL, 2), ()),
        ("-2", "BUY", (Side.BUY, 2), ("leg.ratio",)),  # they contradict each other: the side is believed
        ("2", None, (None, 2), ("leg.side",)),
    ],
)
def test_the_sign_of_a_ratio_counts_once(
    ratio: str, side: str | None, expected: tuple[Side | None, int], lacks: tuple[str, ...]
) -> None:
    leg = {
        "legSecurityID": 7, "legRatioQty": Decimal(ratio), "legSecurityType": "FUT", "legSide": side,
        "legSymbol": "DI1F27",
    }  # fmt: skip
    told = PlainReader(84).read(_with_leg(leg))[0]
    (found,) = instrument_of(told).legs
    assert (found.side, found.ratio) == expected
    assert told.lacks == lacks


def _with_leg(leg: dict[str, Any]) -> SbeMessage:
    """A definition as it is decoded; a side that is null is nothing that an encoder would write."""
    message = DECODER.decode(SbeMessageEncoder(SCHEMA, 16).encode("SecurityDefinition_12", FIELDS))
    return replace(message, fields={**(message.fields or {}), "noLegs": [leg]})


def test_a_definition_that_says_nothing() -> None:
    raw = bytes((0, 0, 12, 0, 2, 0, 16, 0)) + bytes(3 * 3 + 1)
    (told,) = PlainReader(84).read(DECODER.decode(raw))
    assert {"security_id", "symbol", "group", "asset", "security_type", "product", "action"} == set(
        told.lacks
    )
    assert (instrument_of(told).security_id, told.total, told.last) == (0, None, False)


def test_the_same_bytes_are_read_once_for_a_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two feeds and every loop say the same: whoever reads them gets what a plain reader does."""
    instruments = list(load_default_catalogue().instruments)[:3]
    writer, header = MessageWriter(SCHEMA, 17), PacketHeader(84, 1, 1, 0).encode()
    messages = [writer.definition(each, DefinitionAction.ADD, 3) for each in instruments]
    decoded: list[int] = []
    expected = [[read(message, channel).update for message in messages] for channel in (84, 72)]
    real = SbeMessageDecoder.decode
    monkeypatch.setattr(SbeMessageDecoder, "decode", lambda *given: (decoded.append(1), real(*given))[1])
    monkeypatch.setattr(rows, "_KNOWN", {})

    def listed(channel: int) -> list[e.Definition]:
        found = []
        for message in messages:
            reader = RowReader(SCHEMA, channel=channel)
            told = reader.definition(reader.read_unit(header + message).rows[0])
            assert told is not None
            found.append(told.definition)
        return found

    assert [listed(84), listed(72), listed(84)] == [*expected, expected[0]]
    assert len(decoded) == 2 * len(messages)
    few: dict[object, object] = {}
    monkeypatch.setattr(rows, "_KNOWN", few)
    monkeypatch.setattr(rows, "_MOST_KNOWN", 2)
    assert listed(84) == listed(84) == expected[0]
    assert 0 < len(few) <= 2
