"""Which rows are wanted: comparisons that all must hold, the same for the log, Arrow and Spark.

{"security_id": 100000001, "ts_event": (first, last)}          a value, a range (both ends, None: open)
{"symbol": ["PETR4", "VALE3"]}                                 one of several
[("price", ">=", Decimal("30.10")), ("side", "=", "BUY")]
"symbol = 'PETR4' and ts_event between 1 and 5"                see `text`
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa

from pregao.lake.errors import LakeError
from pregao.lake.quant.times import interval_ns
from pregao.lake.tables.table import Table

Where = str | Mapping[str, Any] | Sequence[tuple[str, str, Any]] | None
OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=", "in", "is null", "is not null")


@dataclass(frozen=True)
class Condition:
    """`value` is a tuple for `in` and None for the two of null."""

    column: str
    operator: str
    value: Any = None


def conditions(table: Table, where: Where) -> list[Condition]:
    """Checked against the table's columns, with values of the column's type."""
    return [_typed(table, condition) for condition in _plain(where)]


def _plain(where: Where) -> list[Condition]:
    if where is None:
        return []
    if isinstance(where, str):
        from pregao.lake.reading.text import parse_where

        return parse_where(where)
    if isinstance(where, Mapping):
        return [condition for column, value in where.items() for condition in _of_value(column, value)]
    return [Condition(column, operator.lower(), value) for column, operator, value in where]


def _of_value(column: str, value: Any) -> list[Condition]:
    if value is None:
        return [Condition(column, "is null")]
    if isinstance(value, tuple):
        if len(value) != 2:
            raise LakeError(f"where {column}: a range is (first, last), not {value!r}")
        ends = (Condition(column, ">=", value[0]), Condition(column, "<=", value[1]))
        return [end for end in ends if end.value is not None]
    if isinstance(value, (list, set, frozenset)):
        return [Condition(column, "in", tuple(value))]
    return [Condition(column, "=", value)]


def _typed(table: Table, condition: Condition) -> Condition:
    column = table.by_name.get(condition.column)
    if column is None:
        raise LakeError(f"table {table.name} has no column {condition.column!r}")
    if condition.operator not in OPERATORS:
        raise LakeError(f"where {condition.column}: {condition.operator!r} is not one of {OPERATORS}")
    if condition.operator.startswith("is "):
        return Condition(condition.column, condition.operator)
    if condition.column == "interval":
        condition = _with_lengths(condition)
    try:
        value: Any
        if condition.operator == "in":
            value = tuple(_value(column.type.arrow, each) for each in condition.value)
        else:
            value = _value(column.type.arrow, condition.value)
    except (ValueError, TypeError, InvalidOperation):
        raise LakeError(
            f"where {condition.column}: {condition.value!r} is not of type {column.type.spark}"
        ) from None
    return Condition(condition.column, condition.operator, value)


def _with_lengths(condition: Condition) -> Condition:
    """Lengths of bars may be given by name: "1m"."""
    is_list = isinstance(condition.value, tuple)
    values = condition.value if is_list else (condition.value,)
    lengths = tuple(interval_ns(each) if isinstance(each, str) else each for each in values)
    return Condition(condition.column, condition.operator, lengths if is_list else lengths[0])


def _value(type_: Any, value: Any) -> Any:
    tests: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
        (pa.types.is_boolean, _flag),
        (pa.types.is_integer, _whole),
        (pa.types.is_decimal, lambda each: Decimal(str(each))),
        (pa.types.is_date, _date),
        (pa.types.is_timestamp, _moment),
        (pa.types.is_string, _text),
    )
    for is_type, make in tests:
        if is_type(type_):
            return make(value)
    raise TypeError


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise TypeError
    return int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _date(value: Any) -> date:
    if isinstance(value, datetime):
        raise TypeError
    return value if isinstance(value, date) else date.fromisoformat(value)


def _moment(value: Any) -> datetime:
    """Times without a zone would be guessed at: refused."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError
    return moment
