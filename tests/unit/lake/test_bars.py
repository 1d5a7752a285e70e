"""Bars of any length, as people call them, against the twin; what a build writes is held in `computed`."""

from typing import Any

import pytest

from pregao.lake.bars import DAY_NS, MINUTE_NS, SECOND_NS, bars
from pregao.lake.errors import LakeError
from pregao.lake.reading.sparkframes import spark_schema
from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import rows_as_arrow
from tests.twins.analytics.bars import bars as twin_bars
from tests.twins.analytics.trades_clean import trades_clean
from tests.unit.lake.computed.kit import in_order
from tests.unit.lake.computed.random_rows import Market

LENGTHS = (7 * SECOND_NS, 15 * MINUTE_NS, DAY_NS, 7 * SECOND_NS)


@pytest.fixture(scope="module")
def clean(spark: Any) -> Any:
    """Two days, trades told late among them."""
    trades = spark.createDataFrame(
        Market(seed=2).tables()["trades"], schema=spark_schema(find_table("trades"))
    )  # fmt: skip
    return trades_clean(trades).persist()


def test_bars_equal_the_twins_however_trades_are_spread(clean: Any) -> None:
    expected = in_order(twin_bars(clean, LENGTHS, "b1").toArrow().to_pylist())
    made = bars(clean.repartition(3), LENGTHS, "b1")
    assert dict(made.dtypes) == {column.name: column.type.spark for column in find_table("bars").columns}
    rows = made.toArrow().to_pylist()
    assert {row["interval"] for row in rows} == set(LENGTHS)
    assert len({row["trade_date"] for row in rows}) > 1
    assert in_order(rows) == expected


def test_no_trades_have_no_bars(spark: Any) -> None:
    none = spark.createDataFrame(
        rows_as_arrow("trades_clean", []), schema=spark_schema(find_table("trades_clean"))
    )  # fmt: skip
    assert bars(none).count() == 0


@pytest.mark.parametrize("length", [0, -1, DAY_NS + 1])
def test_bars_that_cannot_be(clean: Any, length: int) -> None:
    with pytest.raises(LakeError, match="no longer than a day"):
        bars(clean, (length,))
