"""Rows of results: the ratio is judged where there is one, else the value."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.harness import Row, best_of, save, table


@pytest.mark.parametrize(
    ("row", "passed"),
    [
        (Row("a", 4.0, "GB/s"), None),
        (Row("a", 4.0, "GB/s", 8.0, 0.5), True),
        (Row("a", 4.0, "GB/s", 9.0, 0.5), False),
        (Row("a", 2.0, "s", bar=3.0, better="lower"), True),
        (Row("a", 4.0, "s", bar=3.0, better="lower"), False),
    ],
)
def test_bars(row: Row, passed: bool | None) -> None:
    assert row.passed is passed


def test_results_are_a_list_of_rows(tmp_path: Path) -> None:
    rows = [Row("scan", 4.0, "GB/s", 8.0, 0.5), Row("cold start", 1.0, "s", bar=3.0, better="lower")]
    save(rows, tmp_path / "build" / "bench.json")
    assert json.loads((tmp_path / "build" / "bench.json").read_text()) == [
        {"name": "scan", "value": 4.0, "unit": "GB/s", "baseline": 8.0, "ratio": 0.5, "bar": 0.5,
         "better": "higher"},
        {"name": "cold start", "value": 1.0, "unit": "s", "baseline": None, "ratio": None, "bar": 3.0,
         "better": "lower"},
    ]  # fmt: skip
    assert "≥ 0.5  ok" in table(rows)


def test_all_run_in_every_round_and_one_round_warms_up() -> None:
    calls: list[str] = []
    best = best_of({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert calls == ["a", "b"] * 3
    assert set(best) == {"a", "b"}
