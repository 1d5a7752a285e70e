"""The book through time, and an auction."""

from pregao.lake.book_at import source_text
from pregao.report.charts.heatmap import depth_chart
from pregao.report.charts.lines import ChartLine, line_chart
from pregao.report.charts.prices import auction_chart
from pregao.report.gathering.activity import MINUTE_NS
from pregao.report.gathering.built import source_word
from pregao.report.gathering.depth import Auction, AuctionChart, DepthChart, DepthColumn
from pregao.report.gathering.everything import Delays
from pregao.report.markup import (
    Child,
    Markup,
    clock,
    count,
    duration,
    figure,
    legend,
    nothing,
    of,
    price,
    section,
    table,
    tag,
    thinned,
    tiles,
)

_SIDES = {"MORE_BUYERS": "to buy", "MORE_SELLERS": "to sell", "BALANCED": "balanced"}


def depth_section(depth: DepthChart | None) -> Markup:
    title = "Book depth through time"
    if depth is None:
        return section("depth", title, None, nothing("No depth was sampled."))
    rows = [_row(column) for column in thinned([each for each in depth.columns if each is not None], 200)]
    head = ("time", "best bid", "shown to buy", "best offer", "shown to sell")
    data = table(head, rows, caption="The book at each column's end", numbers="lrrrr")
    keys = legend(
        ("cell bid-1", "few to buy"), ("cell bid-5", "many to buy"), ("cell offer-1", "few to sell"),
        ("cell offer-5", "many to sell"), ("line middle", "middle of the best prices"),
        *([("unknown", "stale: messages were missing")] if depth.stale else ()),
    )  # fmt: skip
    note = (
        f"What rested at each price near the best ones, of the ten levels a side that were sampled; a column"
        f" is {duration(depth.column_ns)}. Shades go by the logarithm of the size."
    )
    drawn = figure(depth_chart(depth), legend=keys, data=data)
    return section("depth", f"{title}: {depth.symbol}", note, drawn)


def _row(column: DepthColumn) -> tuple[str, ...]:
    return (
        clock(column.start_ns, seconds=True), price(column.bid), count(sum(column.bids.values())),
        price(column.offer), count(sum(column.offers.values())),
    )  # fmt: skip


def auction_section(auctions: AuctionChart) -> Markup:
    title = "An auction"
    shown = auctions.shown
    total = sum(number for number, _ in auctions.by_kind.values())
    if not total:
        return section("auction", title, None, nothing("No auction took place."))
    kinds = sorted(auctions.by_kind.items())
    rows = [(kind.lower(), count(all_), count(done)) for kind, (all_, done) in kinds]
    head = ("kind", "auctions", "uncrossed")
    overview = table(head, rows, caption="All auctions of the day", numbers="lrr")
    if shown is None:
        return section("auction", title, None, nothing("No auction had a theoretical path."), overview)
    note = (
        f"{shown.symbol}, {shown.kind.lower()}: the theoretical price and quantity as B3 told them, up to the"
        f" uncross. One of {of(total, 'auction')}, of which {auctions.extended:,} were extended."
    )
    points = [
        (clock(point.ts, seconds=True), price(point.price), count(point.size))
        for point in thinned(shown.path)
    ]
    data = table(("time", "price", "quantity"), points, caption="Theoretical path", numbers="lrr")
    keys = legend(("line theoretical", "theoretical price"), ("volume", "theoretical quantity, below"))
    drawn = figure(auction_chart(shown), legend=keys, data=data)
    return section("auction", f"{title}: {shown.symbol}", note, _tiles(shown), drawn, overview)


def _tiles(shown: Auction) -> Child:
    lasted = None if shown.end_ns is None else shown.end_ns - shown.start_ns
    left = _SIDES.get(shown.imbalance_side or "", "none told")
    return tiles(
        ("Uncross price", price(shown.price), of(shown.trades, "trade")),
        ("Uncross quantity", count(shown.size), f"{len(shown.path):,} theoretical prices before"),
        ("Lasted", duration(lasted), of(shown.extensions, "extension")),
        ("Left over", count(shown.imbalance_size), left),
    )


# Latency between the exchange, feed A and feed B.


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
    lines: list[ChartLine] = []
    for feed, class_ in _FEEDS:
        mine = [minute for minute in delays.minutes if minute.feed == feed]
        if feed not in feeds or all(minute.figures[f"{way}_p50"] is None for minute in mine):
            continue
        for share, more in (("p50", ""), ("p99", " worst")):
            points = tuple((minute.start_ns, minute.figures[f"{way}_{share}"]) for minute in mine)
            name = f"{feed} {'median' if share == 'p50' else '99 %'}" if len(feeds) > 1 else _name(share)
            lines.append(ChartLine(name, f"{class_}{more}", points))
    if not lines:
        return None
    drawn = line_chart(
        lines, key=f"latency-{key}", title=f"{caption}, {source_text(delays.source or '')}", text=duration,
        tip=duration, about="Nanoseconds by minute; the numbers are in the tables below.", step_ns=MINUTE_NS,
    )  # fmt: skip
    return figure(drawn, caption=f"{caption}; {source_text(delays.source or '')}, the busiest")


def _name(share: str) -> str:
    return {"p50": "median", "p99": "99 %"}[share]


def _ways(delays: Delays) -> list[str]:
    """The ways of which anything is known: packets whose events tell no time have only two."""
    return [way for way in _NAMES if any(each.figures[f"{way}_p50"] is not None for each in delays.feeds)]


def _feeds(delays: Delays) -> Markup:
    ways = _ways(delays)
    rows = [
        (
            each.source, each.feed, count(each.packets),
            *(duration(each.figures[f"{way}_{share}"]) for way in ways for share in ("p50", "p99")),
            duration(each.skew),
        )
        for each in delays.feeds
    ]  # fmt: skip
    word = source_word(each.source for each in delays.feeds)
    head = (
        word,
        "feed",
        "packets",
        *(text for way in ways for text in (_NAMES[way], "worst 99 %")),
        "skew",
    )
    caption = f"By {word} and feed: medians, the worst 99 % of any minute, the skew of the clocks"
    return table(head, rows, caption=caption, numbers="llr" + "rr" * len(ways) + "r")


def _minutes(delays: Delays) -> Markup:
    ways = _ways(delays)
    rows = [
        (
            clock(each.start_ns), each.feed, count(each.packets),
            *(duration(each.figures[f"{way}_{share}"]) for way in ways for share in ("p50", "p99")),
            duration(each.skew),
        )
        for each in thinned(delays.minutes)
    ]  # fmt: skip
    head = ("minute", "feed", "packets", *(text for way in ways for text in (_NAMES[way], "99 %")), "skew")
    caption = f"{source_text(delays.source or '').capitalize()} by minute"
    data = table(head, rows, caption=caption, numbers="llr" + "rr" * len(ways) + "r")
    return tag("details", tag("summary", "The numbers"), data)
