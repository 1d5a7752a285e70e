"""Values of rows: their fields unpacked in one call, and numbers to members of enums."""

import struct
from collections.abc import Callable
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Final, TypeVar, cast

from pregao.model import market as m
from pregao.model.market import FINE_EXPONENT
from pregao.model.rows import ROW
from pregao.model.scales import USUAL, Scale

Bytes = bytes | memoryview
Unpack = Callable[[Bytes, int], tuple[int, ...]]
_E = TypeVar("_E", bound=IntEnum)
_FORMATS: Final = {"uint8": "B", "uint16": "H", "uint32": "I", "int64": "q"}


def unpacker(*names: str) -> Unpack:
    """Of these fields of a row, in the order in which they lie there."""
    text, end = "<", 0
    for name in names:
        kind, offset = ROW.fields[name][:2]  # type: ignore[index]
        assert offset >= end, name
        text += f"{offset - end}x{_FORMATS[kind.name]}"
        end = offset + kind.itemsize
    return cast(Unpack, struct.Struct(text).unpack_from)


# Numbers to members of enums: what has no name stays a number.


def _members(kind: type[_E]) -> tuple[_E, ...]:
    known = kind._value2member_map_
    return tuple(cast(_E, known.get(value, value)) for value in range(256))


def _optional(kind: type[_E]) -> tuple[_E | None, ...]:
    """0 is null."""
    return (None, *_members(kind)[1:])


def _shifted(kind: type[_E]) -> tuple[_E | None, ...]:
    """Of an enum that has a 0, kept plus one."""
    return (None, *_members(kind)[:255])


SIDES, ACTIONS, SESSIONS = _members(m.Side), _members(m.Action), _members(m.Session)
AGGRESSORS, PHASES, STATES = _members(m.Aggressor), _members(m.Phase), _optional(m.State)
STATE_EVENTS, SUB_TYPES = _optional(m.StateEvent), _optional(m.TradeSubType)
ORIGINS, SETTLEMENT_KINDS = _shifted(m.PriceOrigin), _members(m.SettlementKind)
PRICE_KINDS, BANDS, LIMITS = _members(m.PriceKind), _optional(m.BandType), _shifted(m.LimitType)
MIDPOINTS: Final = _shifted(m.Midpoint)
IMBALANCES: Final = tuple(m.ImbalanceSide(bits << 8) for bits in range(4))
_conditions: dict[int, m.TradeCondition] = {}
_MOST_CONDITIONS: Final = 1 << 12  # that are kept: four bytes have more values than there is memory for


def condition_of(bits: int) -> m.TradeCondition:
    found = _conditions.get(bits)
    if found is None:
        found = m.TradeCondition(bits)
        if len(_conditions) < _MOST_CONDITIONS:
            _conditions[bits] = found
    return found


# Numbers of the model as people write them.


def price_of(price: int, scale: Scale = USUAL) -> Decimal:
    """A price of the model, which counts ten-thousandths unless its instrument says otherwise."""
    return scale.price(price)


def price_text(price: int | None, places: int = 2, scale: Scale = USUAL) -> str:
    """With so many places at least; "market" for an order at any price."""
    return "market" if price is None else _text(price, -scale.price_exponent, places) + scale.unit


def places_of(tick: int, scale: Scale = USUAL) -> int:
    """How many places prices that are multiples of a tick have, two at least."""
    places = -scale.price_exponent
    return max(2, len(str(tick % 10**places).rjust(places, "0").rstrip("0")))


def fine_text(price: int | None) -> str:
    """Of a price in hundred-millionths."""
    return "-" if price is None else _text(price, -FINE_EXPONENT, 2)


def _text(number: int, scale: int, places: int) -> str:
    sign, digits = "-" if number < 0 else "", str(abs(number)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:].rstrip('0').ljust(places, '0')}"


def in_words(value: int) -> str:
    """The name of a value (of flags, their names), or the number where nobody has a name for it."""
    name: str | None = value.name if isinstance(value, Enum) else None
    return f"?{int(value)}" if name is None else name.lower().replace("_", " ").replace("|", " and ")
