"""What every writer refuses: values that are not numbers, do not fit, or would be read as null."""

from collections.abc import Callable
from operator import index
from typing import Any, Never

from pregao.codecs.sbe.layout import FieldLayout

Raw = int | float | bytes
Writer = Callable[[Any, list[Raw]], None]


class UnfitError(Exception):
    """A value that its field cannot carry; `path` leads to it from the block."""

    def __init__(self, reason: str, path: str) -> None:
        self.reason, self.path = reason, path
        super().__init__(f"{path}: {reason}")


def refuse(reason: str, path: str) -> Never:
    raise UnfitError(reason, path)


def integer_of(value: Any, path: str) -> int:
    if isinstance(value, bool):
        raise UnfitError(f"{value} is not an integer", path)
    try:
        return index(value)
    except TypeError:
        raise UnfitError(f"{value!r} is not an integer", path) from None


def checked(field: FieldLayout, path: str) -> Callable[[int], int]:
    """Refuses raw integers out of range, and the one that would be read as null."""
    low, high, null, name = field.primitive.minimum, field.primitive.maximum, field.null, field.primitive.name

    def check(raw: int) -> int:
        if not low <= raw <= high:
            raise UnfitError(f"{raw} does not fit {name}", path)
        if raw == null:
            raise UnfitError(f"{raw} would be read as null", path)
        return raw

    return check
