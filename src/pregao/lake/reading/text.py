"""Conditions as text: comparisons joined by `and`, as one would write them in SQL.

    symbol = 'PETR4' and trade_date = '2026-11-16' and price >= 30.10
    ts_event between 1 and 5 and side in ('BUY', 'SELL') and firm is not null

Anything richer belongs in Spark: `lake.table(name).filter("…")`.
"""

import re
from decimal import Decimal
from typing import Any, Final

from pregao.lake.errors import LakeError
from pregao.lake.reading.conditions import Condition

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
