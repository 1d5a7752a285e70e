"""Units of the lake by day: which are done with, which stand beside each other, which files they need."""

from collections.abc import Iterable
from typing import Any

from pregao.lake.plan.fingerprints import from_json
from pregao.lake.plan.stored import Stored
from pregao.lake.streaming.state import StreamState
from pregao.lake.streaming.writing import is_open
from pregao.lake.tables.table import UnitKey

Rows = dict[UnitKey, dict[str, Any]]
_KEPT_DAYS = 2  # of each channel: where a day ends depends on the next one


def inputs_of(row: dict[str, Any]) -> list[Stored]:
    return [Stored(each.path, each.size, each.version) for each in from_json(row["inputs"])]


def settled(rows: Rows) -> list[UnitKey]:
    """Finished, and so old that nothing of today concerns them."""
    newest: dict[int, list[Any]] = {}
    for day, channel in sorted(rows):
        newest.setdefault(channel, []).append(day)
    return [
        key for key, row in rows.items() if key[0] not in newest[key[1]][-_KEPT_DAYS:] and not is_open(row)
    ]


def is_over(key: UnitKey, keys: Iterable[UnitKey]) -> bool:
    """A later day of its channel has begun."""
    return any(day > key[0] and channel == key[1] for day, channel in keys)


def beside(key: UnitKey, rows: Rows) -> list[dict[str, Any]]:
    """The unit's own row, and those of the days before and after it."""
    days = sorted({day for day, channel in rows if channel == key[1]} | {key[0]})
    at = days.index(key[0])
    near = days[max(at - 1, 0) : at + 2]
    return [rows[day, key[1]] for day in near if (day, key[1]) in rows]


def streamed(rows: Rows) -> list[UnitKey]:
    """Finished by a stream, not by a build."""
    return [
        key for key, row in rows.items() if not is_open(row) and StreamState.of_plan(row["plan"]) is not None
    ]
