"""Definitions from the wire to rows of the table of instruments."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from pregao.codecs.sbe import MessageDecoder, load_builtin_schema
from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.binary.packets import FRAMING_SIZE
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.lake.plan.index import Defined
from pregao.lake.plan.instruments import versions
from pregao.lake.plan.units import Unit
from pregao.lake.tasks.plan_tables import instruments_table
from pregao.model.events import Definition
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction

SCHEMA = load_builtin_schema()
UNIT = Unit(84, date(2026, 11, 16), versions=[46])


def told(instrument: Instrument, version: int, sent_ns: int) -> Defined:
    """As a reader of the wire has it."""
    framed = MessageWriter(SCHEMA, version).definition(instrument, DefinitionAction.ADD, 1)
    (one,) = PlainReader(84).read(MessageDecoder(SCHEMA).decode(framed, FRAMING_SIZE))
    assert isinstance(one.update, Definition)
    return Defined(one.update.instrument, one.update.action, sent_ns, -1)


@pytest.mark.parametrize("version", [8, 16, 17])
def test_fractional_multipliers_and_divisors_are_exact(version: int) -> None:
    mini = load_default_catalogue().instrument("WINZ26")
    changed = replace(mini, multiplier_fine=1, price_divisor_fine=2_50000000)
    rows = instruments_table(
        UNIT, versions([told(mini, version, 1_000), told(changed, version, 2_000)]), "build"
    ).to_pylist()
    assert [(row["valid_from"], row["valid_to"]) for row in rows] == [(1_000, 2_000), (2_000, None)]
    assert [(row["multiplier"], row["price_divisor"]) for row in rows] == [
        (Decimal("0.2"), Decimal(1)),
        (Decimal("0.00000001"), Decimal("2.5")),
    ]


@pytest.mark.parametrize("version", [8, 16, 17])
def test_null_stays_null_and_ratios_have_no_sign(version: int) -> None:
    """Though on the wire a leg to sell has a ratio below zero."""
    catalogue = load_default_catalogue()
    spread = next(each.instrument for each in catalogue.listings if len(each.instrument.legs) > 1)
    without = replace(spread, multiplier_fine=None, price_divisor_fine=None)
    (row,) = instruments_table(UNIT, versions([told(without, version, 1_000)]), "build").to_pylist()
    assert (row["multiplier"], row["price_divisor"]) == (None, None)
    assert [(leg["side"], leg["ratio"]) for leg in row["legs"]] == [
        (leg.side.name, Decimal(leg.ratio)) for leg in spread.legs
    ]
    assert {leg["side"] for leg in row["legs"]} == {"BUY", "SELL"}
