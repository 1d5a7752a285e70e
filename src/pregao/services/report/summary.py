"""The report in a few lines: names and values, which the terminal may show as it likes."""

from typing import NamedTuple

from pregao.services.report.gathering.everything import Findings
from pregao.services.report.numbers import clock, compact, count, duration, of, price, share
from pregao.services.report.verdicts import Verdict, verdict_of


class Summary(NamedTuple):
    title: str
    verdict: Verdict
    lines: tuple[tuple[str, str], ...]


def summarise(found: Findings) -> Summary:
    built = found.built
    title = f"{built.trade_date} · lake version {built.version} · {built.uri}"
    lines = [*_health(found), *_market(found), *_latency(found)]
    return Summary(title, verdict_of(found.health), tuple(lines))


def _health(found: Findings) -> list[tuple[str, str]]:
    health = found.health
    packets = sum(feed.packets for feed in health.feeds)
    lost_a, lost_b = (sum(getattr(feed, name) for feed in health.feeds) for name in ("lost_a", "lost_b"))
    compared = health.agreeing + health.differing
    stale = f"{count(health.gaps)}, {count(health.stale)}, {count(health.heals)}"
    return [
        ("packets", f"{count(packets)} on {of(len(health.feeds), 'channel')}"),
        ("lost on A / B / both", f"{count(lost_a)} / {count(lost_b)} / {count(health.lost)}"),
        ("gaps, books gone stale, heals", stale),
        ("books equal to B3's snapshots", _part(health.matches, health.compared)),
        ("days equal to B3's figures", _part(health.agreeing, compared)),
    ]


def _part(part: int, whole: int) -> str:
    return f"{share(part, whole)} ({count(part)} of {count(whole)})" if whole else "nothing to compare"


def _market(found: Findings) -> list[tuple[str, str]]:
    done = found.activity
    lines = [
        ("messages, trades", f"{count(done.all_messages)}, {count(done.all_trades)}"),
        ("instruments traded, amount", f"{count(done.instruments)}, {compact(done.amount)}"),
    ]
    if done.messages:
        at, number = max(done.messages, key=lambda each: each[1])
        lines.append(("busiest minute", f"{clock(at)} with {of(number, 'message')}"))
    if done.most_traded:
        first = done.most_traded[0]
        told = f"{compact(first.amount)} in {of(first.trades, 'trade')}, last {price(first.last)}"
        lines.append(("most traded", f"{first.symbol}: {told}"))
    all_ = sum(number for number, _ in found.auctions.by_kind.values())
    done_ = sum(number for _, number in found.auctions.by_kind.values())
    return [*lines, ("auctions, uncrossed, extended", f"{all_:,}, {done_:,}, {found.auctions.extended:,}")]


def _latency(found: Findings) -> list[tuple[str, str]]:
    mine = [feed for feed in found.delays.feeds if feed.channel == found.delays.channel]
    if not mine:
        return []
    told = " / ".join(f"{feed.feed} {duration(feed.figures['send_to_receive_p50'])}" for feed in mine)
    return [(f"send to receive, median, channel {found.delays.channel}", told)]
