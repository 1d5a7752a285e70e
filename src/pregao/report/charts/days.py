"""Numbers of trading days as columns, one beside the other: a week, or a year. Nights have no width."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final, NamedTuple

from pregao.report.charts.axes import (
    BELOW,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    AxisScale,
    chart,
    column_path,
    hits,
    nice_ticks,
    usual_most,
    value_axis,
)
from pregao.report.markup import Markup, compact, join, of, tag

HEIGHT: Final = 150.0
_WIDEST: Final = 72.0  # pixels: two days are not two walls
_NAME_WIDTH: Final = 86.0  # of a date below the chart


class DayValue(NamedTuple):
    """None: nothing is known of that day."""

    day: date
    value: float | None
    said: str


def day_chart(
    values: Sequence[DayValue], *, key: str, title: str, class_: str, text: Callable[[float], str] = compact
) -> Markup:
    """A column for each day, in the order given; a day of which nothing is known has an empty place."""
    bottom = HEIGHT - BELOW
    across = AxisScale(0, len(values), LEFT, min(WIDTH - RIGHT, LEFT + _WIDEST * 1.5 * len(values)))
    known = [(place, each.value) for place, each in enumerate(values) if each.value is not None]
    ticks = nice_ticks(0, usual_most([value for _, value in known]) or 1)
    up = AxisScale(0, ticks[-1], bottom, TOP)
    room = across(1) - across(0)
    width = min(room * (0.8 if room > 4 else 1.0), _WIDEST)
    columns = [
        (across(place + 0.5) - width / 2, width, up(min(value, ticks[-1]))) for place, value in known
    ]  # fmt: skip
    tips = [f"{each.day}\n{each.said}" for each in values]
    edges = [(across(place), across(place + 1)) for place in range(len(values))]
    most = max(known, key=lambda each: each[1], default=None)
    peak = "" if most is None else f"; most on {values[most[0]].day}: {values[most[0]].said}"
    about = f"{of(len(known), 'day')}{peak}."
    return chart(
        title, about, HEIGHT, value_axis(up, ticks, text),
        tag("path", d=column_path(columns, bottom), class_=class_), _axis(values, across, bottom),
        hits(edges, tips, TOP, bottom), key=key,
    )  # fmt: skip


def _axis(values: Sequence[DayValue], across: AxisScale, bottom: float) -> Markup:
    """As many dates as there is room for; the first is always told."""
    every = max(1, -(-len(values) * int(_NAME_WIDTH) // max(1, int(across.last - across.first))))
    parts = [tag("line", x1=across.first, x2=across.last, y1=bottom, y2=bottom, class_="axis")]
    for place in range(0, len(values), every):
        x = across(place + 0.5)
        parts.append(
            tag("text", str(values[place].day), x=x, y=bottom + 17, class_="tick", text_anchor="middle")
        )
    return join(parts)
