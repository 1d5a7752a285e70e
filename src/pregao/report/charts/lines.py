"""Lines over time, with a name at the end of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pregao.report.charts.axes import (
    BELOW,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    AxisScale,
    chart,
    hits,
    nice_ticks,
    time_axis,
    time_scale,
    usual_most,
    value_axis,
)
from pregao.report.gathering.built import source_word
from pregao.report.gathering.health import DoubtSpan
from pregao.report.markup import Markup, clock, duration, join, number, of, tag

HEIGHT = 210.0
_NAMES = 74.0  # room for names to the right


@dataclass(frozen=True)
class ChartLine:
    name: str
    class_: str
    points: tuple[tuple[int, float | None], ...]  # None: nothing was measured, the line has a hole


def line_chart(
    lines: Sequence[ChartLine], *, key: str, title: str, about: str, text: Callable[[float], str],
    tip: Callable[[float], str], step_ns: int,
) -> Markup:  # fmt: skip
    times = sorted({at for line in lines for at, _ in line.points})
    values = [value for line in lines for _, value in line.points if value is not None]
    bottom = HEIGHT - BELOW
    across = AxisScale(times[0], times[-1] + step_ns, LEFT, WIDTH - RIGHT - _NAMES)
    below = -usual_most([-value for value in values if value < 0])
    ticks = nice_ticks(min(0.0, below), max(0.0, usual_most(values)) or 1.0)
    up = AxisScale(ticks[0], ticks[-1], bottom, TOP)
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


def _path(line: ChartLine, across: AxisScale, up: AxisScale, step_ns: int) -> str:
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


def _inside(value: float, up: AxisScale) -> float:
    return up(min(max(value, up.low), up.high))


def _beyond(line: ChartLine, across: AxisScale, up: AxisScale, step_ns: int) -> Markup:
    """A mark at the edge where a value lies outside the chart; its tip tells the value."""
    marks = [
        f"M{number(across(at + step_ns / 2) - 4)} {number(_inside(value, up) - way)}"
        f"h8l-4 {number(-way * 1.6)}z"
        for at, value in line.points
        if value is not None and not up.low <= value <= up.high
        for way in (3.0 if value > up.high else -3.0,)
    ]
    return tag("path", d="".join(marks), class_=f"beyond {line.class_.split()[0]}") if marks else join(())


def _names(lines: Sequence[ChartLine], up: AxisScale) -> Markup:
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


# Where data were missing: a lane a channel, with gaps, books that were stale and where they healed.


LANE = 34.0
_TOP = 6.0
_LEAST = 3.0  # pixels: a gap of a millisecond must still be seen
NAMES = {
    "GAP": "gap on both feeds", "STALE_SPAN": "stale until the end", "HEAL": "stale, then healed",
    "FEEDS_DIFFER": "feeds differ",
    "SNAPSHOT_MISMATCH": "snapshot differs", "CROSSED_BOOK": "crossed book",
}  # fmt: skip


def lane_chart(spans: Sequence[DoubtSpan], sources: Sequence[str], times_shown: tuple[int, int]) -> Markup:
    height = _TOP + LANE * len(sources) + BELOW
    across = time_scale(*times_shown)
    parts: list[Markup] = []
    for place, source in enumerate(sources):
        top = _TOP + place * LANE
        width = WIDTH - LEFT - RIGHT
        parts.append(tag("rect", x=LEFT, y=top + 3, width=width, height=LANE - 6, class_="lane"))
        parts.append(tag("text", source, x=LEFT - 8, y=top + LANE / 2 + 4, class_="tick", text_anchor="end"))
        mine = [span for span in spans if span.source == source]
        # Long and pale first, so that what is short and matters lies on top.
        for finding in ("STALE_SPAN", "HEAL", "CROSSED_BOOK", "FEEDS_DIFFER", "SNAPSHOT_MISMATCH", "GAP"):
            parts += [_mark(span, across, top) for span in mine if span.finding == finding]
            if finding == "HEAL":
                ends = sorted({span.end_ns for span in mine if span.finding == finding})
                parts += [_healed(at, across, top) for at in ends]
    times = f"from {clock(times_shown[0])} to {clock(times_shown[1])}"
    about = f"{of(len(spans), 'finding')} on {of(len(sources), source_word(sources))} {times}."
    bottom = _TOP + LANE * len(sources)
    axis = time_axis(across, bottom)
    return chart("Where data were missing", about, height, join(parts), axis, key="lanes")


def _mark(span: DoubtSpan, across: AxisScale, top: float) -> Markup:
    left, right = across(span.start_ns), across(span.end_ns)
    whose = f": {span.symbol}" if span.symbol else ""
    tip = f"{NAMES[span.finding]}{whose}\n{clock(span.start_ns, seconds=True)}"
    if span.end_ns > span.start_ns:
        tip += f", {duration(span.end_ns - span.start_ns)}"
    if span.count:
        tip += f"\n{span.count:,} concerned"
    name = span.finding.lower().replace("_", "-")
    inset = {"gap": 3.0, "snapshot-mismatch": 3.0, "stale-span": 8.0, "heal": 11.0}.get(name, 6.0)
    return tag(
        "rect", x=left, y=top + inset, width=max(right - left, _LEAST), height=LANE - 2 * inset, rx=1.5,
        class_=f"mark {name}", data_tip=tip,
    )  # fmt: skip


def _healed(at_ns: int, across: AxisScale, top: float) -> Markup:
    """Where a snapshot told books again: green, at the end of what was stale."""
    return tag(
        "rect", x=across(at_ns) - 1.5, y=top + 7, width=3.0, height=LANE - 14, rx=1.5, class_="mark healed"
    )
