"""What the market tells, as JSON: prices as decimal text, dates as text, enums by name."""

from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum, Flag
from typing import Any, Final

from pregao.exchange.engine import Outcome
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT

_EPOCH: Final = date(1970, 1, 1)
_PRICES: Final = frozenset(
    ("price", "last_price", "vwap", "low", "high", "strike", "tick", "stop_price", "interest_rate")
)
_FINE: Final = frozenset(("closing_price",))
MOST_EVENTS: Final = 200  # told of one command; the feed has them all


def price_text(mantissa: int | None, exponent: int = PRICE_EXPONENT) -> str | None:
    return None if mantissa is None else f"{Decimal(mantissa).scaleb(exponent):f}"


def day_text(days: int | None) -> str | None:
    return None if days is None else str(_EPOCH + timedelta(days))


def as_json(value: Any, name: str = "") -> Any:
    """A dataclass of the model as an object with its `kind`, and whatever is in it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Flag):
        return [flag.name for flag in type(value) if flag in value and flag.value]
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value):
        told = {field.name: as_json(getattr(value, field.name), field.name) for field in fields(value)}
        return {"kind": type(value).__name__} | told
    if isinstance(value, tuple | list):
        return [as_json(each, name) for each in value]
    if name in _PRICES:
        return price_text(value)
    if name.endswith("_fine") or name in _FINE:
        return price_text(value, FINE_EXPONENT)
    return day_text(value) if name.endswith("_date") else value


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "order_ids": list(outcome.order_ids[:MOST_EVENTS]),
        "event_count": len(outcome.events),
        "events": [as_json(event.updates) for event in outcome.events[:MOST_EVENTS]],
    }
