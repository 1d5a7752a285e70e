"""Instruments as of their time: one row is one version of one instrument (`model.instruments`)."""

from dataclasses import replace
from typing import Final

from pregao.lake.tables import types as words
from pregao.lake.tables.ledger import BY_INSTRUMENT, IN_STATE, with_lineage
from pregao.lake.tables.messages import PRICE_KIND, STREAM
from pregao.lake.tables.table import Column, Table, exact_beside, word
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
    SIZE,
    TEXT,
    list_of,
    struct_of,
)
from pregao.model.fixed_income import CouponType, LotType, Registration

# What only bonds have.
_BOND: Final = tuple(
    replace(column, seldom=True)
    for column in (
        Column("bond_kind", NAME, "of a bond, or of the bond of a casada"),
        Column("coupon", FINE_PRICE, "interest of a year, as a fraction"),
        word("coupon_type", words.names(CouponType)),
        Column("coupon_date", DATE, "of the next payment"),
        Column("hedge_factor", FINE_PRICE, "of a casada (Trademate tag 228); its legs are underlyings"),
        word("registration", words.names(Registration), "Trademate tag 876"),
        word("lot_type", words.names(LotType)),
        Column("rate_increment", FINE_PRICE, "of those in yields and spreads: what tick is of others"),
        Column("largest_rfq", FINE_PRICE, "largest quantity of a request for quotes"),
        Column("largest_voice", FINE_PRICE, "largest quantity of a voice trade"),
        Column("allows_fractions", BOOL, "of quantities"),
        Column("allows_negative", BOOL, "rates"),
        Column("trading_sector", NAME),
        Column("rating_fitch", NAME),
        Column("rating_sp", NAME),
        Column("in_default", NAME, "as sent"),
        Column("restricted_effort", NAME, "as sent"),
        Column("ts_trading_ends", NANOSECONDS),
        Column("bond_attributes", list_of(struct_of(type=INT, value=TEXT)), "all of Trademate's tag 870"),
    )
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
        *exact_beside(
            Column("tick", PRICE),
            Column("lot", CODE),
            Column("minimum_quantity", CODE),
            Column("maximum_quantity", CODE),
            Column("minimum_cross", CODE, "smallest quantity of a cross order; null: any"),
        ),
        Column("price_exponent", INT, "prices are told in its power of ten; null: −4", seldom=True),
        Column("size_exponent", INT, "sizes are told in its power of ten; null: 0", seldom=True),
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
        Column("listing", TEXT, "what its list tells beside the rest, as JSON with the names of "
               "`model.instruments.ListingTerms`; decimals are text", seldom=True),
        *_BOND,
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip


# Tables made from books.


DEPTH_LEVELS: Final = 10
_SIDES: Final = ("bid", "offer")

QUOTES: Final = Table(
    "quotes", "best bid and offer after each event that changed them",
    with_lineage(
        *(
            column
            for side in _SIDES
            for column in (
                *exact_beside(Column(f"{side}_price", PRICE), Column(f"{side}_size", SIZE)),
                Column(f"{side}_orders", INT),
            )
        ),
        PRICE_KIND,
        *IN_STATE,
        STREAM,
    ),
    order=BY_INSTRUMENT,
    bare_times=True,
)  # fmt: skip
# A column for each level and not a list: a level of an instrument, whose rows stand together, changes seldom.
# The table takes two thirds of the room and of the time, and whoever wants the best price reads just that.
DEPTH: Final = Table(
    "depth", "price levels of both sides, best first, where something changed",
    with_lineage(
        Column("ts_sample", LONG, "end of the interval the book was looked at"),
        *(
            column
            for side in _SIDES
            for level in range(1, DEPTH_LEVELS + 1)
            for column in (
                *exact_beside(Column(f"{side}_price_{level}", PRICE), Column(f"{side}_size_{level}", LONG)),
                Column(f"{side}_orders_{level}", INT),
            )
        ),
        *IN_STATE,
        STREAM,
    ),
    order=BY_INSTRUMENT,
    bare_times=True,
)  # fmt: skip
BOOK_CHECKPOINTS: Final = Table(
    "book_checkpoints", "an order of a whole book at an anchor; without order_id: the book is empty, without"
    " security_id: so are those of all others",
    with_lineage(
        Column("ts_checkpoint", NANOSECONDS, skip=True),
        word(
            "anchor", words.ANCHORS, "SNAPSHOT: told by a loop; STORED: as we had it at the end of the day;"
            " CARRIED: the day began with it, only of empty books: the others are told by orders",
        ),
        Column("applied_seq_num", LONG, "last packet in this book"),
        Column("applied_rpt_seq", LONG, "last rptSeq in this book"),
        word("side", words.SIDES),
        Column("order_id", LONG),
        *exact_beside(Column("price", PRICE), Column("size", SIZE)),
        Column("position", LONG),
        Column("firm", CODE),
        Column("ts_inserted", NANOSECONDS),
        Column("implied", BOOL),
        STREAM,
    ),
    order=("security_id", "ts_checkpoint", "side", "position"),
)  # fmt: skip

BOOK_TABLES: Final = (QUOTES, DEPTH, BOOK_CHECKPOINTS)
