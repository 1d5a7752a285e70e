"""The average price of SQL against Python's own decimals, at every size of number that a day can have."""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pregao.lake.computed.engine import engine

_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)  # half away from zero
_FOURTEEN, _EIGHT = Decimal("1e-14"), Decimal("1e-8")
_COLUMN = 10**18  # what a column of eight places holds, as a mantissa


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with engine() as opened:
        yield opened


def _plain(amount: int, volume: int) -> int | None:
    if not volume:
        return None
    exact = _EXACT.divide(Decimal(amount).scaleb(-4), Decimal(volume))
    fine = exact.quantize(_FOURTEEN, context=_EXACT).quantize(_EIGHT, context=_EXACT)
    mantissa = int(fine.scaleb(8))
    return mantissa if abs(mantissa) < _COLUMN else None


_SIZES = st.integers(0, 27).flatmap(lambda digits: st.integers(-(10**digits), 10**digits))


@given(amount=_SIZES, volume=st.one_of(st.integers(0, 10**4), st.integers(0, 10**15)))
@example(amount=10**12 - 1, volume=1)
@example(amount=10**12, volume=1)  # past what the short way takes
@example(amount=-1, volume=2 * 10**14)
@example(amount=8_999_999_999_999_999_999, volume=39_999_999_999_999)
@example(amount=9_000_000_000_000_000_000, volume=40_000_000_000_000)
@example(amount=1, volume=20_000)  # 0.000000005: half of the last place
@example(amount=-1, volume=20_000)
def test_average_equals_exact_decimals(connection: Any, amount: int, volume: int) -> None:
    given_ = "SELECT $amount::HUGEINT AS amount, $volume::BIGINT AS volume"
    query = f"SELECT average(amount, volume) FROM ({given_})"
    found = connection.execute(query, {"amount": str(amount), "volume": volume}).fetchone()[0]
    assert found == _plain(amount, volume)
