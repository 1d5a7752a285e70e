"""Lines over time, with a name at the end of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pregao.services.report.charts.axes import (
    BELOW,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    chart,
    hits,
    nice_ticks,
    time_axis,
    value_axis,
)
from pregao.services.report.markup import Markup, join, number, tag
from pregao.services.report.numbers import clock

HEIGHT = 210.0
_NAMES = 74.0  # room for names to the right


@dataclass(frozen=True)
class Line:
    name: str
    class_: str
    points: tuple[tuple[int, float | None], ...]  # None: nothing was measured, the line has a hole


def line_chart(
    lines: Sequence[Line], *, key: str, title: str, about: str, text: Callable[[float], str],
    tip: Callable[[float], str], step_ns: int, from_zero: bool = True,
) -> Markup:  # fmt: skip
    times = sorted({at for line in lines for at, _ in line.points})
    values = [value for line in lines for _, value in line.points if value is not None]
    bottom = HEIGHT - BELOW
    across = Scale(times[0], times[-1] + step_ns, LEFT, WIDTH - RIGHT - _NAMES)
    low = min(0.0, *values) if from_zero else min(values)
    ticks = nice_ticks(low, max(values, default=1.0) or 1.0)
    up = Scale(ticks[0], ticks[-1], bottom, TOP)
    known = [dict(line.points) for line in lines]
    tips = [
        "\n".join(
            [clock(at)]
            + [
                f"{line.name}: {tip(value)}"
                for line, mine in zip(lines, known, strict=True)
                if (value := mine.get(at)) is not None
            ]
        )
        for at in times
    ]
    edges = [(across(at), across(at + step_ns)) for at in times]
    return chart(
        title, about, HEIGHT, value_axis(up, ticks, text),
        *(tag("path", d=_path(line, across, up, step_ns), class_=f"line {line.class_}") for line in lines),
        _names(lines, up), time_axis(across, bottom), hits(edges, tips, TOP, bottom), key=key,
    )  # fmt: skip


def _path(line: Line, across: Scale, up: Scale, step_ns: int) -> str:
    parts: list[str] = []
    before: int | None = None
    for at, value in line.points:
        if value is None:
            before = None
            continue
        joined = before is not None and at - before <= step_ns
        parts.append(f"{'L' if joined else 'M'}{number(across(at + step_ns / 2))} {number(up(value))}")
        if not joined:
            parts.append("h0.1")  # a lonely point is a dot, not nothing
        before = at
    return "".join(parts)


def _names(lines: Sequence[Line], up: Scale) -> Markup:
    """Beside the last value of each line, pushed apart where they would overlap; in the ink of text."""
    ends = [
        (up(values[-1]), line)
        for line in lines
        if (values := [value for _, value in line.points if value is not None])
    ]
    parts: list[Markup] = []
    floor = TOP
    for y, line in sorted(ends, key=lambda each: each[0]):
        y = max(y, floor)
        floor = y + 15
        x = WIDTH - RIGHT - _NAMES + 8
        parts.append(tag("line", x1=x, x2=x + 12, y1=y, y2=y, class_=f"line {line.class_}"))
        parts.append(tag("text", line.name, x=x + 17, y=y + 4, class_="name"))
    return join(parts)
