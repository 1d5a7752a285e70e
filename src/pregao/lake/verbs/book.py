"""The book of an instrument at an instant, for people."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, Final

from pregao.lake.book_at import BookAt, NoBookError, book_at, local_time, source_text
from pregao.lake.lake import Lake, Systems
from pregao.lake.tables.analytics import Quality
from pregao.model.errors import ConfigurationError
from pregao.model.local_time import SAO_PAULO

_TIME: Final = re.compile(
    r"(?:(?P<day>\d{4}-\d\d-\d\d)[T ])?(?P<h>\d\d):(?P<m>\d\d)(?::(?P<s>\d\d)(?:\.(?P<f>\d{1,9}))?)?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_NS: Final = 1_000_000_000


def parse_time(text: str, day: date | None = None) -> int:
    """Nanoseconds since 1970 of `2026-11-16T10:15:00.123456789`, in local time of São Paulo unless it says
    otherwise; without a date it is of `day`; a whole number is taken as it is."""
    if text.isdigit() and len(text) > 8:
        return int(text)
    match = _TIME.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{text!r} is not a time as 2026-11-16T10:15:00.123456789", key="at")
    try:
        on = date.fromisoformat(match["day"]) if match["day"] else day
        if on is None:
            reason = f"{text!r} has no date, and there is no day to take it of; say it as 2026-11-16T{text}"
            raise ConfigurationError(reason, key="at")
        zone = _zone(match["zone"])
        moment = datetime(
            on.year, on.month, on.day, int(match["h"]), int(match["m"]), int(match["s"] or 0), tzinfo=zone
        )
    except ValueError as error:
        raise ConfigurationError(f"{text!r}: {error}", key="at") from error
    return int(moment.timestamp()) * _NS + int((match["f"] or "").ljust(9, "0"))


def _zone(text: str | None) -> tzinfo:
    if text is None:
        return SAO_PAULO
    if text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))


def find_book(
    lake: str, symbol: str, at: str, depth: int | None, as_of: int | None = None, system: Systems = None,
    stream: str | None = None,
) -> BookAt:  # fmt: skip
    opened = Lake(lake, as_of=as_of, system=system)
    days = {file.partition["trade_date"] for file in opened.files("units")}
    if not days:
        raise NoBookError(f"nothing is in lake version {opened.version.number}: build it from captures first")
    return book_at(opened, symbol, parse_time(at, max(days)), depth, stream)


def as_text(book: BookAt) -> Iterator[str]:
    """Bids left, offers right, best first."""
    yield f"{book.symbol}  {local_time(book.at_ns)}  {source_text(book.source)}\n"
    yield f"{'; '.join(_told(book))}{_doubt(book)}\n"
    yield f"{'orders':>6} {'size':>12} {'bid':>14} │ {'offer':<14} {'size':<12} {'orders':<6}\n"
    for row in range(max(len(book.bids), len(book.offers))):
        left = right = ""
        if row < len(book.bids):
            bid = book.bids[row]
            left = f"{bid.orders:>6} {book.scale.size_text(bid.size):>12} {_price(bid.price, book):>14}"
        if row < len(book.offers):
            offer = book.offers[row]
            size = book.scale.size_text(offer.size)
            right = f"{_price(offer.price, book):<14} {size:<12} {offer.orders:<6}"
        yield f"{left:>34} │ {right}".rstrip() + "\n"


def _told(book: BookAt) -> Iterator[str]:
    """What the book is known by: its last change, and what was stored of it after that."""
    if book.last_ns is not None and book.last_place is not None:
        yield f"last change {local_time(book.last_ns)} in packet {_packet(book.last_place)}"
    elif book.known_ns is not None:
        yield "no change of it was captured before"
    else:
        yield "nothing was captured of it before: whether it is empty is not known"
    if book.known_ns is not None and book.known_place is not None and book.known_place != book.last_place:
        yield f"as stored at {local_time(book.known_ns)} with packet {_packet(book.known_place)}"


def _packet(place: tuple[int, int]) -> str:
    return f"{place[0]}/{place[1]}"


def as_json(book: BookAt) -> Iterator[str]:
    yield json.dumps(
        {
            "symbol": book.symbol, "security_id": book.security_id, "source": book.source,
            "channel": book.channel,
            "trade_date": book.trade_date.isoformat(), "at": book.at_ns, "last_change": book.last_ns,
            "packet": book.last_place, "known_at": book.known_ns, "quality": book.quality,
            **_kind(book), "bids": _levels(book.bids, book), "offers": _levels(book.offers, book),
        }
    ) + "\n"  # fmt: skip


def _kind(book: BookAt) -> dict[str, Any]:
    """Of instruments whose prices are not all alike."""
    return {} if book.scale.is_usual else {"price_kind": getattr(book.scale.price_kind, "name", None)}


def _levels(levels: Any, book: BookAt) -> list[dict[str, Any]]:
    scale = book.scale
    return [
        {
            "price": None if level.price is None else _decimal(level.price, scale.price_exponent),
            "size": level.size if scale.is_usual else _decimal(level.size, scale.size_exponent),
            "orders": level.orders,
        }
        for level in levels
    ]


def _decimal(mantissa: int, exponent: int) -> str:
    return str(Decimal(mantissa).scaleb(exponent))


def _price(price: int | None, book: BookAt) -> str:
    return "market" if price is None else book.scale.price_text(price)


def _doubt(book: BookAt) -> str:
    doubts = Quality(book.quality) & ~Quality.FROM_SNAPSHOT
    return f" ({str(doubts.name).lower().replace('_', ' ')})" if doubts else ""
