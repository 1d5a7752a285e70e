"""Definitions from the wire to rows of the table of instruments."""

import json
from dataclasses import fields, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pregao.codecs.sbe import SbeMessageDecoder, load_builtin_schema
from pregao.exchange.bonds.catalogue import load_default_bonds
from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.binary.packets import FRAMING_SIZE
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.feeds.trademate.definitions import bond_fields, bond_of
from pregao.lake.plan.index import Defined
from pregao.lake.plan.marks import versions
from pregao.lake.plan.records import as_columns, from_rows
from pregao.lake.plan.units import LakeUnit
from pregao.lake.tables.instruments import INSTRUMENTS
from pregao.lake.tasks.plan_tables import instruments_table
from pregao.model.events import Definition
from pregao.model.fixed_income import Bond
from pregao.model.instruments import (
    Attribute,
    Governance,
    Instrument,
    ListingTerms,
    LotRule,
    Payout,
    PriceMethod,
    UnderlyingWeight,
)
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
    "bond": "bond_kind",
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


def test_what_a_list_tells_beside_the_rest() -> None:
    """As of an index: its members' weights keep all their places, and what is not told is not there."""
    listing = ListingTerms(
        country="BR", start_date=20_775, contract_month=(2026, 12), lots=(LotRule(2, 100),),
        weights=(UnderlyingWeight(7, "12.3456789012", None),),
    )  # fmt: skip
    share = load_default_catalogue().instrument("PETR4")
    defined = [
        Defined(replace(share, listing=each), DefinitionAction.ADD, 1_000 + number, -1)
        for number, each in enumerate((listing, ListingTerms(), None))
    ]
    full, *others = instruments_table(UNIT, versions(defined), "build").to_pylist()
    assert json.loads(full["listing"]) == {
        "country": "BR", "start_date": 20_775, "contract_month": [2026, 12],
        "lots": [{"type": 2, "size": 100}],
        "weights": [{"security_id": 7, "percent": "12.3456789012", "theoretical_quantity": None}],
    }  # fmt: skip
    assert full["lots"] == [{"type": 2, "size": 100}]
    assert [each["listing"] for each in others] == [None, None]


# Of bonds, as the text of a list has them.


def _listed(bond: Bond) -> Instrument:
    """Through 35=y and back: as a reader of Trademate has it."""
    entry = bond_fields(bond, DefinitionAction.ADD)
    return bond_of(entry, 0)[0].listed


def _row(bond: Bond) -> dict[str, Any]:
    defined = Defined(_listed(bond), DefinitionAction.ADD, 1_000, -1)
    (row,) = instruments_table(UNIT, versions([defined]), "build", exact=True).to_pylist()
    return row


def _places(value: int | None, exponent: int) -> Decimal | None:
    return None if value is None else Decimal(value).scaleb(exponent)


@pytest.mark.parametrize("bond", list(load_default_bonds()), ids=lambda bond: bond.instrument.symbol)
def test_what_a_bond_is_beyond_other_instruments(bond: Bond) -> None:
    """Every bond of the exchange's catalogue, against the catalogue."""
    row, one = _row(bond), bond.instrument
    told = dict(bond.attributes)
    expected = {
        "symbol": one.symbol, "bond_kind": bond.kind.name, "price_kind": bond.price_kind.name,
        "price_exponent": -8, "size_exponent": -8 if bond.allows_fractions else 0,
        "coupon": _places(bond.coupon_fine, -8), "coupon_type": bond.coupon_type.name,
        "hedge_factor": _places(bond.factor_fine, -8), "registration": bond.registration.name,
        "lot_type": bond.lot_type.name, "rate_increment": _places(bond.rate_increment, -8),
        "exact_lot": _places(one.lot, one.size_exponent),
        "exact_minimum_quantity": _places(one.minimum_quantity, one.size_exponent),
        "exact_maximum_quantity": _places(one.maximum_quantity, one.size_exponent),
        "exact_tick": _places(bond.increment, -8),
        "largest_rfq": _places(bond.largest_rfq, one.size_exponent),
        "largest_voice": _places(bond.largest_voice, one.size_exponent),
        "allows_fractions": bond.allows_fractions, "allows_negative": bond.allows_negative,
        "trading_sector": told.get(58), "rating_fitch": told.get(51), "rating_sp": told.get(53),
        "in_default": told.get(15), "restricted_effort": told.get(50),
        "bond_attributes": [{"type": kind, "value": text} for kind, text in bond.attributes],
        "underlyings": [{"security_id": leg.security_id, "symbol": leg.symbol} for leg in one.underlyings],
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    days = (date(1970, 1, 1) + timedelta(days=one.maturity_date)) if one.maturity_date is not None else None
    assert row["maturity_date"] == days
    ends = None if bond.valid_until_ns is None else bond.valid_until_ns // 10**6 * 10**6  # milliseconds
    assert row["ts_trading_ends"] == ends


def test_the_catalogue_has_all_of_it() -> None:
    """So that none of the columns above is only ever null."""
    rows = [_row(bond) for bond in load_default_bonds()]
    seldom = {column.name for column in INSTRUMENTS.columns if column.seldom}
    seldom -= {"exact_minimum_cross", "listing"}
    assert {name for row in rows for name in seldom if row[name] not in (None, [])} == seldom


def test_terms_of_bonds_outlive_a_process() -> None:
    """Definitions are stored with the index of a capture."""
    share = load_default_catalogue().instrument("PETR4")
    told = [Defined(_listed(bond), DefinitionAction.ADD, 1, -1) for bond in load_default_bonds()]
    told.insert(3, Defined(share, DefinitionAction.ADD, 2, -1))
    assert from_rows(as_columns(told, Defined).to_pylist(), Defined) == told
    listing = ListingTerms(
        contract_month=(2026, 12), attributes=(Attribute(24, "1"),), lots=(LotRule(2, None),),
        weights=(UnderlyingWeight(7, "12.3456789012", None),),
    )  # fmt: skip
    told.append(Defined(replace(share, listing=listing), DefinitionAction.ADD, 3, -1))
    assert from_rows(as_columns(told, Defined).to_pylist(), Defined) == told
    only = [Defined(share, DefinitionAction.ADD, 2, -1)]
    assert from_rows(as_columns(only, Defined).to_pylist(), Defined) == only
