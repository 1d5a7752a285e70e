"""Single values as people read them."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from pregao.captures.formats.palette import Palette
from pregao.captures.formats.times import Clock, date_of
from pregao.feeds.decoding import Form, Wording

# A value and the capture time of its message (a time of the same day is shown without its date)
# to text; None when there is nothing to show.
Show = Callable[[Any, int], str | None]


def price(value: Decimal) -> str:
    """Without the zeros of the wire's scale, but with two places at least."""
    text = format(value, "f")
    whole, point, places = text.partition(".")
    return f"{whole}.{places.rstrip('0'):0<2}" if point else text


def printable(text: str) -> str:
    """Text from the wire that cannot move the cursor or break the line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def show_field(form: Form, clock: Clock, palette: Palette, wording: Wording) -> Show:
    """How to show a field of this form."""
    simple: dict[Form, Show] = {
        Form.TIME: clock.local,
        Form.SECONDS: lambda value, _: clock.seconds(value),
        Form.DECIMAL: lambda value, _: price(value),
        Form.DATE: lambda value, _: date_of(value),
        Form.MONTH: _show_month,
        Form.COMPOSITE: _show_composite,
        Form.CHOICE: lambda value, _: _choice(value, palette, wording),
        Form.CHOICES: lambda value, _: ",".join(_bit(bit, palette) for bit in value) or None,
    }
    return simple.get(form, lambda value, _: show_any(value))


def show_any(value: Any) -> str:
    """A value of which nothing but its own type is known."""
    if isinstance(value, str):
        text = printable(value)
        return f'"{text}"' if " " in text else text
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, Decimal):
        return price(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


def _choice(value: str | int, palette: Palette, wording: Wording) -> str:
    if isinstance(value, int):
        return palette.paint(palette.alarm, f"?{value}")
    if value in wording.buying:
        return palette.paint(palette.buy, value)
    return palette.paint(palette.sell, value) if value in wording.selling else value


def _bit(value: str | int, palette: Palette) -> str:
    return palette.paint(palette.alarm, f"?bit{value}") if isinstance(value, int) else value


def _show_month(value: dict[str, Any], near: int) -> str | None:
    """MaturityMonthYear: `2025-06`, `2025-06-18`, `2025-06w3`."""
    year, month, day, week = (value.get(part) for part in ("year", "month", "day", "week"))
    if year is None or not set(value) <= {"year", "month", "day", "week"}:
        return _show_composite(value, near)
    text = f"{year:04d}"
    text += f"-{month:02d}" if month is not None else ""
    text += f"-{day:02d}" if day is not None else ""
    return text + (f"w{week}" if week is not None else "")


def _show_composite(value: dict[str, Any], near: int) -> str | None:
    parts = []
    for name, member in value.items():
        shown = _show_composite(member, near) if isinstance(member, dict) else member
        if shown is not None:
            parts.append(f"{name}={show_any(shown) if not isinstance(member, dict) else shown}")
    return f"({' '.join(parts)})" if parts else None
