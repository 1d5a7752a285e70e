"""Latency between the exchange, feed A and feed B."""

from pregao.report.charts.lines import Line, line_chart
from pregao.report.gathering.activity import MINUTE_NS
from pregao.report.gathering.delays import Delays
from pregao.report.markup import Child, Markup, table, tag
from pregao.report.numbers import clock, count, duration
from pregao.report.page.parts import figure, nothing, section, thinned

_FEEDS = (("A", "feed-a"), ("B", "feed-b"))
_NAMES = {
    "event_to_send": "event to send",
    "send_to_receive": "send to receive",
    "behind_other_feed": "behind",
}


def delays_section(delays: Delays) -> Markup:
    title = "Latency"
    if not delays.minutes:
        return section("latency", title, None, nothing("No packet has both a sending and a capture time."))
    note = (
        "From the event in the matching engine to the packet's sendingTime, from there to the capture of each"
        " feed, and from feed to feed. Different clocks took these times: where they are not synchronised,"
        " only changes mean something, and the skew is an estimate."
    )
    charts: list[Child] = [
        _chart(delays, "send", "Event to send, by the exchange's clock", "event_to_send", ("A",)),
        _chart(delays, "receive", "Send to receive, median and 99 % (dotted)", "send_to_receive", ("A", "B")),
        _chart(delays, "behind", "B behind A, at capture", "behind_other_feed", ("B",)),
    ]
    return section("latency", title, note, *charts, _feeds(delays), _minutes(delays))


def _chart(delays: Delays, key: str, caption: str, way: str, feeds: tuple[str, ...]) -> Markup | None:
    lines: list[Line] = []
    for feed, class_ in _FEEDS:
        mine = [minute for minute in delays.minutes if minute.feed == feed]
        if feed not in feeds or all(minute.figures[f"{way}_p50"] is None for minute in mine):
            continue
        for share, more in (("p50", ""), ("p99", " worst")):
            points = tuple((minute.start_ns, minute.figures[f"{way}_{share}"]) for minute in mine)
            name = f"{feed} {'median' if share == 'p50' else '99 %'}" if len(feeds) > 1 else _name(share)
            lines.append(Line(name, f"{class_}{more}", points))
    if not lines:
        return None
    drawn = line_chart(
        lines, key=f"latency-{key}", title=f"{caption}, channel {delays.channel}", text=duration,
        tip=duration, about="Nanoseconds by minute; the numbers are in the tables below.", step_ns=MINUTE_NS,
    )  # fmt: skip
    return figure(drawn, caption=f"{caption}; channel {delays.channel}, the busiest")


def _name(share: str) -> str:
    return {"p50": "median", "p99": "99 %"}[share]


def _told(delays: Delays) -> list[str]:
    """The ways of which anything is known: packets whose events tell no time have only two."""
    return [way for way in _NAMES if any(each.figures[f"{way}_p50"] is not None for each in delays.feeds)]


def _feeds(delays: Delays) -> Markup:
    told = _told(delays)
    rows = [
        (
            str(each.channel), each.feed, count(each.packets),
            *(duration(each.figures[f"{way}_{share}"]) for way in told for share in ("p50", "p99")),
            duration(each.skew),
        )
        for each in delays.feeds
    ]  # fmt: skip
    head = (
        "channel",
        "feed",
        "packets",
        *(text for way in told for text in (_NAMES[way], "worst 99 %")),
        "skew",
    )
    caption = "By channel and feed: medians, the worst 99 % of any minute, the skew of the clocks"
    return table(head, rows, caption=caption, numbers="llr" + "rr" * len(told) + "r")


def _minutes(delays: Delays) -> Markup:
    told = _told(delays)
    rows = [
        (
            clock(each.start_ns), each.feed, count(each.packets),
            *(duration(each.figures[f"{way}_{share}"]) for way in told for share in ("p50", "p99")),
            duration(each.skew),
        )
        for each in thinned(delays.minutes)
    ]  # fmt: skip
    head = ("minute", "feed", "packets", *(text for way in told for text in (_NAMES[way], "99 %")), "skew")
    caption = f"Channel {delays.channel} by minute"
    data = table(head, rows, caption=caption, numbers="llr" + "rr" * len(told) + "r")
    return tag("details", tag("summary", "The numbers"), data)
