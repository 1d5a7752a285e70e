"""Where data were missing: a lane a channel, with gaps, books that were stale and where they healed."""

from collections.abc import Sequence

from pregao.report.charts.axes import BELOW, LEFT, RIGHT, WIDTH, Scale, chart, time_axis, time_scale
from pregao.report.gathering.health import Span
from pregao.report.markup import Markup, join, tag
from pregao.report.numbers import clock, duration, of

LANE = 34.0
_TOP = 6.0
_LEAST = 3.0  # pixels: a gap of a millisecond must still be seen
NAMES = {
    "GAP": "gap on both feeds", "STALE_SPAN": "stale until the end", "HEAL": "stale, then healed",
    "FEEDS_DIFFER": "feeds differ",
    "SNAPSHOT_MISMATCH": "snapshot differs", "CROSSED_BOOK": "crossed book",
}  # fmt: skip


def lane_chart(spans: Sequence[Span], channels: Sequence[int], times_shown: tuple[int, int]) -> Markup:
    height = _TOP + LANE * len(channels) + BELOW
    across = time_scale(*times_shown)
    parts: list[Markup] = []
    for place, channel in enumerate(channels):
        top = _TOP + place * LANE
        width = WIDTH - LEFT - RIGHT
        parts.append(tag("rect", x=LEFT, y=top + 3, width=width, height=LANE - 6, class_="lane"))
        label = f"{channel}"
        parts.append(tag("text", label, x=LEFT - 8, y=top + LANE / 2 + 4, class_="tick", text_anchor="end"))
        mine = [span for span in spans if span.channel == channel]
        # Long and pale first, so that what is short and matters lies on top.
        for finding in ("STALE_SPAN", "HEAL", "CROSSED_BOOK", "FEEDS_DIFFER", "SNAPSHOT_MISMATCH", "GAP"):
            parts += [_mark(span, across, top) for span in mine if span.finding == finding]
            if finding == "HEAL":
                ends = sorted({span.end_ns for span in mine if span.finding == finding})
                parts += [_healed(at, across, top) for at in ends]
    times = f"from {clock(times_shown[0])} to {clock(times_shown[1])}"
    about = f"{of(len(spans), 'finding')} on {of(len(channels), 'channel')} {times}."
    bottom = _TOP + LANE * len(channels)
    axis = time_axis(across, bottom)
    return chart("Where data were missing", about, height, join(parts), axis, key="lanes")


def _mark(span: Span, across: Scale, top: float) -> Markup:
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


def _healed(at_ns: int, across: Scale, top: float) -> Markup:
    """Where a snapshot told books again: green, at the end of what was stale."""
    return tag(
        "rect", x=across(at_ns) - 1.5, y=top + 7, width=3.0, height=LANE - 14, rx=1.5, class_="mark healed"
    )
