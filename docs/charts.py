"""Draws docs/images/simulation.svg: stylised facts of a simulated day, from its truth.

    pregao simulate --out build/day --messages 300000
    python docs/charts.py build/day/2026-11-16
"""

import math
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from pregao.report.charts.axes import AxisScale, nice_ticks
from pregao.simulator import facts
from pregao.simulator.day_truth import DayTruth
from pregao.simulator.settings import days_since_1970

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BELOW = 420, 250, 48, 14, 34, 34
NAME_WIDTH = 54
COLOURS = ("#2563eb", "#d97706", "#059669", "#9333ea")
Points = Sequence[tuple[float, float]]


class Panel:
    """One chart: axes by what is drawn, a title above, a name below."""

    def __init__(
        self, title: str, below: str, across: tuple[float, float], up: tuple[float, float],
        names: Sequence[tuple[float, str]] | None = None,
    ) -> None:  # fmt: skip
        ticks = nice_ticks(*up)
        self.x = AxisScale(*across, LEFT, WIDTH - RIGHT)
        self.y = AxisScale(ticks[0], ticks[-1], HEIGHT - BELOW, TOP)
        self.parts = [f'<text x="{LEFT}" y="18" class="title">{title}</text>']
        for tick in ticks:
            y = self.y(tick)
            self.parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" class="grid"/>')
            self.parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="end">{tick:g}</text>')
        for at, name in names or [(tick, f"{tick:g}") for tick in nice_ticks(*across)]:
            if across[0] <= at <= across[1]:
                self.parts.append(f'<text x="{self.x(at):.1f}" y="{HEIGHT - 18}" class="mid">{name}</text>')
        self.parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 4}" class="mid soft">{below}</text>')

    def line(self, points: Points, colour: int = 0, name: str = "", dashed: bool = False) -> None:
        path = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        stroke = f'stroke="{COLOURS[colour]}" stroke-width="1.4"{dash}'
        self.parts.append(f'<path d="M{path}" fill="none" {stroke}/>')
        self._name(name, colour)

    def dots(self, points: Points, colour: int = 0, name: str = "") -> None:
        for x, y in points:
            place = f'cx="{self.x(x):.1f}" cy="{self.y(y):.1f}"'
            self.parts.append(f'<circle {place} r="2.6" fill="{COLOURS[colour]}"/>')
        self._name(name, colour)

    def bars(self, points: Points, wide: float, colour: int = 0) -> None:
        floor = self.y(max(self.y.low, 0.0))
        for x, y in points:
            left, right, end = self.x(x), self.x(x + wide), self.y(y)
            size = f'width="{right - left - 1:.1f}" height="{abs(floor - end):.1f}"'
            place = f'x="{left:.1f}" y="{min(floor, end):.1f}"'
            self.parts.append(f'<rect {place} {size} fill="{COLOURS[colour]}"/>')

    def _name(self, name: str, colour: int) -> None:
        """Beside the title, where no line goes."""
        if name:
            place = f'x="{WIDTH - RIGHT - NAME_WIDTH * colour}" y="18"'
            style = f'class="end" style="fill:{COLOURS[colour]}"'
            self.parts.append(f"<text {place} {style}>{name}</text>")


def prices(day: DayTruth) -> Panel:
    """Middles of four books, in percent of where they began."""
    edges = np.array(facts.bin_edges(day, 60))
    lines = []
    for symbol in ("PETR4", "VALE3", "WINZ26", "WDOZ26"):
        row = next(row for row in day.instruments.values() if row["symbol"] == symbol)
        middles = day.middles(row["security_id"], edges, 0.005)
        known = np.flatnonzero(np.isfinite(middles))
        change = 100 * (middles[known] / middles[known[0]] - 1)
        hours = day.seconds(edges[known]) / 3600
        lines.append((symbol, list(zip(hours.tolist(), change.tolist(), strict=True))))
    values = [y for _, points in lines for _, y in points]
    panel = Panel("Prices, % since 10:15", "local time, h", (10, 17), (min(values), max(values)))
    for number, (symbol, points) in enumerate(lines):
        panel.line(points, number, symbol)
    return panel


def tails(day: DayTruth) -> Panel:
    """How often a return of two minutes is larger than so many deviations."""
    sizes = np.abs(np.concatenate(facts.returns(day)))
    at = np.linspace(0, 6, 61)
    ours = [(x, math.log10(share)) for x in at if (share := float((sizes > x).mean())) > 0]
    normal = [(x, math.log10(math.erfc(x / math.sqrt(2)))) for x in at if math.erfc(x / math.sqrt(2)) > 1e-4]
    panel = Panel("Larger returns, log10 of their share", "deviations, 2 min", (0, 6), (-4, 0))
    panel.line(ours, 0, "the day")
    panel.line(normal, 1, "normal", dashed=True)
    return panel


def clusters(day: DayTruth) -> Panel:
    """Autocorrelation of the sizes of returns by lag."""
    returned = facts.returns(day)
    found = [
        (2.0 * lag, float(np.mean([facts.autocorrelation(each, lag) for each in returned])))
        for lag in range(1, 21)
    ]
    heights = [height for _, height in found]
    up = (min(0.0, *heights), max(heights))
    panel = Panel("Autocorrelation of absolute returns", "lag, min", (0, 42), up)
    panel.bars(found, 1.6)
    return panel


def hours(day: DayTruth) -> Panel:
    """Trades of every quarter of an hour."""
    seconds = day.seconds(day.trades.time_ns)
    counts, edges = np.histogram(seconds / 3600, np.arange(9, 18.01, 0.25))
    panel = Panel("Trades of a quarter of an hour", "local time, h", (9, 18), (0, float(counts.max())))
    panel.bars(list(zip(edges[:-1].tolist(), counts.astype(float).tolist(), strict=True)), 0.25)
    return panel


def life_times(day: DayTruth) -> Panel:
    """Share of cancelled orders that lived no longer."""
    spans = np.sort(facts.lives(day))
    at = np.linspace(-4, 4.5, 86)
    points = [(float(x), float(np.searchsorted(spans, 10**x) / len(spans))) for x in at]
    minute, hour = math.log10(60), math.log10(3600)
    names = [(-3.0, "1 ms"), (-1.0, "0.1 s"), (0.0, "1 s"), (minute, "1 min"), (hour, "1 h")]
    panel = Panel("Cancelled orders: share by age", "life of the order", (-4, 4.5), (0, 1), names)
    panel.line(points)
    return panel


def smile(day: DayTruth) -> Panel:
    """Volatility implied by the middles of options, by that at the money."""
    points = facts.smile(day)
    panel = Panel("Implied volatility by that at the money", "deviations from the money", (-1, 1), (0.9, 1.4))
    panel.dots(points)
    return panel


PANELS: tuple[Callable[[DayTruth], Panel], ...] = (prices, tails, clusters, hours, life_times, smile)
STYLE = (
    "text{font:11px sans-serif;fill:#64748b}.title{font-weight:600;font-size:13px}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.grid{stroke:#94a3b8;stroke-opacity:.3}"
)


def draw(folder: Path) -> str:
    day = DayTruth(folder / "truth", days_since_1970(date.fromisoformat(folder.name)))
    drawn = []
    for number, make in enumerate(PANELS):
        place = f"translate({number % 2 * WIDTH},{number // 2 * HEIGHT})"
        drawn.append(f'<g transform="{place}">{"".join(make(day).parts)}</g>')
    size = f"0 0 {2 * WIDTH} {-(-len(PANELS) // 2) * HEIGHT}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}"><style>{STYLE}</style>'
    return f"{head}{''.join(drawn)}</svg>\n"


if __name__ == "__main__":
    target = Path(__file__).parent / "images" / "simulation.svg"
    target.write_text(draw(Path(sys.argv[1])), "utf-8")
    sys.stdout.write(f"{target}\n")
