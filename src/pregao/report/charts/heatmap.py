"""The book through time: bids below in blue, offers above in red, darker where more rests."""

from collections.abc import Iterable
from math import log

from pregao.report.charts.axes import (
    BELOW,
    TOP,
    AxisScale,
    chart,
    hits,
    nice_ticks,
    time_axis,
    time_scale,
    value_axis,
)
from pregao.report.gathering.depth import DepthChart, DepthColumn
from pregao.report.markup import Markup, clock, join, number, price, tag

HEIGHT = 380.0
STEPS = 6
_SCALE = 10_000


def depth_chart(depth: DepthChart) -> Markup:
    bottom = HEIGHT - BELOW
    end = depth.start_ns + depth.column_ns * len(depth.columns)
    across = time_scale(depth.start_ns, end)
    low, high = depth.lowest / _SCALE, (depth.lowest + depth.rows * depth.row_height) / _SCALE
    up = AxisScale(low, high, bottom, TOP)
    ticks = [each for each in nice_ticks(low, high, 6) if low <= each <= high]
    starts = [depth.start_ns + place * depth.column_ns for place in range(len(depth.columns))]
    edges = [(across(at), across(at + depth.column_ns)) for at in starts]
    tips = [_tip(column, at) for column, at in zip(depth.columns, starts, strict=True)]
    about = (
        f"Sizes at prices from {price(low)} to {price(high)}, from {clock(depth.start_ns)} to {clock(end)};"
        " a darker cell holds more."
    )
    return chart(
        f"{depth.symbol}: the book through time", about, HEIGHT, value_axis(up, ticks, price),
        _stale(depth, across, bottom), _cells(depth, edges, up), _best(depth, edges, up),
        time_axis(across, bottom),
        hits(edges, tips, TOP, bottom), key="depth",
    )  # fmt: skip


def _stale(depth: DepthChart, across: AxisScale, bottom: float) -> Markup:
    parts = []
    for start, end in depth.stale:
        left, right = (min(max(across(at), across.first), across.last) for at in (start, end))
        parts.append(tag("rect", x=left, y=TOP, width=right - left, height=bottom - TOP, class_="unknown"))
    return join(parts)


def _sizes(depth: DepthChart) -> Iterable[int]:
    for column in depth.columns:
        if column is not None:
            yield from column.bids.values()
            yield from column.offers.values()


def _steps(depth: DepthChart) -> tuple[int, int]:
    """Least and greatest of what is usual: one huge order must not make all others pale."""
    sizes = sorted(size for size in _sizes(depth) if size > 0) or [1]
    return sizes[len(sizes) // 20], sizes[-1 - len(sizes) // 50]


def _cells(depth: DepthChart, edges: list[tuple[float, float]], up: AxisScale) -> Markup:
    """One path a shade; equal neighbours in a row are one rectangle."""
    least, most = _steps(depth)
    drawn: dict[str, list[str]] = {}
    running: dict[tuple[str, int], tuple[str, float]] = {}  # side and row → shade and where it began
    height = abs(up((depth.lowest + depth.row_height) / _SCALE) - up(depth.lowest / _SCALE))
    empty = DepthColumn(0, {}, {}, None, None)
    for place, column in enumerate((*depth.columns, empty)):
        now: dict[tuple[str, int], str] = {}
        for side, sizes in (("bid", (column or empty).bids), ("offer", (column or empty).offers)):
            for row, size in sizes.items():
                now[side, row] = f"{side}-{_shade(size, least, most)}"
        left = edges[place][0] if place < len(edges) else edges[-1][1]
        for key in list(running):
            shade, began = running[key]
            if now.get(key) != shade:
                top = up((depth.lowest + (key[1] + 1) * depth.row_height) / _SCALE)
                drawn.setdefault(shade, []).append(_box(began, left, top, height))
                del running[key]
        for key, shade in now.items():
            running.setdefault(key, (shade, left))
    shades = sorted(drawn.items())
    return join(tag("path", d="".join(boxes), class_=f"cell {shade}") for shade, boxes in shades)


def _box(left: float, right: float, top: float, height: float) -> str:
    return f"M{number(left)} {number(top)}H{number(right)}v{number(height)}H{number(left)}z"


def _shade(size: int, least: int, most: int) -> int:
    """By the logarithm: sizes of a book differ by powers of ten."""
    if size <= least or most <= least:
        return 0
    return min(int(log(size / least) / log(most / least) * STEPS), STEPS - 1)


def _best(depth: DepthChart, edges: list[tuple[float, float]], up: AxisScale) -> Markup:
    """Where both sides are: a line in the middle of the best prices."""
    parts: list[str] = []
    drawing = False
    for column, (left, right) in zip(depth.columns, edges, strict=True):
        if column is None or column.bid is None or column.offer is None:
            drawing = False
            continue
        y = number(min(max(up(float(column.bid + column.offer) / 2), TOP), up.first))
        parts.append(f"{'L' if drawing else 'M'}{number(left)} {y}H{number(right)}")
        drawing = True
    return tag("path", d="".join(parts), class_="middle")


def _tip(column: DepthColumn | None, at: int) -> str:
    if column is None:
        return f"{clock(at, seconds=True)}\nthe book is not known"
    sizes = sum(column.bids.values()), sum(column.offers.values())
    return (
        f"{clock(at, seconds=True)}\nbest bid {price(column.bid)} · best offer {price(column.offer)}\n"
        f"shown: {sizes[0]:,} to buy · {sizes[1]:,} to sell"
    )
