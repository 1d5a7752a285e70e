"""Days worked out by hand are put to the tasks of a build, and to their twin."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.kits.lake_rows import rows_as_arrow
from tests.unit.lake.computed.kit import Computed, by_tasks, by_twin

Compute = Callable[..., Computed]


@pytest.fixture(scope="module", params=["tasks", "twin"])
def compute_tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compute:
    """All computed tables of Arrow tables."""
    if request.param == "tasks":
        return lambda tables: by_tasks(tmp_path_factory.mktemp("lake"), tables)
    spark = request.getfixturevalue("spark")
    return lambda tables: by_twin(spark, tables)


@pytest.fixture(scope="module")
def compute(compute_tables: Compute) -> Compute:
    """All computed tables of rows, `compute(trades=[…], statistics=[…])`."""

    def of(**rows: list[dict[str, Any]]) -> Computed:
        return compute_tables({name: rows_as_arrow(name, each) for name, each in rows.items()})

    return of
