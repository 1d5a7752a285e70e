"""Timing side by side, rows of results, the table and build/bench.json.

A row with a ratio is judged by its ratio, one without by its value: `bar` is on that, and `better`
says in which direction.
"""

import gc
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

ROUNDS = 5
RESULTS = Path("build/bench.json")


@dataclass(frozen=True)
class Row:
    name: str
    value: float
    unit: str
    baseline: float | None = None  # in the same unit
    bar: float | None = None
    better: str = "higher"

    @property
    def ratio(self) -> float | None:
        return None if self.baseline is None else self.value / self.baseline

    @property
    def passed(self) -> bool | None:
        if self.bar is None:
            return None
        judged = self.value if self.ratio is None else self.ratio
        return judged >= self.bar if self.better == "higher" else judged <= self.bar

    def as_dict(self) -> dict[str, object]:
        row = asdict(self)
        return {key: self.ratio if key == "ratio" else row[key] for key in _KEYS}


_KEYS = ("name", "value", "unit", "baseline", "ratio", "bar", "better")


def best_of(contestants: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of the best round of each. All run in every round, so that a noisy minute hits all;
    one round before the first warms caches and compiles. The garbage collector rests, as in timeit."""
    best = dict.fromkeys(contestants, float("inf"))
    for round_number in range(rounds + 1):
        for name, run in contestants.items():
            gc.collect()
            gc.disable()
            start = perf_counter()
            run()
            elapsed = perf_counter() - start
            gc.enable()
            if round_number:
                best[name] = min(best[name], elapsed)
    return best


def table(rows: list[Row]) -> str:
    width = max(len(row.name) for row in rows)
    lines = [f"{'':{width}}  {'value':>12}  {'':14}{'baseline':>12}{'ratio':>9}{'bar':>9}"]
    for row in rows:
        baseline = "" if row.baseline is None else _number(row.baseline)
        ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
        sign = "≥" if row.better == "higher" else "≤"
        bar = "" if row.bar is None else f"{sign} {row.bar:g}"
        verdict = {None: "", True: "  ok", False: "  MISSED"}[row.passed]
        value = f"{_number(row.value):>12}  {row.unit:14}"
        lines.append(f"{row.name:{width}}  {value}{baseline:>12}{ratio:>9}{bar:>9}{verdict}")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def save(rows: list[Row], path: Path = RESULTS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([row.as_dict() for row in rows], indent=2, ensure_ascii=False) + "\n")
