"""What a real server may send and ours never does: optional fields left out, values that the text does not
list, and what it says in two ways. Nothing of it may cost a book or a definition."""

import pytest

from pregao.feeds.port import Reading
from pregao.feeds.trademate.definitions import bond_of
from pregao.feeds.trademate.reader import TrademateReader
from pregao.model.errors import Fault
from pregao.model.fixed_income import Bond, BondKind, CouponType, Registration
from pregao.model.instruments import Product, SecurityType
from pregao.model.rows import Flag, Kind
from tests.kits.fix_messages import raw
from tests.kits.trademate import TRADEMATE

HEAD = "34=2|49=B3|52=20261116-13:00:00.000|56=CLIENT|"
WHEN = "272=20261116|273=13:00:00.000|"
NUMBER = 500000001


def _read(reader: TrademateReader, kind: str, body: str, head: str = HEAD) -> Reading:
    return reader.read_unit(raw(f"35={kind}|{head}{body}"))


def _list(reader: TrademateReader, fields: str) -> Bond:
    reading = _read(reader, "y", f"146=1|55=LTN010130|48={NUMBER}|22=8|207=BVMF|980=M|{fields}")
    assert [row["kind"] for row in reading.rows] == [Kind.DEFINITION]
    listed = reader.definition(reading.rows[0])
    assert listed is not None
    assert listed.definition.instrument.bond is not None
    return reader.bonds[NUMBER]


@pytest.fixture
def reader() -> TrademateReader:
    return TrademateReader(90, TRADEMATE)


@pytest.mark.parametrize(
    ("told", "kind"),
    [("762=7|", BondKind.LTN), ("762=LTN|", BondKind.LTN), ("762=NTNB|", BondKind.NTNB),
     ("", BondKind.OTHER), ("762=11|", BondKind.OTHER), ("762=TESOURO|", BondKind.OTHER)],
)  # fmt: skip
def test_kinds_are_numbers_names_or_neither(reader: TrademateReader, told: str, kind: BondKind) -> None:
    bond = _list(reader, told)
    assert (bond.kind, bond.instrument.symbol) == (kind, "LTN010130")
    if told == "762=11|":
        assert bond.instrument.sub_type == 11


def test_all_that_is_optional_may_be_absent(reader: TrademateReader) -> None:
    bond = _list(reader, "460=6|")
    instrument = bond.instrument
    assert (instrument.product, instrument.security_type) == (Product.GOVERNMENT, SecurityType.GOVBOND)
    assert (bond.coupon_type, bond.registration) == (CouponType.OTHER, Registration.OTHER)
    assert (instrument.price_kind, instrument.size_exponent) == (None, 0)
    assert (bond.coupon_fine, bond.factor_fine, bond.valid_until_ns) == (None, None, None)


def test_values_of_no_list_are_kept_or_other(reader: TrademateReader) -> None:
    bond = _list(
        reader, "167=FEDERAL|762=6|1946=9|876=7|423=99|870=3|871=58|872=8|871=58|872=44|871=99|872=x|"
    )
    assert bond.attributes == ((58, "8"), (58, "44"), (99, "x"))
    assert (bond.sector, bond.kind) == ("8", BondKind.LFT)
    assert (bond.coupon_type, bond.registration) == (CouponType.OTHER, Registration.OTHER)
    assert bond.instrument.security_type is SecurityType.GOVBOND
    assert bond.instrument.product is Product.GOVERNMENT  # 460 was not told: by its kind
    assert bond.instrument.price_kind is None


def test_fractions_are_known_by_quantities_where_9750_is_absent(reader: TrademateReader) -> None:
    assert _list(reader, "762=4|561=0.01|").instrument.size_exponent == -8
    assert _list(reader, "762=4|561=1.00|9748=5000|").instrument.size_exponent == 0
    assert _list(reader, "762=4|561=0.01|9750=Y|").instrument.lot == 1_000_000


@pytest.mark.parametrize("head", [HEAD, f"1128=9|{HEAD}"], ids=["", "ApplVerID"])
@pytest.mark.parametrize("time", ["13:00:00.000", "130000000", "13:00:00"])
def test_an_order_with_a_factor_and_times_of_either_form(
    reader: TrademateReader, head: str, time: str
) -> None:
    body = (
        f"75=20261116|268=1|279=0|37=7|269=0|876=1|228=1.05|423=9|48={NUMBER}|22=8|207=BVMF|270=-0.01|"
        f"271=5|272=20261116|273={time}|290=1|37016=20261116|37017={time}|"
    )
    reading = _read(reader, "X", body, head)
    (row,) = reading.rows
    assert not reading.faults
    assert (row["kind"], row["price"], row["size"], row["position"]) == (Kind.ORDER, -1_000_000, 5, 1)
    assert row["time_ns"] == row["inserted_ns"] == 1_794_834_000_000_000_000
    assert row["flags"] & Flag.IN_RATES  # by its own 423: nothing has defined it


@pytest.mark.parametrize(("defined", "is_rate"), [("423=2|", False), ("423=9|", True), ("", True)])
def test_a_book_has_the_prices_of_its_definition(
    reader: TrademateReader, defined: str, is_rate: bool
) -> None:
    _list(reader, f"762=7|{defined}")
    order = f"279=0|37=7|269=0|48={NUMBER}|22=8|270=1|271=5|{WHEN}290=1|423=6|"
    assert bool(_read(reader, "X", f"268=1|{order}").rows[0]["flags"] & Flag.IN_RATES) is is_rate


def test_an_entry_of_an_unknown_type_costs_nothing_else(reader: TrademateReader) -> None:
    order = f"269=1|423=9|270=13.5|271=5|{WHEN}37=7|290=1|"
    body = f"262=a|75=20261116|48={NUMBER}|22=8|207=BVMF|268=3|{order}269=6|270=1|{WHEN}269=z|{WHEN}"
    reading = _read(reader, "W", body)
    assert [row["kind"] for row in reading.rows] == [Kind.SNAPSHOT, Kind.SNAPSHOT_ORDER]
    assert [(fault.fault, fault.lost) for fault in reading.faults] == [(Fault.FIX_UNKNOWN_VALUE, False)] * 2
    emptied = _read(reader, "X", f"268=1|279=0|269=J|48={NUMBER}|22=8|{WHEN}")
    assert [row["kind"] for row in emptied.rows] == [Kind.OTHER]  # its book is in doubt


@pytest.mark.parametrize("entries", [1, 2])
def test_a_snapshot_may_name_its_instrument_in_its_entries(reader: TrademateReader, entries: int) -> None:
    orders = [
        f"269=0|423=9|270=13.{place}|271=5|{WHEN}37={place}|290={place}|48={NUMBER}|22=8|207=BVMF|876=1|"
        for place in range(1, entries + 1)
    ]
    reading = _read(reader, "W", f"262=a|75=20261116|268={entries}|{''.join(orders)}")
    assert not reading.faults
    assert [row["kind"] for row in reading.rows] == [Kind.SNAPSHOT, *[Kind.SNAPSHOT_ORDER] * entries]
    assert {row["security_id"] for row in reading.rows} == {NUMBER}


def test_a_net_change_may_stand_before_the_entries(reader: TrademateReader) -> None:
    body = f"262=a|75=20261116|48={NUMBER}|22=8|207=BVMF|451=0.5|268=1|269=2|423=9|270=1|271=5|{WHEN}1003=1|"
    reading = _read(reader, "W", body)
    assert not [fault for fault in reading.faults if fault.lost]
    assert [row["kind"] for row in reading.rows] == [Kind.SNAPSHOT, Kind.LAST_TRADE]


def test_a_state_of_another_number_is_kept(reader: TrademateReader) -> None:
    (row,) = _read(reader, "f", f"48={NUMBER}|22=8|207=BVMF|60=20261116-13:00:00.000|326=18|").rows
    assert (row["kind"], row["type"]) == (Kind.STATE, 18)
    (row,) = _read(reader, "f", f"48={NUMBER}|22=8|207=BVMF|60=20261116-13:00:00.000|").rows
    assert row["type"] == 17  # absent: open


ORDER = f"279=0|37=8|269=0|48={NUMBER}|22=8|270=1|271=5|{WHEN}290=1|423=9|"
TRADE = f"279=0|269=2|48={NUMBER}|22=8|270=1|271=5|{WHEN}1003=T9|423=9|"


@pytest.mark.parametrize(
    ("entry", "kinds", "lost"),
    [
        (ORDER.replace("37=8", "37=A8"), [Kind.OTHER], True),  # the book is in doubt
        (ORDER.replace(f"48={NUMBER}", "48=LTN"), [Kind.OTHER], True),
        (ORDER.replace(f"48={NUMBER}|", ""), [Kind.OTHER], True),
        (TRADE.replace(f"48={NUMBER}", "48=LTN"), [], True),
        (TRADE, [Kind.TRADE], False),
        (TRADE.replace("1003=T9|", ""), [Kind.TRADE], False),
        (TRADE.replace("279=0", "279=2"), [], True),
    ],
    ids=["37", "48 of an order", "no 48", "48 of a trade", "1003", "no 1003", "1003 of a bust"],
)
def test_names_that_are_no_numbers_are_findings_and_cost_nothing_else(
    reader: TrademateReader, entry: str, kinds: list[Kind], lost: bool
) -> None:
    """37, 48 and 1003 are strings in the text."""
    _list(reader, "762=7|423=9|")
    reading = _read(reader, "X", f"268=2|{entry}{ORDER}")
    assert [row["kind"] for row in reading.rows] == [*kinds, Kind.ORDER]
    assert [(each.fault, each.lost) for each in reading.faults] == [(Fault.FIX_UNKNOWN_VALUE, lost)]
    assert (reading.rows[-1]["security_id"], reading.rows[-1]["id"]) == (NUMBER, 8)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("W", f"262=a|48=LTN|22=8|207=BVMF|268=1|269=0|423=9|270=13|271=5|{WHEN}37=1|290=1|"),
        ("f", "48=LTN|22=8|207=BVMF|60=20261116-13:00:00.000|326=18|"),
        ("f", "22=8|207=BVMF|60=20261116-13:00:00.000|326=18|"),
    ],
)
def test_a_message_of_an_instrument_that_is_no_number_is_a_finding(
    reader: TrademateReader, kind: str, body: str
) -> None:
    reading = _read(reader, kind, body)
    assert [each.fault for each in reading.faults] == [Fault.FIX_UNKNOWN_VALUE]
    assert not len(reading.rows)
    nothing = _read(reader, "W", "262=a|911=0|893=Y|268=0|")  # of a filter that matches none
    assert (len(nothing.rows), nothing.faults) == (0, [])


def test_a_bond_without_a_number_is_none(reader: TrademateReader) -> None:
    reading = _read(reader, "y", "146=2|55=A|22=8|207=BVMF|980=M|55=B|48=9|22=8|207=BVMF|980=A|")
    assert [(row["kind"], row["security_id"]) for row in reading.rows] == [(Kind.DEFINITION, 9)]
    assert [fault.fault for fault in reading.faults] == [Fault.FIX_UNKNOWN_VALUE]
    assert bond_of({48: b"9"}, 90)[0].kind is BondKind.OTHER
