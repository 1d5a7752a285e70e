"""Price as candles with the volume below, on one time axis: two panels, never two scales in one."""

from pregao.report.charts.axes import (
    BELOW,
    TOP,
    Scale,
    chart,
    column_path,
    hits,
    nice_ticks,
    time_axis,
    time_scale,
    value_axis,
)
from pregao.report.gathering.activity import Candle, PriceChart
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
    up = Scale(float(low) - margin, float(high) + margin, PRICE_HEIGHT, TOP)
    inside = [each for each in ticks if up.low <= each <= up.high]
    bottom = HEIGHT - BELOW
    most = nice_ticks(0, max(1, *(each.volume for each in candles)), 2)
    volume = Scale(0, most[-1], bottom, PRICE_HEIGHT + _BETWEEN)
    width = across(candles[0].start_ns + length) - across(candles[0].start_ns)
    edges = [(across(each.start_ns), across(each.start_ns + length)) for each in candles]
    columns = [
        (left + width * 0.15, width * 0.7, volume(each.volume))
        for each, (left, _) in zip(candles, edges, strict=True)
    ]
    title = f"{prices.symbol}: price and volume"
    ends = price(candles[0].open), price(candles[-1].close)
    about = f"From {ends[0]} to {ends[1]}, between {price(low)} and {price(high)}."
    return chart(
        title, about, HEIGHT, value_axis(up, inside, price), value_axis(volume, most, compact),
        _bodies(candles, edges, up), tag("path", d=column_path(columns, bottom), class_="volume"),
        time_axis(across, bottom), hits(edges, [_tip(each) for each in candles], TOP, bottom), key="prices",
    )  # fmt: skip


def _bodies(candles: tuple[Candle, ...], edges: list[tuple[float, float]], up: Scale) -> Markup:
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
