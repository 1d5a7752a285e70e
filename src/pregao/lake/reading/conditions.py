"""Which rows are wanted: comparisons that all must hold, the same for the log, Arrow and Spark.

{"security_id": 100000001, "ts_event": (first, last)}          a value, a range (both ends, None: open)
{"symbol": ["PETR4", "VALE3"]}                                 one of several
[("price", ">=", Decimal("30.10")), ("side", "=", "BUY")]
"symbol = 'PETR4' and ts_event between 1 and 5"                see `text`
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa

from pregao.lake.errors import LakeError
from pregao.lake.quant.calendar import interval_ns
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


# Conditions as text: comparisons joined by `and`, as one would write them in SQL.
#
#     symbol = 'PETR4' and trade_date = '2026-11-16' and price >= 30.10
#     ts_event between 1 and 5 and side in ('BUY', 'SELL') and firm is not null
#
# Anything richer belongs in Spark: `lake.table(name).filter("…")`.


_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)
    |(?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,))""",
    re.VERBOSE,
)
_COMPARISONS: Final = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip


def parse_where(text: str) -> list[Condition]:
    return _Parser(text).conditions()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._at = text, _tokens(text), 0

    def conditions(self) -> list[Condition]:
        found = self._condition()
        while self._take("and"):
            found += self._condition()
        if self._at < len(self._tokens):
            raise self._error()
        return found

    def _condition(self) -> list[Condition]:
        column = self._next("name")
        kind, sign = self._peek()
        if kind == "sign" and sign in _COMPARISONS:
            self._at += 1
            return [Condition(column, _COMPARISONS[sign], self._literal())]
        if self._take("between"):
            first = self._literal()
            self._expect("and")
            return [Condition(column, ">=", first), Condition(column, "<=", self._literal())]
        if self._take("in"):
            return [Condition(column, "in", self._list())]
        self._expect("is")
        operator = "is not null" if self._take("not") else "is null"
        self._expect("null")
        return [Condition(column, operator)]

    def _list(self) -> tuple[Any, ...]:
        self._expect("(")
        values = [self._literal()]
        while self._take(","):
            values.append(self._literal())
        self._expect(")")
        return tuple(values)

    def _literal(self) -> Any:
        kind, token = self._peek()
        self._at += 1
        if kind == "text":
            return token[1:-1].replace("''", "'")
        if kind == "number":
            return Decimal(token) if "." in token else int(token)
        if kind == "name" and token.lower() in ("true", "false"):
            return token.lower() == "true"
        self._at -= 1
        raise self._error()

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", "")

    def _take(self, word: str) -> bool:
        kind, token = self._peek()
        taken = kind in ("name", "sign") and token.lower() == word
        self._at += taken
        return taken

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._error()

    def _next(self, wanted: str) -> str:
        kind, token = self._peek()
        if kind != wanted:
            raise self._error()
        self._at += 1
        return token

    def _error(self) -> LakeError:
        where = f"at {self._peek()[1]!r}" if self._at < len(self._tokens) else "at its end"
        return LakeError(f"where {self._text!r}: cannot be read {where}; only comparisons joined by `and`")


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise LakeError(f"where {text!r}: cannot be read at {text[at:]!r}")
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        at = match.end()
    return found
