"""HTML and SVG that cannot be broken by data: text is escaped unless it is markup already."""

from collections.abc import Iterable
from html import escape
from typing import Final

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
