"""Decoded values as JSON: decimals as strings with their full scale, plain bytes as hex."""

from decimal import Decimal
from json import JSONEncoder
from math import isfinite
from typing import Any


def _default(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"no JSON for {type(value).__name__}")


_encode = JSONEncoder(separators=(",", ":"), default=_default, allow_nan=False).encode


def to_json(value: Any) -> str:
    """Compact and ASCII."""
    try:
        return _encode(value)
    except ValueError:  # JSON has no NaN and no infinity; B3's schemas have no floats
        return _encode(_spelled(value))


def _spelled(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _spelled(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(member) for member in value]
    return value
