"""Lines over time, with a name at the end of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pregao.report.charts.axes import (
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
    usual_most,
    value_axis,
)
from pregao.report.markup import Markup, join, number, tag
from pregao.report.numbers import clock

HEIGHT = 210.0
_NAMES = 74.0  # room for names to the right


@dataclass(frozen=True)
class Line:
    name: str
    class_: str
    points: tuple[tuple[int, float | None], ...]  # None: nothing was measured, the line has a hole


def line_chart(
    lines: Sequence[Line], *, key: str, title: str, about: str, text: Callable[[float], str],
    tip: Callable[[float], str], step_ns: int,
) -> Markup:  # fmt: skip
    times = sorted({at for line in lines for at, _ in line.points})
    values = [value for line in lines for _, value in line.points if value is not None]
    bottom = HEIGHT - BELOW
    across = Scale(times[0], times[-1] + step_ns, LEFT, WIDTH - RIGHT - _NAMES)
    below = -usual_most([-value for value in values if value < 0])
    ticks = nice_ticks(min(0.0, below), max(0.0, usual_most(values)) or 1.0)
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
        *(_beyond(line, across, up, step_ns) for line in lines),
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
        parts.append(
            f"{'L' if joined else 'M'}{number(across(at + step_ns / 2))} {number(_inside(value, up))}"
        )
        if not joined:
            parts.append("h0.1")  # a lonely point is a dot, not nothing
        before = at
    return "".join(parts)


def _inside(value: float, up: Scale) -> float:
    return up(min(max(value, up.low), up.high))


def _beyond(line: Line, across: Scale, up: Scale, step_ns: int) -> Markup:
    """A mark at the edge where a value lies outside the chart; its tip tells the value."""
    marks = [
        f"M{number(across(at + step_ns / 2) - 4)} {number(_inside(value, up) - way)}"
        f"h8l-4 {number(-way * 1.6)}z"
        for at, value in line.points
        if value is not None and not up.low <= value <= up.high
        for way in (3.0 if value > up.high else -3.0,)
    ]
    return tag("path", d="".join(marks), class_=f"beyond {line.class_.split()[0]}") if marks else join(())


def _names(lines: Sequence[Line], up: Scale) -> Markup:
    """Beside the last value of each line, pushed apart where they would overlap; in the ink of text."""
    ends = [
        (_inside(values[-1], up), line)
        for line in lines
        if (values := [value for _, value in line.points if value is not None])
    ]
    parts: list[Markup] = []
    ends.sort(key=lambda each: each[0])
    floor = TOP
    for place, (y, line) in enumerate(ends):
        ceiling = HEIGHT - BELOW - 15 * (len(ends) - 1 - place)  # room for those below
        y = max(min(y, ceiling), floor)
        floor = y + 15
        x = WIDTH - RIGHT - _NAMES + 8
        parts.append(tag("line", x1=x, x2=x + 12, y1=y, y2=y, class_=f"line {line.class_}"))
        parts.append(tag("text", line.name, x=x + 17, y=y + 4, class_="name"))
    return join(parts)
