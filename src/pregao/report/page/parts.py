"""Pieces that sections are made of."""

from collections.abc import Sequence
from typing import TypeVar

from pregao.report.markup import Child, Markup, raw, tag

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
