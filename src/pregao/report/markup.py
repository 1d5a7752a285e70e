"""HTML and SVG that cannot be broken by data, numbers and times as people read them, and the pieces that
sections of a page are made of."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape
from typing import Final, TypeVar

from pregao.model.local_time import local_datetime

_VOID: Final = frozenset(("meta", "rect", "line", "path", "circle", "br", "polyline"))


class Markup(str):
    """Text that is markup: made by `tag` and `raw` only."""

    __slots__ = ()


Child = str | Markup | None | Iterable["str | Markup | None"]


def raw(text: str) -> Markup:
    """Of our own files; never of data."""
    return Markup(text)


def tag(name: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """`class_` is class, `aria_label` is aria-label; None is left out."""
    written = "".join(
        f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    return Markup("".join(_text(child) for child in children))


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(child, quote=False)
    return join(child)


def _name(key: str) -> str:
    return "viewBox" if key == "view_box" else key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return number(value) if isinstance(value, float) else escape(str(value), quote=True)


def number(value: float) -> str:
    """A coordinate: a tenth of a pixel is enough."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def table(head: Iterable[str], rows: Iterable[Iterable[Child]], *, caption: str, numbers: str = "") -> Markup:
    """`numbers` has a letter a column: r is to the right, anything else to the left."""
    classes = ["number" if letter == "r" else None for letter in numbers]

    def of(place: int) -> str | None:
        return classes[place] if place < len(classes) else None

    top = tag("tr", [tag("th", text, scope="col", class_=of(place)) for place, text in enumerate(head)])
    body = [tag("tr", [tag("td", cell, class_=of(place)) for place, cell in enumerate(row)]) for row in rows]
    narrow = "narrow" if len(numbers) <= 4 else None  # few numbers want to be close to each other
    made = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", body), class_=narrow)
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


# Numbers and times as people read them: one way for the page and the terminal. English throughout: 1,234.56;
# times are those of B3's clocks (America/Sao_Paulo).


NOTHING: Final = "–"
_SECOND: Final = 1_000_000_000
_UNITS: Final = ((_SECOND, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def count(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def of(value: int, one: str, many: str = "") -> str:
    """1 gap, 2 gaps."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def compact(value: float | int | Decimal | None) -> str:
    """Three digits that matter: 1.23 M."""
    if value is None:
        return NOTHING
    number = float(value)
    for limit, suffix in ((1e12, " T"), (1e9, " bn"), (1e6, " M"), (1e4, " k")):
        if abs(number) >= limit:
            scaled = number / (1e3 if suffix == " k" else limit)
            places = 0 if abs(scaled) >= 100 else 1 if abs(scaled) >= 10 else 2
            return f"{_short(scaled, places)}{suffix}"
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def money(value: Decimal | None, currency: str | None) -> str:
    """BRL 1.23 M; without a currency where nobody said which."""
    if value is None:
        return NOTHING
    return f"{currency} {compact(value)}" if currency else compact(value)


def _short(value: float, places: int) -> str:
    """Without zeroes that say nothing."""
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(octets: int) -> str:
    number = float(octets)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "B" or number >= 100 else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def share(part: int, whole: int) -> str:
    """Never rounded up to all, nor down to nothing."""
    if not whole:
        return NOTHING
    percent = 100 * part / whole
    if part in (0, whole):
        return "100 %" if part else "0 %"
    for places in (1, 2, 3, 4):
        if 0 < float(f"{percent:.{places}f}") < 100:
            return f"{percent:.{places}f} %"
    return "< 0.0001 %" if percent < 50 else "> 99.9999 %"


def percent(ratio: float) -> str:
    return f"{100 * ratio:+,.2f} %".replace("-", "−")


def price(value: Decimal | float | None) -> str:
    """At least two places, more only where they say something."""
    if value is None:
        return NOTHING
    text = f"{Decimal(str(value)):,.8f}"
    whole, _, places = text.partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}".replace("-", "−")


def duration(nanoseconds: float | None) -> str:
    if nanoseconds is None:
        return NOTHING
    value = abs(nanoseconds)
    if not value:
        return "0"
    if value >= 60 * _SECOND:
        minutes, seconds = divmod(round(nanoseconds / _SECOND), 60)
        return f"{minutes:,} min {seconds:02} s" if seconds else f"{minutes:,} min"
    for length, unit in _UNITS:
        if value >= length or length == 1:
            number = nanoseconds / length
            places = 0 if abs(number) >= 100 or length == 1 else 1
            return f"{_short(number, places)} {unit}".replace("-", "−")
    return NOTHING


def clock(nanoseconds: int | None, *, seconds: bool = False) -> str:
    if nanoseconds is None:
        return NOTHING
    return local_datetime(nanoseconds).strftime("%H:%M:%S" if seconds else "%H:%M")


T = TypeVar("T")

_TICK = '<path d="M7 12.5l3.2 3.2L17 9" fill="none" stroke="currentColor" stroke-width="2"/>'
_MARK = '<path d="M12 7v6m0 3v1" fill="none" stroke="currentColor" stroke-width="2.2"/>'
_ICONS = {
    "good": f'<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2"/>{_TICK}',
    "warn": '<path d="M12 2.8L22 20.5H2z" fill="none" stroke="currentColor" stroke-width="2"'
    f' stroke-linejoin="round"/>{_MARK}',
    "bad": f'<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2"/>{_MARK}',
}


def section(key: str, title: str, note: Child, *children: Child) -> Markup:
    lead = tag("p", note, class_="note") if note else None
    head = tag("h2", title, id=f"{key}-head")
    return tag("section", head, lead, *children, id=f"s-{key}", aria_labelledby=f"{key}-head")


def tiles(*each: tuple[str, str, str]) -> Markup:
    """Label, value, and what puts it in proportion."""
    return tag(
        "div",
        [
            tag(
                "div", tag("div", label, class_="label"), tag("div", value, class_="value"),
                tag("div", more, class_="more"), class_="tile",
            )
            for label, value, more in each
        ],
        class_="tiles",
    )  # fmt: skip


def verdict(level: str, head: str, rest: str) -> Markup:
    """Told by icon, colour and words."""
    icon = raw(f'<svg viewBox="0 0 24 24" aria-hidden="true">{_ICONS[level]}</svg>')
    return tag("div", icon, tag("p", tag("b", head), " ", rest), class_=f"verdict {level}", role="status")


def figure(
    chart: Markup, *, caption: Child = None, legend: Child = None, data: Markup | None = None
) -> Markup:
    """A chart, what it shows, and its numbers."""
    numbers = None if data is None else tag("details", tag("summary", "The numbers"), data)
    said = tag("figcaption", caption) if caption else None
    return tag("figure", said, legend, chart, numbers)


def legend(*each: tuple[str, str]) -> Markup:
    """Class of a line (`line …`) or of an area, and its name."""
    return tag("div", [_entry(class_, name) for class_, name in each], class_="legend")


def _entry(class_: str, name: str) -> Markup:
    if class_.startswith("line"):
        shape = tag("line", x1="0", x2="18", y1="6", y2="6", class_=class_)
    else:
        shape = tag("rect", x="2", y="0", width="14", height="12", rx="2", class_=class_)
    return tag("span", tag("svg", shape, view_box="0 0 18 12", aria_hidden="true"), name)


def label(level: str, text: str) -> Markup:
    return tag("span", text, class_=f"tag {level}")


def nothing(text: str) -> Markup:
    return tag("p", text, class_="nothing")


def thinned(rows: Sequence[T], most: int = 400) -> Sequence[T]:
    """Tables below charts stay readable: evenly thinned, which they say."""
    return rows if len(rows) <= most else rows[:: len(rows) // most + 1]
