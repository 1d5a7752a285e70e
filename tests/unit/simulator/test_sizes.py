"""Sizes of packets beside those of real days."""

from collections import Counter
from pathlib import Path

import pytest

from pregao.simulator.coverage import BOUNDS, REAL, nearness, size_rows


def test_shares_of_sizes_are_of_a_hundred() -> None:
    rows = list(size_rows(Counter({100: 3, 1400: 1})))
    assert [row.up_to for row in rows] == list(BOUNDS)
    for column in ("ours", "equities", "derivatives"):
        assert sum(getattr(row, column) for row in rows) == pytest.approx(100)
    assert rows[1].ours == pytest.approx(75)


def test_nearness_is_a_share() -> None:
    real = (0, 3, 1, 0, 0, 0, 0, 0, 0)
    assert nearness(Counter({100: 75, 150: 25}), real).distance == pytest.approx(0)
    assert nearness(Counter({76: 75, 150: 25}), real) == (pytest.approx(0), 8)
    assert nearness(Counter({1400: 10}), real).distance == pytest.approx(1)
    assert nearness(Counter({100: 100}), real).distance == pytest.approx(0.25)


@pytest.mark.parametrize("name", ["eqt-084", "drv-072"])
def test_the_real_shapes_are_those_of_the_reference(name: str) -> None:
    path = Path(__file__).parents[4] / "shared" / "reference" / f"{name}-packet-sizes.csv"
    if not path.exists():
        pytest.skip("the reference files are not here")
    rows = [line.split(",") for line in path.read_text().splitlines()]
    counts = {int(bound): int(count) for _, stream, bound, count in rows[1:] if stream == "IncrementalA"}
    assert counts.pop(-1) == 0
    assert tuple(counts) == BOUNDS
    assert tuple(counts.values()) == REAL[int(name[-3:])]
