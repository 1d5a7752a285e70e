"""Scales, ticks and the frame that all charts share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

from pregao.model.local_time import local_datetime
from pregao.report.markup import Markup, clock, compact, join, number, tag

WIDTH: Final = 1080.0
LEFT: Final = 62.0
RIGHT: Final = 14.0
TOP: Final = 12.0
BELOW: Final = 24.0  # room for the times
_SECOND: Final = 1_000_000_000
_STEPS: Final = tuple(
    seconds * _SECOND
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200)
)


@dataclass(frozen=True)
class AxisScale:
    """From values to pixels; `low` may be at the bottom (y) or the left (x)."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low or 1.0
        return self.first + (value - self.low) / span * (self.last - self.first)


def time_scale(start_ns: int, end_ns: int) -> AxisScale:
    return AxisScale(float(start_ns), float(max(end_ns, start_ns + 1)), LEFT, WIDTH - RIGHT)


def nice_ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers that cover the range."""
    span = high - low
    if span <= 0:
        return [low]
    rough = span / wanted
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * times for times in (1, 2, 2.5, 5, 10) if unit * times >= rough * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def usual_most(values: Sequence[float]) -> float:
    """The greatest value; or, where a few lie far beyond all others and would make those a flat line, one
    that leaves the few out. Whoever draws shows that they go on."""
    ordered = sorted(values) or [0.0]
    usual = ordered[(len(ordered) - 1) * 98 // 100]
    return ordered[-1] if usual <= 0 or ordered[-1] <= 4 * usual else usual * 1.6


def time_ticks(start_ns: int, end_ns: int, wanted: int = 9) -> list[int]:
    span = max(end_ns - start_ns, 1)
    step = next((step for step in _STEPS if span / step <= wanted), _STEPS[-1])
    offset = local_datetime(start_ns).utcoffset()
    shift = round(offset.total_seconds()) * _SECOND if offset else 0
    first = -(-(start_ns + shift) // step) * step - shift
    return list(range(first, end_ns + 1, step))


def time_axis(scale: AxisScale, bottom: float) -> Markup:
    """Times below the chart, seconds only where minutes would repeat."""
    start, end = round(scale.low), round(scale.high)
    ticks = time_ticks(start, end)
    fine = len(ticks) > 1 and ticks[1] - ticks[0] < 60 * _SECOND
    parts: list[Markup] = [tag("line", x1=scale.first, x2=scale.last, y1=bottom, y2=bottom, class_="axis")]
    for at in ticks:
        x = scale(at)
        anchor = "end" if x > scale.last - 22 else "start" if x < scale.first + 8 else "middle"
        parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis"))
        text = clock(at, seconds=fine)
        parts.append(tag("text", text, x=x, y=bottom + 17, class_="tick", text_anchor=anchor))
    return join(parts)


def value_axis(scale: AxisScale, ticks: Sequence[float], text: Callable[[float], str]) -> Markup:
    """Faint lines across, numbers to the left."""
    parts: list[Markup] = []
    for value in ticks:
        y = scale(value)
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", text(value), x=LEFT - 8, y=y + 4, class_="tick", text_anchor="end"))
    return join(parts)


def hits(edges: Sequence[tuple[float, float]], tips: Sequence[str], top: float, bottom: float) -> Markup:
    """Invisible strips from top to bottom that say what is under the pointer."""
    strips = [
        tag("rect", x=left, y=top, width=max(right - left, 1.0), height=bottom - top, data_tip=tip)
        for (left, right), tip in zip(edges, tips, strict=True)
    ]
    return tag("g", strips, class_="hits")


def chart(title: str, about: str, height: float, *parts: Markup, key: str) -> Markup:
    return tag(
        "svg", tag("title", title, id=f"{key}-title"), tag("desc", about, id=f"{key}-about"), *parts,
        view_box=f"0 0 {WIDTH:.0f} {height:.0f}", role="img", class_="chart", id=key,
        aria_labelledby=f"{key}-title {key}-about",
    )  # fmt: skip


# Numbers per interval as columns: activity through the day.


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
    up = AxisScale(0, most, bottom, TOP)
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
    values: Sequence[tuple[int, int]], most: float, across: AxisScale, text: Callable[[float], str]
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
