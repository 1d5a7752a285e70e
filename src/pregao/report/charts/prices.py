"""Prices: as candles with the volume below on one time axis, and an auction's path to its uncross."""

from decimal import Decimal

from pregao.report.charts.axes import (
    BELOW,
    TOP,
    AxisScale,
    chart,
    column_path,
    hits,
    nice_ticks,
    time_axis,
    time_scale,
    value_axis,
)
from pregao.report.gathering.activity import Candle, PriceChart
from pregao.report.gathering.depth import Auction, Point
from pregao.report.markup import Markup, clock, compact, join, number, price, tag

PRICE_HEIGHT = 270.0
HEIGHT = 400.0
_BETWEEN = 26.0


def candle_chart(prices: PriceChart) -> Markup:
    candles, length = prices.candles, prices.length_ns
    across = time_scale(candles[0].start_ns, candles[-1].start_ns + length)
    low, high = min(each.low for each in candles), max(each.high for each in candles)
    margin = max(float(high - low) * 0.04, 0.005)
    ticks = nice_ticks(float(low) - margin, float(high) + margin, 5)
    up = AxisScale(float(low) - margin, float(high) + margin, PRICE_HEIGHT, TOP)
    inside = [each for each in ticks if up.low <= each <= up.high]
    bottom = HEIGHT - BELOW
    most = nice_ticks(0, max(1, *(each.volume for each in candles)), 2)
    volume = AxisScale(0, most[-1], bottom, PRICE_HEIGHT + _BETWEEN)
    width = across(candles[0].start_ns + length) - across(candles[0].start_ns)
    edges = [(across(each.start_ns), across(each.start_ns + length)) for each in candles]
    columns = [
        (left + width * 0.15, width * 0.7, volume(each.volume))
        for each, (left, _) in zip(candles, edges, strict=True)
    ]
    title = f"{prices.symbol}: price and volume"

    def shown(value: Decimal | float) -> str:
        return f"{price(value)}{prices.unit}"

    ends = shown(candles[0].open), shown(candles[-1].close)
    about = f"From {ends[0]} to {ends[1]}, between {shown(low)} and {shown(high)}."
    return chart(
        title, about, HEIGHT, value_axis(up, inside, shown), value_axis(volume, most, compact),
        _bodies(candles, edges, up), tag("path", d=column_path(columns, bottom), class_="volume"),
        time_axis(across, bottom), hits(edges, [_tip(each) for each in candles], TOP, bottom), key="prices",
    )  # fmt: skip


def _bodies(candles: tuple[Candle, ...], edges: list[tuple[float, float]], up: AxisScale) -> Markup:
    """Up is hollow and blue, down is full and red: told by shape as well as by colour."""
    paths: dict[str, list[str]] = {"up": [], "down": []}
    wicks: dict[str, list[str]] = {"up": [], "down": []}
    for each, (left, right) in zip(candles, edges, strict=True):
        way = "up" if each.close >= each.open else "down"
        middle, half = (left + right) / 2, max(min((right - left) * 0.36, 6.0), 0.6)
        top, bottom = up(float(max(each.open, each.close))), up(float(min(each.open, each.close)))
        high, low = up(float(each.high)), up(float(each.low))
        if bottom - top < 1:
            top, bottom = (top + bottom) / 2 - 0.5, (top + bottom) / 2 + 0.5
        x = number(middle)
        wicks[way].append(f"M{x} {number(high)}V{number(top)}M{x} {number(bottom)}V{number(low)}")
        paths[way].append(
            f"M{number(middle - half)} {number(top)}h{number(2 * half)}V{number(bottom)}h{number(-2 * half)}z"
        )
    return join(
        tag("path", d="".join(drawn[way]), class_=f"{what}-{way}")
        for what, drawn in (("wick", wicks), ("body", paths))
        for way in ("up", "down")
    )


def _tip(each: Candle) -> str:
    return (
        f"{clock(each.start_ns)}\nopen {price(each.open)} · high {price(each.high)}\n"
        f"low {price(each.low)} · close {price(each.close)}\n"
        f"volume {each.volume:,} · {each.trades:,} trades"
    )


# An auction: the theoretical price and quantity, step by step, to the uncross.


AUCTION_PRICE_HEIGHT = 210.0
AUCTION_HEIGHT = 330.0


def auction_chart(auction: Auction) -> Markup:
    bottom = AUCTION_HEIGHT - BELOW
    end = max(auction.end_ns or auction.path[-1].ts, auction.path[-1].ts)
    across = time_scale(auction.start_ns, end + max((end - auction.start_ns) // 60, 1))
    seen = [float(point.price) for point in auction.path]
    if auction.price is not None:
        seen.append(float(auction.price))
    margin = max((max(seen) - min(seen)) * 0.1, 0.01)
    up = AxisScale(
        min(seen) - margin, max(seen) + 2.5 * margin, AUCTION_PRICE_HEIGHT, TOP
    )  # room for its words
    ticks = [each for each in nice_ticks(up.low, up.high, 4) if up.low <= each <= up.high]
    most = nice_ticks(0, max(1, *(point.size for point in auction.path), auction.size or 0), 2)
    sizes = AxisScale(0, most[-1], bottom, AUCTION_PRICE_HEIGHT + _BETWEEN)
    stops = [*(point.ts for point in auction.path[1:]), end]
    edges = [
        (across(point.ts), across(stop)) for point, stop in zip(auction.path, stops, strict=True)
    ]  # fmt: skip
    return chart(
        f"{auction.symbol}: {auction.kind.lower()} auction", _about(auction), AUCTION_HEIGHT,
        value_axis(up, ticks, price), value_axis(sizes, most, compact),
        tag("path", d=_area(auction.path, edges, sizes, bottom), class_="volume"),
        tag("path", d=_steps(auction.path, edges, up), class_="line theoretical"),
        _uncross(auction, across, up), time_axis(across, bottom),
        hits(edges, [_auction_tip(point) for point in auction.path], TOP, bottom), key="auction",
    )  # fmt: skip


def _about(auction: Auction) -> str:
    until = clock(auction.end_ns, seconds=True)
    text = f"Theoretical price from {clock(auction.start_ns, seconds=True)} to {until}"
    if auction.price is None:
        return f"{text}; nothing traded."
    return f"{text}; {auction.size or 0:,} traded at {price(auction.price)}."


def _steps(path: tuple[Point, ...], edges: list[tuple[float, float]], up: AxisScale) -> str:
    parts = [
        f"{'L' if place else 'M'}{number(left)} {number(up(float(point.price)))}H{number(right)}"
        for place, (point, (left, right)) in enumerate(zip(path, edges, strict=True))
    ]
    return "".join(parts)


def _area(path: tuple[Point, ...], edges: list[tuple[float, float]], up: AxisScale, bottom: float) -> str:
    return "".join(
        f"M{number(left)} {number(bottom)}V{number(up(point.size))}H{number(right)}V{number(bottom)}z"
        for point, (left, right) in zip(path, edges, strict=True)
    )


def _uncross(auction: Auction, across: AxisScale, up: AxisScale) -> Markup:
    if auction.price is None or auction.end_ns is None:
        return join(())
    x, y = across(auction.end_ns), up(float(auction.price))
    text = f"uncross {price(auction.price)} × {auction.size or 0:,}"
    return join(
        (
            tag("line", x1=x, x2=x, y1=TOP, y2=AUCTION_HEIGHT - BELOW, class_="moment"),
            tag("circle", cx=x, cy=y, r=5.0, class_="uncross"),
            tag("text", text, x=x - 8, y=TOP + 4, class_="name", text_anchor="end"),
        )
    )


def _auction_tip(point: Point) -> str:
    return f"{clock(point.ts, seconds=True)}\ntheoretical {price(point.price)} × {point.size:,}"
