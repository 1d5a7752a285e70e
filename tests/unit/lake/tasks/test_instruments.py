"""Definitions from the wire to rows of the table of instruments."""

from dataclasses import fields, replace
from datetime import date
from decimal import Decimal

import pytest

from pregao.codecs.sbe import SbeMessageDecoder, load_builtin_schema
from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.binary.packets import FRAMING_SIZE
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.lake.plan.index import Defined
from pregao.lake.plan.marks import versions
from pregao.lake.plan.units import LakeUnit
from pregao.lake.tables.instruments import INSTRUMENTS
from pregao.lake.tasks.plan_tables import instruments_table
from pregao.model.events import Definition
from pregao.model.instruments import Governance, Instrument, Payout, PriceMethod
from pregao.model.market import DefinitionAction, PriceKind

SCHEMA = load_builtin_schema()
UNIT = LakeUnit(84, date(2026, 11, 16), versions=[46])


def told(instrument: Instrument, version: int, sent_ns: int) -> Defined:
    """As a reader of the wire has it."""
    framed = MessageWriter(SCHEMA, version).definition(instrument, DefinitionAction.ADD, 1)
    (one,) = PlainReader(84).read(SbeMessageDecoder(SCHEMA).decode(framed, FRAMING_SIZE))
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


# What the channel and the lineage say, and what has columns of another name: see below.
ELSEWHERE = {
    "channel": "channel", "group": "security_group", "multiplier_fine": "multiplier",
    "price_divisor_fine": "price_divisor", "maturity": "maturity_year", "trade_types": "attributes",
    "price_exponent": "tick", "size_exponent": "lot",  # decimals and wholes: the types of columns say it
}  # fmt: skip


def test_every_field_of_an_instrument_has_a_column() -> None:
    columns = {column.name for column in INSTRUMENTS.columns}
    missing = {field.name for field in fields(Instrument)} - columns
    assert {ELSEWHERE.get(name, name) for name in missing} <= columns


@pytest.mark.parametrize("version", [8, 16, 17])
def test_smallest_crosses_settlement_and_what_a_price_means(version: int) -> None:
    share = replace(
        load_default_catalogue().instrument("PETR4"), minimum_cross=500, price_kind=PriceKind.PERCENTAGE,
        governance=Governance.LEVEL_2, is_buy_back=True, clearing_id=77, settlement_days=2,
        settlement_date=20_775,
    )  # fmt: skip
    without = replace(
        share, minimum_cross=None, price_kind=None, governance=None, is_buy_back=False, clearing_id=None,
        settlement_days=None, settlement_date=None,
    )  # fmt: skip
    names = (
        "minimum_cross", "price_kind", "governance", "is_buy_back", "clearing_id", "settlement_days",
        "settlement_date", "price_method", "strategy_type", "payout",
    )  # fmt: skip
    full, empty = instruments_table(
        UNIT, versions([told(share, version, 1_000), told(without, version, 2_000)]), "build"
    ).to_pylist()
    assert [full[name] for name in names] == [
        500, "PERCENTAGE", "LEVEL_2", True, 77, 2, date(2026, 11, 18), None, None, None,
    ]  # fmt: skip
    assert [empty[name] for name in names] == [None, None, None, False, *[None] * 6]


@pytest.mark.parametrize("version", [8, 16, 17])
def test_strategies_and_options(version: int) -> None:
    catalogue = load_default_catalogue()
    spread = next(each.instrument for each in catalogue.listings if len(each.instrument.legs) > 1)
    spread = replace(spread, price_method=PriceMethod.YIELD_DIFFERENCE, strategy_type="FRA")
    option = next(each.instrument for each in catalogue.listings if each.instrument.is_put)
    option = replace(option, payout=Payout.BINARY)
    both = versions([told(spread, version, 1_000), told(option, version, 1_000)])
    rows = {row["symbol"]: row for row in instruments_table(UNIT, both, "build").to_pylist()}
    found = [
        [rows[each.symbol][name] for name in ("price_method", "strategy_type", "payout")]
        for each in (spread, option)
    ]
    payout = "BINARY" if version >= 16 else None  # earlier ones have no such field
    assert found == [["YIELD_DIFFERENCE", "FRA", None], [None, None, payout]]


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
