"""Numbers per interval as columns: activity through the day."""

from collections.abc import Callable, Sequence

from pregao.report.charts.axes import (
    BELOW,
    TOP,
    Scale,
    chart,
    hits,
    nice_ticks,
    time_axis,
    time_scale,
    usual_most,
    value_axis,
)
from pregao.report.markup import Markup, join, number, tag
from pregao.report.numbers import clock, compact

HEIGHT = 190.0


def column_path(columns: Sequence[tuple[float, float, float]], bottom: float) -> str:
    """One path for all columns (left, width, top): small, and drawn at once."""
    parts = [
        f"M{number(left)} {number(bottom)}V{number(top)}h{number(width)}V{number(bottom)}z"
        for left, width, top in columns
        if bottom - top > 0.05
    ]
    return "".join(parts)


def column_chart(
    values: Sequence[tuple[int, int]], length_ns: int, *, key: str, title: str, unit: str, class_: str,
    text: Callable[[float], str] = compact, ends: tuple[int, int] | None = None,
) -> Markup:  # fmt: skip
    """`ends`: the times shown, so that charts below each other have one axis."""
    start, end = ends or (values[0][0], values[-1][0] + length_ns)
    bottom = HEIGHT - BELOW
    across = time_scale(start, end)
    ticks = nice_ticks(0, max(1, usual_most([value for _, value in values])))
    most = ticks[-1]
    up = Scale(0, most, bottom, TOP)
    width = max(across(start + length_ns) - across(start), 0.5)
    gap = 1.0 if width > 4 else 0.0  # a sliver of surface between columns that are wide enough
    columns = [(across(at) + gap / 2, width - gap, up(min(value, most))) for at, value in values]
    edges = [(across(at), across(at + length_ns)) for at, _ in values]
    tips = [f"{clock(at)}\n{value:,} {unit}" for at, value in values]
    peak = max(values, key=lambda each: each[1])
    about = f"{unit} per minute; the most were {peak[1]:,} at {clock(peak[0])}."
    return chart(
        title, about, HEIGHT, value_axis(up, ticks, text),
        tag("path", d=column_path(columns, bottom), class_=class_), _beyond(values, most, across, text),
        time_axis(across, bottom), hits(edges, tips, TOP, bottom), key=key,
    )  # fmt: skip


def _beyond(
    values: Sequence[tuple[int, int]], most: float, across: Scale, text: Callable[[float], str]
) -> Markup:
    """The numbers of columns that go on above the chart, where there is room for them."""
    parts: list[Markup] = []
    free = 0.0
    for at, value in values:
        x = across(at)
        if value > most and x > free:
            parts.append(
                tag("text", f"↑ {text(value)}", x=x - 5, y=TOP + 9, class_="name", text_anchor="end")
            )
            free = x + 60
    return join(parts)
