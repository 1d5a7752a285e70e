"""Values of a TOML table asked for by type, so that every complaint names the key at fault."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from pregao.model.errors import ConfigurationError
from pregao.model.market import FINE_SCALE, PRICE_SCALE

_T = TypeVar("_T")
_EPOCH = date(1970, 1, 1)


def to_price(value: object) -> int:
    """Ten-thousandths of a number; ValueError if it is none or has more than four places."""
    return _scaled(value, PRICE_SCALE, "four")


def to_fine(value: object) -> int:
    """Hundred-millionths; ValueError as for a price."""
    return _scaled(value, FINE_SCALE, "eight")


def _scaled(value: object, scale: int, places: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise ValueError(f"must be a number, not {value!r}")
    try:
        scaled = Decimal(value) * scale
        whole = int(scaled)
    except (InvalidOperation, OverflowError, ValueError) as error:
        raise ValueError(f"must be a number, not {value!r}") from error
    if whole != scaled or abs(whole) >= 1 << 53:
        raise ValueError(f"must have at most {places} decimal places and fit a price, not {value!r}")
    return whole


def to_days(value: date) -> int:
    return (value - _EPOCH).days


class TomlTable:
    """One table; `close` complains of the keys that nobody asked for."""

    def __init__(self, table: object, file: str, key: str) -> None:
        self.file, self.key = file, key
        if not isinstance(table, dict):
            raise ConfigurationError("must be a table", file=file, key=key)
        self._table: dict[str, object] = table
        self._asked: set[str] = set()

    def error(self, reason: str, name: str = "") -> ConfigurationError:
        key = ".".join(part for part in (self.key, name) if part)
        return ConfigurationError(reason, file=self.file, key=key)

    def close(self) -> None:
        for unknown in sorted(self._table.keys() - self._asked):
            raise self.error("unknown key", unknown)

    def has(self, name: str) -> bool:
        self._asked.add(name)
        return name in self._table

    def names(self) -> tuple[str, ...]:
        return tuple(self._table)

    def text(self, name: str, default: str | None = None, longest: int = 100) -> str:
        value = self._value(name, default)
        if not isinstance(value, str) or len(value) > longest:
            raise self.error(f"must be text of at most {longest} characters, not {value!r}", name)
        return value

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        value = self._value(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"must be a whole number from {low} to {high}, not {value!r}", name)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not 0 <= value < 1e12:
            raise self.error(f"must be a number from 0, not {value!r}", name)
        return float(value)

    def price(self, name: str) -> int:
        try:
            return to_price(self._value(name, None))
        except ValueError as error:
            raise self.error(str(error), name) from error

    def fine(self, name: str) -> int:
        """Above zero, in hundred-millionths."""
        try:
            value = to_fine(self._value(name, None))
        except ValueError as error:
            raise self.error(str(error), name) from error
        if value <= 0:
            raise self.error("must be above zero", name)
        return value

    def tick(self, name: str = "tick") -> int:
        value = self.price(name)
        if value <= 0:
            raise self.error("a tick must be above zero", name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise self.error(f"must be true or false, not {value!r}", name)
        return value

    def day(self, name: str) -> date:
        value = self._value(name, None)
        if type(value) is not date:
            raise self.error(f"must be a date, not {value!r}", name)
        return value

    def choice(self, name: str, choices: Mapping[str, _T], default: str | None = None) -> _T:
        value = self._value(name, default)
        if not isinstance(value, str) or value not in choices:
            raise self.error(f"must be one of {', '.join(choices)}, not {value!r}", name)
        return choices[value]

    def numbers(self, name: str) -> list[int]:
        """Whole numbers from 0, at most a thousand of them."""
        value = self._value(name, None)
        if not isinstance(value, list) or len(value) > 1000:
            raise self.error(f"must be a list of whole numbers, not {value!r}", name)
        for each in value:
            if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each < 1 << 53:
                raise self.error(f"must be whole numbers from 0, not {each!r}", name)
        return value

    def words(self, name: str) -> list[str]:
        """Words of one text, over as many lines as it likes."""
        return [word for row in self.rows(name, 1, 1000) for word in row.words]

    def rows(self, name: str, fewest: int, most: int) -> "list[TomlRow]":
        """Lines of a text as rows of words; what follows `#` is for the reader of the file."""
        rows = []
        for n, line in enumerate(self.text(name, longest=100_000).splitlines()):
            words = line.partition("#")[0].split()
            if not words:
                continue
            row = TomlRow(self, f"{name}[{n}]", words)
            if not fewest <= len(words) <= most:
                raise row.error(f"must have {fewest} to {most} words, not {len(words)}")
            rows.append(row)
        return rows

    def table(self, name: str) -> "TomlTable":
        return TomlTable(self._value(name, None), self.file, f"{self.key}.{name}" if self.key else name)

    def tables(self, name: str) -> "list[TomlTable]":
        """The tables of an array of tables; none where the name is absent."""
        value = self._value(name, []) if name in self._table else []
        self._asked.add(name)
        if not isinstance(value, list):
            raise self.error(f"must be [[{name}]]", name)
        return [TomlTable(table, self.file, f"{name}[{n}]") for n, table in enumerate(value)]

    def _value(self, name: str, default: object) -> object:
        self._asked.add(name)
        value = self._table.get(name, default)
        if value is None:
            raise self.error("is missing", name)
        return value


class TomlRow:
    """One line of a list within a table."""

    def __init__(self, table: TomlTable, name: str, words: list[str]) -> None:
        self._table, self._name, self.words = table, name, words

    def error(self, reason: str) -> ConfigurationError:
        return self._table.error(f"{' '.join(self.words)}: {reason}", self._name)

    def price(self, column: int) -> int:
        try:
            return to_price(self.words[column])
        except ValueError as error:
            raise self.error(str(error)) from error

    def number(self, column: int, default: float) -> float:
        if column >= len(self.words):
            return default
        try:
            value = float(self.words[column])
        except ValueError as error:
            raise self.error(f"{self.words[column]} is not a number") from error
        if not 0 <= value < 1e12:
            raise self.error("must be a number from 0")
        return value
