"""What an operator sends and is sent, as JSON: commands from
their fields and types, with their JSON Schemas, and what the market tells."""

import json
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum, Flag
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from pregao.exchange.engine import CommandOutcome
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT
from pregao.simulator.operator.kinds import (
    KINDS,
    FieldKind,
    MarketKnowledge,
    RequestError,
    Schema,
    wrong_type,
)

_STAMP: Final = "now_ns"  # the exchange's to set
_MOST_ITEMS: Final = 1000
_MOST_LEGS: Final = 10  # of a strategy: its definition must fit a packet
REFERENCE: Final = "#/components/schemas/"


@dataclass(frozen=True)
class CommandField:
    """One field of a command."""

    field: Field[Any]
    type: Any  # without None
    optional: bool

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def required(self) -> bool:
        return self.field.default is MISSING and not self.optional


@cache
def slots(command: type) -> tuple[CommandField, ...]:
    hints = get_type_hints(command)
    return tuple(_slot(field, hints[field.name]) for field in fields(command) if field.name != _STAMP)


def _slot(field: Field[Any], hint: Any) -> CommandField:
    if get_origin(hint) is not UnionType:
        return CommandField(field, hint, False)
    (kind,) = (part for part in get_args(hint) if part is not NoneType)
    return CommandField(field, kind, True)


def parse_json(body: bytes) -> object:
    """Strict JSON: no NaN, no repeated keys, no depth without end; decimals stay exact."""
    try:
        value: object = json.loads(
            body.decode("utf-8"),
            parse_float=_exact,
            parse_constant=_no_constant,
            object_pairs_hook=_no_repeats,
        )
    except (ValueError, RecursionError) as error:
        raise RequestError("not-json", f"the body is not JSON: {error}"[:200]) from None
    return value


def _exact(text: str) -> Decimal:
    number = Decimal(text) if len(text) <= 64 else Decimal("NaN")
    if not number.is_finite() or not -64 <= number.adjusted() <= 64:
        raise ValueError("a number far too large or small")
    return number


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def read_command(command: type, value: object, desk: MarketKnowledge) -> Any:
    """A command of this type, its time still to be set."""
    return _read_dataclass(command, value, "", desk)


def _read_dataclass(kind: type, value: object, where: str, desk: MarketKnowledge) -> Any:
    if not isinstance(value, dict):
        raise wrong_type("an object", where)
    known = {slot.name: slot for slot in slots(kind)}
    for key in value:
        if key not in known:
            raise RequestError("unknown-key", "is not known here", _path(where, key[:60]))
    arguments: dict[str, Any] = {}
    for name, slot in known.items():
        if value.get(name) is not None:
            arguments[name] = _read(slot.type, slot.name, value[name], _path(where, name), desk)
        elif slot.required:
            raise RequestError("missing-key", "is missing", _path(where, name))
        elif name in value and not slot.optional:
            raise wrong_type("left out, or have a value", _path(where, name))
        elif slot.field.default is MISSING:
            arguments[name] = None
    if any(field.name == _STAMP for field in fields(kind)):
        arguments[_STAMP] = 0
    return kind(**arguments)


def _read(kind: Any, name: str, value: object, where: str, desk: MarketKnowledge) -> Any:
    if get_origin(kind) is tuple:
        most = _most(kind)
        if not isinstance(value, list):
            raise wrong_type("a list", where)
        if not 1 <= len(value) <= most:
            raise RequestError("out-of-range", f"must have 1 to {most} items", where)
        item = get_args(kind)[0]
        return tuple(_read(item, name, each, f"{where}[{n}]", desk) for n, each in enumerate(value))
    if isinstance(kind, type) and issubclass(kind, Enum):
        if not isinstance(value, str):
            raise wrong_type("text", where)
        if value not in kind.__members__:
            raise RequestError("unknown-value", f"must be one of {', '.join(kind.__members__)}", where)
        return kind[value]
    if kind is bool:
        if not isinstance(value, bool):
            raise wrong_type("true or false", where)
        return value
    if is_dataclass(kind):
        assert isinstance(kind, type)
        return _read_dataclass(kind, value, where, desk)
    return _named(name).read(value, where, desk)


def _most(kind: Any) -> int:
    return _MOST_LEGS if is_dataclass(get_args(kind)[0]) else _MOST_ITEMS


def _named(name: str) -> FieldKind:
    return KINDS[name]


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


# --- the same as JSON Schema -------------------------------------------------------------------


def component_schemas(commands: "tuple[type, ...]") -> dict[str, Schema]:
    """Every command, and every dataclass and enum in one, by name."""
    found: dict[str, Schema] = {}
    for command in commands:
        _collect(command, found)
    return found


def _collect(kind: Any, found: dict[str, Schema]) -> Schema:
    if get_origin(kind) is tuple:
        return _collect(get_args(kind)[0], found)
    if kind.__name__ in found:
        return {"$ref": REFERENCE + kind.__name__}
    if issubclass(kind, Enum):
        found[kind.__name__] = {"type": "string", "enum": list(kind.__members__)}
    else:
        found[kind.__name__] = {}  # its place, before what it is made of
        found[kind.__name__] = _object_schema(kind, found)
    return {"$ref": REFERENCE + kind.__name__}


def _object_schema(kind: type, found: dict[str, Schema]) -> Schema:
    properties = {slot.name: _slot_schema(slot, found) for slot in slots(kind)}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [slot.name for slot in slots(kind) if slot.required]
    document = kind.__doc__ or ""
    if not document.startswith(f"{kind.__name__}("):  # that is the dataclass's own
        schema["description"] = " ".join(document.split())
    return schema | ({"required": required} if required else {})


def _slot_schema(slot: CommandField, found: dict[str, Schema]) -> Schema:
    kind = slot.type
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        inner = _collect(item, found) if is_dataclass(item) else _named(slot.name).schema
        schema: Schema = {"type": "array", "items": inner, "minItems": 1, "maxItems": _most(kind)}
    elif kind is bool:
        schema = {"type": "boolean"}
    elif is_dataclass(kind) or issubclass(kind, Enum):
        schema = _collect(kind, found)
    else:
        schema = _named(slot.name).schema
    if slot.optional:
        return {"anyOf": [schema, {"type": "null"}]}
    default = slot.field.default
    if default is MISSING:
        return schema
    return {"allOf": [schema], "default": default.name if isinstance(default, Enum) else default}


# What the market tells, as JSON: prices as decimal text, dates as text, enums by name.


_EPOCH: Final = date(1970, 1, 1)
_PRICES: Final = frozenset(
    ("price", "last_price", "vwap", "low", "high", "strike", "tick", "stop_price", "interest_rate")
)
_FINE: Final = frozenset(("closing_price",))
_SIZES: Final = frozenset((
    "size", "volume", "lot", "minimum_quantity", "maximum_quantity", "largest_rfq", "largest_voice",
))  # fmt: skip
Exponents = tuple[int, int]
MOST_EVENTS: Final = 200  # told of one command; the feed has them all


def price_text(mantissa: int | None, exponent: int = PRICE_EXPONENT) -> str | None:
    return None if mantissa is None else f"{Decimal(mantissa).scaleb(exponent):f}"


def day_text(days: int | None) -> str | None:
    return None if days is None else str(_EPOCH + timedelta(days))


def as_json(value: Any, name: str = "", exponents: Exponents = (PRICE_EXPONENT, 0)) -> Any:
    """A dataclass of the model as an object with its `kind`, and whatever is in it; `exponents` are those of
    its prices and sizes."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Flag):
        return [flag.name for flag in type(value) if flag in value and flag.value]
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value):
        values = {
            field.name: as_json(getattr(value, field.name), field.name, exponents) for field in fields(value)
        }
        return {"kind": type(value).__name__} | values
    if isinstance(value, tuple | list):
        return [as_json(each, name, exponents) for each in value]
    if name in _PRICES:
        return price_text(value, exponents[0])
    if name in _SIZES and exponents[1]:
        return price_text(value, exponents[1])
    if name.endswith("_fine") or name in _FINE:
        return price_text(value, FINE_EXPONENT)
    return day_text(value) if name.endswith("_date") else value


def command_json(command: Any) -> dict[str, Any]:
    """What would be sent for a command: what `read_command` makes it of. Fields as they are by default are
    left out, and its time, which is the exchange's to set."""
    values: dict[str, Any] = {}
    for field in fields(command):
        value = getattr(command, field.name)
        if field.name == _STAMP or value == field.default:
            continue
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            values[field.name] = [command_json(each) for each in value]
        else:
            values[field.name] = as_json(value, field.name)
    return values


def outcome_json(
    outcome: CommandOutcome, exponents: Callable[[int | None], Exponents | None] | None = None
) -> dict[str, Any]:
    """`exponents` gives those of instruments that have others than usual."""

    def of(update: Any) -> Exponents:
        found = None if exponents is None else exponents(getattr(update, "security_id", None))
        return found or (PRICE_EXPONENT, 0)

    return {
        "order_ids": list(outcome.order_ids[:MOST_EVENTS]),
        "event_count": len(outcome.events),
        "events": [
            [as_json(update, exponents=of(update)) for update in event.updates]
            for event in outcome.events[:MOST_EVENTS]
        ],
    }
