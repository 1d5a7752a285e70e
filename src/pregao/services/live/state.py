"""The state file of a live exchange: what outlives a restart (`pregao.exchange.carried`), as JSON.

Written whole or not at all, when it changed: at once if it is about who is forbidden (14), else every few
seconds, and at the end. A file that is not what was written is refused: an exchange that forgot its orders
must not start as if it had none.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from pregao.exchange.carried import Carried, CarriedOrder, LastIds, LastTradeId
from pregao.io.files import read_small_file
from pregao.io.writing import write_whole
from pregao.model.errors import ConfigurationError
from pregao.services.live.market import LiveMarket

FORMAT: Final = 1
SAVE_EVERY_NS: Final = 5_000_000_000
_T = TypeVar("_T")


class StateKeeper:
    """Keeps the file of a market up to date; `keep` is called whenever something happened."""

    def __init__(self, path: Path, market: LiveMarket) -> None:
        self._path, self._market = path, market
        self._written: bytes | None = None
        self._forbidden: frozenset[int] = market.desk.surveillance.phases.forbidden
        self._due_ns = 0

    def keep(self, now_ns: int) -> None:
        forbidden = self._market.desk.surveillance.phases.forbidden
        if now_ns >= self._due_ns or forbidden != self._forbidden:
            self._forbidden, self._due_ns = forbidden, now_ns + SAVE_EVERY_NS
            self.save()

    def save(self) -> None:
        data = encode_state(self._market.carry_over())
        if data != self._written:
            write_whole(self._path, data)
            self._written = data


def encode_state(carried: Carried) -> bytes:
    return json.dumps({"format": FORMAT, **asdict(carried)}, separators=(",", ":")).encode()


def load_state(path: Path) -> Carried:
    """Of the run before; nothing where there was none."""
    if not path.exists():
        return Carried()
    try:
        document = json.loads(read_small_file(str(path)))
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise ValueError(f"is not a state file of format {FORMAT}")
        return Carried(
            orders=_rows(CarriedOrder, document["orders"]),
            forbidden=tuple(_integer(each) for each in document["forbidden"]),
            last_ids=_rows(LastIds, document["last_ids"]),
            last_trades=_rows(LastTradeId, document["last_trades"]),
            last_order_id=_integer(document["last_order_id"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigurationError(f"is not the state of an exchange: {error}", file=str(path)) from error


def _rows(kind: type[_T], rows: Any) -> tuple[_T, ...]:
    if not isinstance(rows, list):
        raise ValueError(f"{kind.__name__} must be a list")
    return tuple(_row(kind, row) for row in rows)


def _row(kind: type[_T], row: Any) -> _T:
    types: Mapping[str, tuple[type, bool]] = _types(cast("Any", kind))
    if not isinstance(row, dict) or row.keys() != types.keys():
        raise ValueError(f"{kind.__name__} must have {', '.join(types)}")
    return kind(**{name: _value(row[name], *types[name]) for name in types})


@cache
def _types(kind: type) -> Mapping[str, tuple[type, bool]]:
    """Of each field its type, and whether it may be null."""
    hints = get_type_hints(kind)
    return {field.name: _type(hints[field.name]) for field in fields(kind)}


def _type(hint: Any) -> tuple[type, bool]:
    if get_origin(hint) is UnionType:
        (plain,) = (part for part in get_args(hint) if part is not NoneType)
        return plain, True
    return hint, False


def _value(value: Any, kind: type, optional: bool) -> Any:
    if value is None and optional:
        return None
    if issubclass(kind, str):
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not text")
        return value
    if issubclass(kind, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither true nor false")
        return value
    return kind(_integer(value)) if issubclass(kind, IntEnum) else _integer(value)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a whole number")
    return value
