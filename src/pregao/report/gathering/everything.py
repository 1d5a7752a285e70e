"""All that a report tells."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.report.gathering.activity import Activity, PriceChart, Traded, activity, prices
from pregao.report.gathering.built import BuildFacts, Day, built, open_day, source_order
from pregao.report.gathering.depth import AuctionChart, DepthChart, auctions, depth
from pregao.report.gathering.health import Health, health

# Latency between the exchange, feed A and feed B.


WAYS = ("event_to_send", "send_to_receive", "behind_other_feed")
SHARES = ("p50", "p99", "max")


@dataclass(frozen=True)
class Minute:
    """`figures` by way and share, as "send_to_receive_p50"; None where nothing was measured."""

    start_ns: int
    feed: str
    packets: int
    figures: dict[str, int | None]
    skew: int | None


@dataclass(frozen=True)
class FeedDelay:
    """The day of a channel, or session, on one feed: medians weighted by packets, the worst of the rest."""

    source: str
    feed: str
    packets: int
    figures: dict[str, int | None]
    skew: int | None


@dataclass(frozen=True)
class Delays:
    source: str | None  # the busiest, whose minutes are shown
    minutes: tuple[Minute, ...]
    feeds: tuple[FeedDelay, ...]


def delays(day: Day) -> Delays:
    names = [f"{way}_{share}" for way in WAYS for share in SHARES]
    rows = day.rows("latency", ["source", "ts_minute", "feed", "packets", "skew", *names])
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["ts_minute"]):
        groups.setdefault((row["source"], row["feed"]), []).append(row)
    feeds = tuple(_feed(*key, groups[key], names) for key in sorted(groups, key=_feed_order))
    if not feeds:
        return Delays(None, (), ())
    busiest = max(feeds, key=lambda feed: feed.packets).source
    minutes = tuple(
        Minute(at, row["feed"], row["packets"], {name: row[name] for name in names}, row["skew"])
        for (source, _), each in sorted(groups.items())
        if source == busiest
        for row in each
        for at in (row["ts_minute"],)
    )
    return Delays(busiest, minutes, feeds)


def _feed_order(key: tuple[str, str]) -> tuple[int, str, str]:
    return *source_order(key[0]), key[1]


def _feed(source: str, feed: str, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> FeedDelay:
    figures = {name: _mean(rows, name) if name.endswith("p50") else _worst(rows, name) for name in names}
    return FeedDelay(source, feed, sum(row["packets"] for row in rows), figures, _mean(rows, "skew"))


def _mean(rows: Sequence[dict[str, Any]], name: str) -> int | None:
    known = [(row[name], row["packets"]) for row in rows if row[name] is not None]
    weight = sum(packets for _, packets in known)
    return round(sum(value * packets for value, packets in known) / weight) if weight else None


def _worst(rows: Sequence[dict[str, Any]], name: str) -> int | None:
    return max((row[name] for row in rows if row[name] is not None), default=None)


@dataclass(frozen=True)
class ReportFacts:
    built: BuildFacts
    health: Health
    activity: Activity
    prices: PriceChart | None
    depth: DepthChart | None
    auctions: AuctionChart
    delays: Delays


def gather(lake: Lake, wanted: date | None = None, symbol: str | None = None) -> ReportFacts:
    day = open_day(lake, wanted)
    done = activity(day)
    shown = _shown(day, done, symbol)
    return ReportFacts(
        built(day), health(day), done,
        None if shown is None else prices(day, shown),
        None if shown is None else depth(day, shown),
        auctions(day, None if shown is None else shown.symbol),
        delays(day),
    )  # fmt: skip


def _shown(day: Day, done: Activity, symbol: str | None) -> Traded | None:
    """The instrument whose prices are drawn: the one asked for, or the most traded."""
    if symbol is None:
        return done.most_traded[0] if done.most_traded else None
    for each in done.most_traded:
        if each.symbol == symbol:
            return each
    rows = day.rows("daily", ["security_id", "source"], [("symbol", "=", symbol)])
    if not rows:
        raise LakeError(f"{symbol} has no row in daily on {day.date}")
    first, nothing = rows[0], (None,) * 6
    return Traded(symbol, first["security_id"], first["source"], 0, 0, None, None, False, *nothing)
