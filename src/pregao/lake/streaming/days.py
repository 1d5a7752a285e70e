"""Units of the lake by day: which are done with, which stand beside each other, which files they need."""

from collections.abc import Iterable
from typing import Any

from pregao.lake.plan.fingerprints import from_json
from pregao.lake.plan.stored import Stored
from pregao.lake.streaming.state import StreamState
from pregao.lake.streaming.writing import is_open
from pregao.lake.tables.table import UnitKey

Rows = dict[UnitKey, dict[str, Any]]
_KEPT_DAYS = 2  # of each source: where a day ends depends on the next one


def inputs_of(row: dict[str, Any]) -> list[Stored]:
    return [Stored(each.path, each.size, each.version) for each in from_json(row["inputs"])]


def settled(rows: Rows) -> list[UnitKey]:
    """Finished, and so old that nothing of today concerns them."""
    days: dict[tuple[str, str], list[UnitKey]] = {}
    for key in sorted(rows):
        days.setdefault(key.feed, []).append(key)
    return [key for key, row in rows.items() if key not in days[key.feed][-_KEPT_DAYS:] and not is_open(row)]


def is_over(key: UnitKey, keys: Iterable[UnitKey]) -> bool:
    """A later day of its source has begun."""
    return any(other.feed == key.feed and other.trade_date > key.trade_date for other in keys)


def beside(key: UnitKey, rows: Rows) -> list[dict[str, Any]]:
    """The unit's own row, and those of the days before and after it."""
    days = sorted({other for other in rows if other.feed == key.feed} | {key})
    at = days.index(key)
    return [rows[other] for other in days[max(at - 1, 0) : at + 2] if other in rows]


def streamed(rows: Rows) -> list[UnitKey]:
    """Finished by a stream, not by a build."""
    return [
        key for key, row in rows.items() if not is_open(row) and StreamState.of_plan(row["plan"]) is not None
    ]
