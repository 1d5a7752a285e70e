"""Which files can hold wanted rows, by the log's figures: a file is left out only when it cannot."""

from collections.abc import Iterable
from typing import Any

from pregao.lake.reading.conditions import Condition
from pregao.lake.store.livefile import LiveFile


def prune(files: Iterable[LiveFile], conditions: Iterable[Condition]) -> list[LiveFile]:
    wanted = list(conditions)
    return [file for file in files if all(may_hold(file, condition) for condition in wanted)]


def may_hold(file: LiveFile, condition: Condition) -> bool:
    name, operator = condition.column, condition.operator
    if name in file.partition:
        return _value_fits(file.partition[name], condition)
    nulls = file.nulls.get(name)
    if operator == "is null":
        return nulls is None or nulls > 0
    if nulls is not None and nulls == file.rows:
        return False  # nothing but nulls, and no comparison holds for null
    if operator == "is not null" or name not in file.least or name not in file.greatest:
        return True
    return _range_fits(file.least[name], file.greatest[name], condition)


def _range_fits(least: Any, greatest: Any, condition: Condition) -> bool:
    value = condition.value
    match condition.operator:
        case "=":
            return bool(least <= value <= greatest)
        case "in":
            return any(least <= each <= greatest for each in value)
        case "<":
            return bool(least < value)
        case "<=":
            return bool(least <= value)
        case ">":
            return bool(greatest > value)
        case ">=":
            return bool(greatest >= value)
        case _:
            return bool(not least == greatest == value)


def _value_fits(value: Any, condition: Condition) -> bool:
    """A partition has one value for all its rows."""
    if condition.operator.startswith("is "):
        return (value is None) == (condition.operator == "is null")
    return value is not None and _range_fits(value, value, condition)
