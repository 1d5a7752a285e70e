"""Instruments as of their time: one row is one version of one instrument (`model.instruments`)."""

from typing import Final

from pregao.lake.tables import words
from pregao.lake.tables.lineage import BY_INSTRUMENT, with_lineage
from pregao.lake.tables.table import Column, Table, word
from pregao.lake.tables.types import (
    BOOL,
    CODE,
    DATE,
    FINE_PRICE,
    INT,
    LONG,
    NAME,
    NANOSECONDS,
    PRICE,
    TEXT,
    list_of,
    struct_of,
)

INSTRUMENTS: Final = Table(
    "instruments", "one version of one instrument, valid from–to",
    with_lineage(
        Column("valid_from", NANOSECONDS, "an id used again for another symbol is another instrument"),
        Column("valid_to", NANOSECONDS, "null: until further notice"),
        word("action", words.DEFINITION_ACTIONS),
        Column("security_group", NAME),
        Column("asset", NAME),
        Column("exchange", NAME),
        Column("security_type", NAME),
        Column("product", NAME),
        Column("sub_type", INT),
        Column("segment", INT, "matching engine"),
        Column("description", TEXT),
        Column("isin", TEXT),
        Column("currency", NAME),
        Column("cfi_code", NAME),
        Column("tick", PRICE),
        Column("lot", CODE),
        Column("minimum_quantity", CODE),
        Column("maximum_quantity", CODE),
        Column("minimum_cross", CODE, "smallest quantity of a cross order; null: any"),
        Column("multiplier", FINE_PRICE),
        Column("price_divisor", FINE_PRICE),
        Column("strike", PRICE),
        Column("is_put", BOOL),
        Column("is_american", BOOL),
        Column("issue_date", DATE),
        Column("maturity_date", DATE),
        Column("maturity_year", INT),
        Column("maturity_month", INT),
        Column("shares_issued", LONG),
        Column("is_odd_lot", BOOL),
        Column("accepts_gt", BOOL),
        Column("implied", BOOL, "eligible for the implied mechanism (18)"),
        Column("user_defined", BOOL),
        Column("is_test", BOOL),
        Column("closing_price", FINE_PRICE, "of the day before"),
        word("price_kind", words.PRICE_KINDS),
        Column("price_method", NAME, "of those with legs: how their price follows from the legs'"),
        Column("strategy_type", NAME, "of those with legs"),
        Column("payout", NAME, "of options"),
        Column("governance", NAME, "level of the company behind a share"),
        Column("is_buy_back", BOOL, "made for a special auction"),
        Column("clearing_id", LONG, "what the clearing house calls it"),
        Column("settlement_days", INT, "from trade to settlement"),
        Column("settlement_date", DATE, "where given, it counts and not the days"),
        Column("legs", list_of(
            struct_of(security_id=LONG, symbol=TEXT, side=TEXT, ratio=FINE_PRICE, security_type=TEXT)
        )),
        Column("underlyings", list_of(struct_of(security_id=LONG, symbol=TEXT))),
        Column("attributes", list_of(struct_of(type=INT, value=INT))),
        Column("lots", list_of(struct_of(type=INT, size=LONG))),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
