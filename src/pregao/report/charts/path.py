"""An auction: the theoretical price and quantity, step by step, to the uncross."""

from pregao.report.charts.axes import (
    BELOW,
    TOP,
    Scale,
    chart,
    hits,
    nice_ticks,
    time_axis,
    time_scale,
    value_axis,
)
from pregao.report.gathering.depth import Auction, Point
from pregao.report.markup import Markup, clock, compact, join, number, price, tag

PRICE_HEIGHT = 210.0
HEIGHT = 330.0
_BETWEEN = 26.0


def auction_chart(auction: Auction) -> Markup:
    bottom = HEIGHT - BELOW
    end = max(auction.end_ns or auction.path[-1].ts, auction.path[-1].ts)
    across = time_scale(auction.start_ns, end + max((end - auction.start_ns) // 60, 1))
    seen = [float(point.price) for point in auction.path]
    if auction.price is not None:
        seen.append(float(auction.price))
    margin = max((max(seen) - min(seen)) * 0.1, 0.01)
    up = Scale(min(seen) - margin, max(seen) + 2.5 * margin, PRICE_HEIGHT, TOP)  # room for its words
    ticks = [each for each in nice_ticks(up.low, up.high, 4) if up.low <= each <= up.high]
    most = nice_ticks(0, max(1, *(point.size for point in auction.path), auction.size or 0), 2)
    sizes = Scale(0, most[-1], bottom, PRICE_HEIGHT + _BETWEEN)
    stops = [*(point.ts for point in auction.path[1:]), end]
    edges = [
        (across(point.ts), across(stop)) for point, stop in zip(auction.path, stops, strict=True)
    ]  # fmt: skip
    return chart(
        f"{auction.symbol}: {auction.kind.lower()} auction", _about(auction), HEIGHT,
        value_axis(up, ticks, price), value_axis(sizes, most, compact),
        tag("path", d=_area(auction.path, edges, sizes, bottom), class_="volume"),
        tag("path", d=_steps(auction.path, edges, up), class_="line theoretical"),
        _uncross(auction, across, up), time_axis(across, bottom),
        hits(edges, [_tip(point) for point in auction.path], TOP, bottom), key="auction",
    )  # fmt: skip


def _about(auction: Auction) -> str:
    until = clock(auction.end_ns, seconds=True)
    text = f"Theoretical price from {clock(auction.start_ns, seconds=True)} to {until}"
    if auction.price is None:
        return f"{text}; nothing traded."
    return f"{text}; {auction.size or 0:,} traded at {price(auction.price)}."


def _steps(path: tuple[Point, ...], edges: list[tuple[float, float]], up: Scale) -> str:
    parts = [
        f"{'L' if place else 'M'}{number(left)} {number(up(float(point.price)))}H{number(right)}"
        for place, (point, (left, right)) in enumerate(zip(path, edges, strict=True))
    ]
    return "".join(parts)


def _area(path: tuple[Point, ...], edges: list[tuple[float, float]], up: Scale, bottom: float) -> str:
    return "".join(
        f"M{number(left)} {number(bottom)}V{number(up(point.size))}H{number(right)}V{number(bottom)}z"
        for point, (left, right) in zip(path, edges, strict=True)
    )


def _uncross(auction: Auction, across: Scale, up: Scale) -> Markup:
    if auction.price is None or auction.end_ns is None:
        return join(())
    x, y = across(auction.end_ns), up(float(auction.price))
    text = f"uncross {price(auction.price)} × {auction.size or 0:,}"
    return join(
        (
            tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BELOW, class_="moment"),
            tag("circle", cx=x, cy=y, r=5.0, class_="uncross"),
            tag("text", text, x=x - 8, y=TOP + 4, class_="name", text_anchor="end"),
        )
    )


def _tip(point: Point) -> str:
    return f"{clock(point.ts, seconds=True)}\ntheoretical {price(point.price)} × {point.size:,}"
