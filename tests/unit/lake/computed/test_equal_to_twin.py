"""What tasks compute is what the twin on Spark says, row by row and column by column."""

from pathlib import Path
from typing import Any

import pytest

from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import unit_key
from tests.kits.simulated_rows import day_of, simulated_day, tables_of
from tests.unit.lake.computed.kit import Computed, by_tasks, by_twin, in_order
from tests.unit.lake.computed.random_rows import UNITS, Market

TABLES = ("trades_clean", "bars", "daily", "market_totals", "auctions", "latency", "quality")


@pytest.fixture(scope="module")
def random_tables() -> dict[str, Any]:
    return Market(seed=1).tables()


@pytest.fixture(scope="module")
def of_twin(spark: Any, random_tables: dict[str, Any]) -> Computed:
    return by_twin(spark, random_tables, UNITS)


def _assert_equal(ours: Computed, theirs: Computed) -> None:
    for name in TABLES:
        mine, others = in_order(ours[name]), in_order(theirs[name])
        assert mine == others, name


def test_random_markets(tmp_path: Path, random_tables: dict[str, Any], of_twin: Computed) -> None:
    ours = by_tasks(tmp_path, random_tables, UNITS)
    _assert_equal(ours, of_twin)
    for name in TABLES:
        assert len(ours[name]) > 4, name
        assert list(ours[name][0]) == find_table(name).schema.names, name


def test_a_unit_in_parts(tmp_path: Path, random_tables: dict[str, Any], of_twin: Computed) -> None:
    """However its instruments are spread over tasks."""
    _assert_equal(by_tasks(tmp_path, random_tables, UNITS, part_trades=100), of_twin)


def test_a_simulated_day(tmp_path: Path, spark: Any) -> None:
    day = simulated_day(seed=11, messages=6_000, trading=8.0)
    tables = tables_of(day)
    channels = sorted(set(tables["packets"]["channel"].to_pylist()))
    units = [unit_key(day_of(day.trade_date), channel) for channel in channels]
    ours, theirs = by_tasks(tmp_path, tables, units), by_twin(spark, tables, units)
    _assert_equal(ours, theirs)
    assert len(ours["auctions"]) > 10
    assert len(ours["bars"]) > 100
