"""Plain data classes as Arrow structs, by what their fields are: numbers, text, truth values, enums by
number, any of these or nothing, tuples of them, and classes inside them. A class of which most rows have none
is kept as text (`AS_TEXT`): a struct has all its columns in every batch, and they are more than the rest."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, is_dataclass
from enum import IntEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

T = TypeVar("T")
_SIMPLE = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), float: pa.float64(), bytes: pa.binary()}


@cache
def arrow_type(kind: Any) -> Any:
    kind = _present(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if get_origin(kind) is tuple:
        return pa.list_(arrow_type(get_args(kind)[0]))
    if issubclass(kind, IntEnum):
        return pa.int64()
    if _is_text(kind):
        return pa.string()
    hints: dict[str, Any] = _hints(kind) if is_dataclass(kind) else {}  # type: ignore[arg-type]
    if hints:
        return pa.struct([(name, arrow_type(each)) for name, each in hints.items()])
    raise TypeError(f"no column can hold {kind}")


def as_columns(rows: Sequence[Any], kind: type) -> Any:
    """A StructArray of objects of one class, or None."""
    missing = [row is None for row in rows]
    if rows and all(missing):
        return pa.nulls(len(rows), arrow_type(kind))
    columns = [
        _column([getattr(row, name, None) for row in rows], each) for name, each in _hints(kind).items()
    ]
    mask = pa.array(missing, pa.bool_()) if any(missing) else None
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(kind)), mask=mask)


def _column(values: list[Any], kind: Any) -> Any:
    kind = _present(kind)
    if _is_text(kind):
        return pa.array([None if each is None else json.dumps(asdict(each)) for each in values], pa.string())
    if is_dataclass(kind) and isinstance(kind, type):
        return as_columns(values, kind)
    if get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]):
        inner = get_args(kind)[0]
        offsets = [0]
        for each in values:
            offsets.append(offsets[-1] + len(each or ()))
        whole = as_columns([one for each in values for one in each or ()], inner)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), whole)
    return pa.array(values, arrow_type(kind))


def from_rows(rows: Sequence[dict[str, Any]], kind: type[T]) -> list[T]:
    """Objects again of what `to_pylist` gives."""
    of: Any = kind
    makers = _makers(of)
    return [kind(**{name: make(row[name]) for name, make in makers}) for row in rows]


@cache
def _makers(kind: type) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    return tuple((name, _maker(each)) for name, each in _hints(kind).items())


def _maker(given: Any) -> Callable[[Any], Any]:
    kind = _present(given)
    if kind in _SIMPLE:
        return lambda value: value
    make = _inner(kind)
    return lambda value: None if value is None else make(value)


def _inner(kind: Any) -> Callable[[Any], Any]:
    if get_origin(kind) is tuple:
        each = _maker(get_args(kind)[0])
        return lambda values: tuple(map(each, values))
    if issubclass(kind, IntEnum):
        return kind  # type: ignore[no-any-return]
    if _is_text(kind):
        return lambda text: from_rows([json.loads(text)], kind)[0]
    return lambda row: from_rows([row], kind)[0]


def _is_text(kind: Any) -> bool:
    return getattr(kind, "AS_TEXT", False) is True


def _present(kind: Any) -> Any:
    """Of `X | None`: X."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    (found,) = (each for each in get_args(kind) if each is not NoneType)
    return found


@cache
def _hints(kind: Any) -> dict[str, Any]:
    told = get_type_hints(kind)
    return {each.name: told[each.name] for each in fields(kind)}
