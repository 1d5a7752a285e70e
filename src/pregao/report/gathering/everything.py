"""All that a report tells."""

from dataclasses import dataclass
from datetime import date

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.report.gathering.activity import Activity, Traded, activity
from pregao.report.gathering.auction import Auctions, auctions
from pregao.report.gathering.built import Built, built
from pregao.report.gathering.day import Day, open_day
from pregao.report.gathering.delays import Delays, delays
from pregao.report.gathering.depth import Depth, depth
from pregao.report.gathering.health import Health, health
from pregao.report.gathering.prices import Prices, prices


@dataclass(frozen=True)
class Findings:
    built: Built
    health: Health
    activity: Activity
    prices: Prices | None
    depth: Depth | None
    auctions: Auctions
    delays: Delays


def gather(lake: Lake, wanted: date | None = None, symbol: str | None = None) -> Findings:
    day = open_day(lake, wanted)
    done = activity(day)
    shown = _shown(day, done, symbol)
    return Findings(
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
    rows = day.rows("daily", ["security_id", "channel"], [("symbol", "=", symbol)])
    if not rows:
        raise LakeError(f"{symbol} has no row in daily on {day.date}")
    first, nothing = rows[0], (None,) * 6
    return Traded(symbol, first["security_id"], first["channel"], 0, 0, None, None, False, *nothing)
