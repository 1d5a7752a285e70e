"""What a field of a command may hold, by its name: its JSON Schema and how to read it, in one place.

Numbers are bounded so that whatever is accepted here can be encoded on the wire.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final, Protocol

from pregao.exchange.commands import Rejection
from pregao.model.streams import MOST_CHANNEL

Schema = dict[str, Any]

_EPOCH: Final = date(1970, 1, 1)
_SECOND_NS: Final = 1_000_000_000
_LAST_DAY: Final = 65_534  # a LocalMktDate is a uint16
_LAST_TIME_NS: Final = _LAST_DAY * 86_400 * _SECOND_NS
_LARGEST_QUANTITY: Final = 1_000_000_000_000
_LARGEST_ID: Final = 999_999_999_999
_DURATION: Final = re.compile(r"\+?([0-9]{1,9})(ms|s|m)", re.ASCII)
_UNITS: Final = {"ms": 1_000_000, "s": _SECOND_NS, "m": 60 * _SECOND_NS}
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
# Without what XML and terminals choke on; a line feed and a tab are text.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class RequestError(Exception):
    """A request that is not what the schema says: 400, with a name for what is wrong."""

    def __init__(self, reason: str, text: str, where: str = "") -> None:
        self.reason, self.text, self.where = reason, text, where
        super().__init__(f"{where}: {text}" if where else text)


class RefusedError(Exception):
    """The request is well-formed, and refused for what it names: 409."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        super().__init__(rejection.text)


class MarketKnowledge(Protocol):
    """What reading needs to know of the market."""

    def now_ns(self) -> int: ...

    def find(self, symbol: str) -> int:
        """The id of a symbol; RefusedError where there is none."""

    def find_bond(self, symbol: str) -> int:
        """The same of a bond, or of a future that is the leg of a casada."""


@dataclass(frozen=True)
class FieldKind:
    schema: Schema
    read: Callable[[object, str, MarketKnowledge], Any]


def wrong_type(wanted: str, where: str) -> RequestError:
    return RequestError("wrong-type", f"must be {wanted}", where)


def out_of_range(wanted: str, where: str) -> RequestError:
    return RequestError("out-of-range", f"must be {wanted}", where)


def _integer(low: int, high: int, description: str = "") -> FieldKind:
    schema: Schema = {"type": "integer", "minimum": low, "maximum": high}

    def read(value: object, where: str, desk: MarketKnowledge) -> int:
        if type(value) is not int:
            raise wrong_type("a whole number", where)
        if not low <= value <= high:
            raise out_of_range(f"from {low} to {high}", where)
        return value

    return FieldKind(schema | ({"description": description} if description else {}), read)


def _decimal(places: int, low: Decimal | int, high: int, description: str) -> FieldKind:
    """A number or a text of one; exact either way."""
    pattern = rf"-?[0-9]{{1,10}}(\.[0-9]{{1,{places}}})?"
    matcher = re.compile(pattern, re.ASCII)
    schema: Schema = {
        "description": f"{description}, as a number or a text, with at most {places} decimal places",
        "anyOf": [
            {"type": "number", "minimum": float(low), "maximum": high},
            {"type": "string", "pattern": f"^{pattern}$"},
        ],
    }

    def read(value: object, where: str, desk: MarketKnowledge) -> int:
        if isinstance(value, str):
            if matcher.fullmatch(value) is None:
                raise wrong_type("a decimal number", where)
            number = Decimal(value)
        elif type(value) is int or type(value) is Decimal:
            number = Decimal(value)
        else:
            raise wrong_type("a decimal number", where)
        if not low <= number <= high:
            raise out_of_range(f"from {low} to {high}", where)
        scaled = number.scaleb(places)
        if scaled != scaled.to_integral_value():
            raise out_of_range(f"of at most {places} decimal places", where)
        return int(scaled)

    return FieldKind(schema, read)


def _text(longest: int, pattern: str | None = None, description: str = "") -> FieldKind:
    schema: Schema = {"type": "string", "maxLength": longest}
    if description:
        schema["description"] = description
    if pattern is not None:
        schema["pattern"] = f"^{pattern}$"
    matcher = None if pattern is None else re.compile(pattern, re.ASCII)

    def read(value: object, where: str, desk: MarketKnowledge) -> str:
        if not isinstance(value, str):
            raise wrong_type("text", where)
        if len(value) > longest:
            raise out_of_range(f"at most {longest} characters long", where)
        if _UNPRINTABLE.search(value) is not None:
            raise out_of_range("printable text", where)
        if matcher is not None and matcher.fullmatch(value) is None:
            raise out_of_range(f"of the form {pattern}", where)
        return value

    return FieldKind(schema, read)


def _read_instrument(value: object, where: str, desk: MarketKnowledge) -> int:
    if isinstance(value, str):
        return desk.find(value)
    if type(value) is not int:
        raise wrong_type("a securityID or a symbol", where)
    if not 1 <= value <= _LARGEST_ID:
        raise out_of_range(f"from 1 to {_LARGEST_ID}", where)
    return value


def _read_bond(value: object, where: str, desk: MarketKnowledge) -> int:
    return desk.find_bond(value) if isinstance(value, str) else _read_instrument(value, where, desk)


def _read_date(value: object, where: str, desk: MarketKnowledge) -> int:
    if not isinstance(value, str) or _DATE.fullmatch(value) is None:
        raise wrong_type("a date as 2026-11-16", where)
    try:
        days = (date.fromisoformat(value) - _EPOCH).days
    except ValueError:
        raise wrong_type("a date as 2026-11-16", where) from None
    if not 1 <= days <= _LAST_DAY:
        raise out_of_range(f"from {_EPOCH + timedelta(1)} to {_EPOCH + timedelta(_LAST_DAY)}", where)
    return days


def _read_time(value: object, where: str, desk: MarketKnowledge) -> int:
    if isinstance(value, str):
        return desk.now_ns() + _duration(value, where)
    if type(value) is not int:
        raise wrong_type("nanoseconds since 1970, or a time from now as +30s", where)
    if not 0 <= value <= _LAST_TIME_NS:
        raise out_of_range(f"from 0 to {_LAST_TIME_NS}", where)
    return value


def _read_duration(value: object, where: str, desk: MarketKnowledge) -> int:
    spent = _duration(value, where) if isinstance(value, str) else value
    if type(spent) is not int:
        raise wrong_type("nanoseconds, or a duration as 30s", where)
    if not 1 <= spent <= 3600 * _SECOND_NS:
        raise out_of_range("at most an hour", where)
    return spent


def _duration(text: str, where: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise wrong_type("a duration as 500ms, 30s or 5m", where)
    spent = int(found[1]) * _UNITS[found[2]]
    if spent > 86_400 * _SECOND_NS:
        raise out_of_range("at most a day", where)
    return spent


_INSTRUMENT: Final = FieldKind(
    {
        "description": "securityID, or symbol",
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": _LARGEST_ID},
            {"type": "string", "minLength": 1, "maxLength": 20},
        ],
    },
    _read_instrument,
)
_BOND: Final = FieldKind(_INSTRUMENT.schema, _read_bond)
_DAY: Final = FieldKind({"type": "string", "format": "date"}, _read_date)
_TIME: Final = FieldKind(
    {
        "description": "nanoseconds since 1970, or a time from now as +30s",
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": _LAST_TIME_NS},
            {"type": "string", "pattern": f"^{_DURATION.pattern}$"},
        ],
    },
    _read_time,
)
_SPAN: Final = FieldKind(
    {
        "description": "nanoseconds, or a duration as 30s; at most an hour",
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 3600 * _SECOND_NS},
            {"type": "string", "pattern": f"^{_DURATION.pattern}$"},
        ],
    },
    _read_duration,
)
_BILLION: Final = 1_000_000_000
_MILLION: Final = 1_000_000
_PRICE: Final = _decimal(4, -_BILLION, _BILLION, "price")
_SIZE: Final = _integer(1, _LARGEST_QUANTITY)
_FIRM: Final = _integer(1, 4_294_967_295, "code of a participant")

KINDS: Final[dict[str, FieldKind]] = {
    **dict.fromkeys(("security_id", "security_ids", "cash_security_id", "like"), _INSTRUMENT),
    **dict.fromkeys(("price", "stop_price", "cash_price"), _PRICE),
    **dict.fromkeys(("low", "high"), _decimal(4, -_BILLION, _BILLION, "price or percentage")),
    "price_fine": _decimal(8, -_BILLION, _BILLION, "price"),
    "tick": _decimal(4, Decimal("0.0001"), 1_000_000, "price above zero"),
    "interest_rate": _decimal(4, 0, 100_000, "percentage"),
    **dict.fromkeys(("quantity", "max_floor", "min_quantity", "average_daily", "largest_order"), _SIZE),
    **dict.fromkeys(("lot", "minimum_quantity", "maximum_quantity"), _integer(1, _BILLION)),
    **dict.fromkeys(("firm", "buyer", "seller", "counterparty", "quoters"), _FIRM),
    "bond": _BOND,
    "exact_price": _decimal(8, -_MILLION, _MILLION, "price, rate or spread"),
    **dict.fromkeys(("exact_low", "exact_high"), _decimal(8, -_MILLION, _MILLION, "price or rate")),
    "exact_size": _decimal(8, Decimal("0.00000001"), _BILLION, "quantity"),
    **dict.fromkeys(("request_id", "quote_id"), _integer(1, (1 << 53) - 1, "as answered before")),
    "investor_id": _integer(0, (1 << 53) - 1),
    "order_id": _integer(1, (1 << 53) - 1, "as answered when the order was entered"),
    "trade_id": _integer(1, 4_294_967_295),
    "new_id": _integer(1, _LARGEST_ID),
    "channel": _integer(0, MOST_CHANNEL),
    "segment": _integer(1, 255),
    "ratio": _integer(1, 1_000_000),
    "seller_days": _integer(1, 65_535),
    **dict.fromkeys(("expire_date", "trade_date"), _DAY),
    **dict.fromkeys(("ends_ns", "transact_ns", "deadline_ns"), _TIME),
    "by_ns": _SPAN,
    # Headline and link must fit one packet, at up to four bytes a character.
    "headline": _text(250),
    "text": _text(60_000),
    "url": _text(250, r"[!-~]*"),
    "language": _text(2, r"[a-z]{2}"),
    "client_order_id": _text(64),
    "group": _text(3, r"[!-~]{1,3}", "code of a group"),
    "exchange": _text(4, r"[!-~]{1,4}"),
    "symbol": _text(20, r"[A-Z0-9]{1,20}"),
    "description": _text(60),
    "server": _integer(0, 9, "0 is the primary"),
    "system": _text(20, r"[a-z]{0,20}", "conflated or trademate; empty: the first that is served"),
    "comp_id": _text(32, r"[!-~]{1,32}"),
    "reason": _text(120, r"[ -~]{1,120}"),
}
