"""A slice of `bond-prices`, and the holidays of the judge."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pregao.exchange.bonds.pricing import unit_price
from pregao.model.fixed_income import BondKind
from pregao.model.holidays import calendar_of, national_holidays
from tests.proofs import bond_prices

pyield: Any = pytest.importorskip(
    "pyield", reason="pyield is not installed: the judge of bond prices is missing"
)


@pytest.mark.proof
def test_prices_are_the_judges_to_the_last_digit() -> None:
    result, lost_digits = bond_prices.run_case(1, 200)
    assert result.failed == []
    assert lost_digits == 0
    assert result.comparisons > 300


def test_a_sum_that_ends_where_it_is_cut_keeps_its_digit() -> None:
    """The judge adds binary fractions and loses it; its own flows, added as decimals, do not."""
    bond = (BondKind.NTNF, date(2072, 5, 24), date(2099, 1, 1), Decimal("13.7049"), Decimal(1))
    judge = bond_prices.Judge()
    assert judge.prices(bond) == [Decimal("787.521963")]
    assert judge.added_in_decimals(bond) == [unit_price(*bond)] == [Decimal("787.521964")]


@pytest.mark.parametrize("is_new", [False, True])
def test_both_lists_of_holidays_are_the_judges_from_2001_to_2099(is_new: bool) -> None:
    from pyield.bday.holidays.brholidays import BrHolidays

    lists = BrHolidays()
    theirs = (lists.new_holidays if is_new else lists.old_holidays).to_list()
    # In 2079 Good Friday is 21 April, and the list names the day twice.
    expected = sorted({day for day in theirs if 2001 <= day.year <= 2099})
    ours = [day for year in range(2001, 2100) for day in national_holidays(year, black_awareness=is_new)]
    assert ours == expected


def test_days_are_counted_by_the_list_of_their_date_as_the_judge_does() -> None:
    from pyield import bday

    for text in ("2001-01-01", "2023-12-25", "2023-12-26", "2024-11-01", "2050-06-04"):
        first = date.fromisoformat(text)
        ends = [first + timedelta(days=days) for days in range(0, 14_000, 61)]
        expected = bday.count(first, ends).to_list()
        assert [calendar_of(first).count(first, end) for end in ends] == expected
