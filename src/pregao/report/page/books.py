"""The book through time, and an auction."""

from pregao.report.charts.heatmap import depth_chart
from pregao.report.charts.path import auction_chart
from pregao.report.gathering.auction import Auction, Auctions
from pregao.report.gathering.depth import Column, Depth
from pregao.report.markup import Child, Markup, table
from pregao.report.numbers import clock, count, duration, of, price
from pregao.report.page.parts import figure, legend, nothing, section, thinned, tiles

_SIDES = {"MORE_BUYERS": "to buy", "MORE_SELLERS": "to sell", "BALANCED": "balanced"}


def depth_section(depth: Depth | None) -> Markup:
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


def _row(column: Column) -> tuple[str, ...]:
    return (
        clock(column.start_ns, seconds=True), price(column.bid), count(sum(column.bids.values())),
        price(column.offer), count(sum(column.offers.values())),
    )  # fmt: skip


def auction_section(auctions: Auctions) -> Markup:
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
