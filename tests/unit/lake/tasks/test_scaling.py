"""Mantissas to exact columns and those beside them, against decimals of Python."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan.marks import Version
from pregao.lake.plan.scales import SCALE, ScaleError, scales
from pregao.lake.tables.arrays import TooLargeError
from pregao.lake.tasks.scaling import Scaling, unscale
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import DefinitionAction, PriceKind
from pregao.model.rows import NULL, ROW
from tests.toy.system import BONDS, TOY
from tests.twins import scales as twin

KINDS = [kind.name for kind in PriceKind]
USUAL = TOY


def _version(
    security_id: int, price: int, size: int, from_ns: int = 0, kind: PriceKind | None = None
) -> Version:
    instrument = Instrument(
        security_id, f"BOND{security_id}", 9, "G", "A", SecurityType.CORP, Product.CORPORATE,
        price_exponent=price, size_exponent=size, price_kind=kind,
    )  # fmt: skip
    return Version(instrument, DefinitionAction.ADD, from_ns, -1, 0)


exponents = st.integers(-8, 9)
mantissas = st.one_of(st.none(), st.integers(-(10**6), 10**6), st.integers(-(2**63) + 1, 2**63 - 1))


@given(
    price=exponents, size=exponents, values=st.lists(st.tuples(mantissas, mantissas), min_size=1, max_size=20)
)
def test_exact_values_and_what_others_hold(
    price: int, size: int, values: list[tuple[int | None, int | None]]
) -> None:
    scaling = Scaling.of(scales([_version(7, price, size)], BONDS), np.array([NULL, 7]))
    assert scaling is not None
    rows = scaling.rows(np.ones(len(values), np.int64), np.zeros(len(values), np.int64))
    columns = {
        name: np.array([NULL if each[place] is None else each[place] for each in values], np.int64)
        for place, name in enumerate(("price", "size"))
    } | {"seq_num": np.arange(100, 100 + len(values)), "msg_index": np.arange(len(values))}
    told = dict(columns)
    bad = {
        (name, row)
        for name, exponent in (("price", price), ("size", size))
        for row, value in enumerate(told[name].tolist())
        if value != NULL and not twin.fits(value, exponent)
    }
    if bad:
        with pytest.raises(TooLargeError) as error:
            rows.scale(columns, ["price"], ["size"])
        found = error.value
        assert (found.column.removeprefix("exact_"), found.row) in bad
        assert f"packet {100 + found.row}, message {found.row}" in str(found)
        assert str(found.value) in str(found)
        return
    rows.scale(columns, ["price"], ["size"])
    for name, exponent, places in (("price", price, 4), ("size", size, 0)):
        for row, value in enumerate(told[name].tolist()):
            right = twin.exact(None if value == NULL else value, exponent)
            exact, coarse = (int(columns[each][row]) for each in (f"exact_{name}", name))
            assert (None if exact == NULL else Decimal(exact).scaleb(-8)) == right
            assert (None if coarse == NULL else Decimal(coarse).scaleb(-places)) == twin.held(right, places)
            if coarse != NULL:  # the law of the tables
                assert Decimal(coarse).scaleb(-places) == Decimal(exact).scaleb(-8)


def test_scales_as_of_a_time_and_of_instruments_that_nobody_defined() -> None:
    told = [
        _version(5, -8, 0, 10, PriceKind.YIELD),
        _version(5, -8, -8, 50, PriceKind.SPREAD),
        _version(8, -4, 0, 20),
    ]
    scaling = Scaling.of(scales(told, BONDS), np.array([NULL, 5, 6, 8]))
    assert scaling is not None
    numbers, sent = np.array([1, 1, 1, 1, 2, 3]), np.array([NULL, 0, 49, 50, 60, 0])
    rows, columns = scaling.rows(numbers, sent), {"size": np.full(6, 3), "price": np.full(6, 10**8)}
    kinds = [KINDS[code] if code >= 0 else None for code in rows.kinds().tolist()]
    assert kinds == ["YIELD", "YIELD", "YIELD", "SPREAD", None, None]
    rows.scale(columns, ["price"], ["size"])
    assert columns["exact_size"].tolist() == [300_000_000] * 3 + [3] + [300_000_000] * 2
    assert columns["size"].tolist() == [3, 3, 3, NULL, 3, 3]
    assert columns["price"].tolist() == [10_000] * 5 + [10**8]  # the sixth as its system says


def test_usual_systems_have_no_scales() -> None:
    assert Scaling.of(scales([_version(1, -4, 0), _version(2, -4, 0)], USUAL), np.array([NULL, 1])) is None
    assert len(scales([_version(1, -4, 0), _version(2, -6, 0)], USUAL)) == 3  # one is enough
    assert scales([], BONDS)["price"].tolist() == [BONDS.scale.price_exponent]
    assert scales([], USUAL).dtype == SCALE


@pytest.mark.parametrize(("price", "size"), [(-9, 0), (-4, 10)])
def test_exponents_that_no_table_holds_are_named(price: int, size: int) -> None:
    with pytest.raises(ScaleError, match="BOND3"):
        scales([_version(3, price, size)], USUAL)


def test_stored_books_come_back_in_the_exponents_of_their_instruments() -> None:
    orders = np.zeros(3, ROW)
    orders["security_id"], orders["price"], orders["size"] = [5, 8, 9], [-125_000_000, NULL, 10**8], 5 * 10**8
    unscale(orders, scales([_version(5, -6, -2), _version(8, -4, 0)], BONDS))
    assert orders["price"].tolist() == [-1_250_000, NULL, 10**8]
    assert orders["size"].tolist() == [500, 5, 5]
