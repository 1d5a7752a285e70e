"""The report in a few lines: names and values, which the terminal may show as it likes."""

from typing import NamedTuple

from pregao.lake.book_at import source_text
from pregao.report.gathering.built import source_word
from pregao.report.gathering.everything import ReportFacts
from pregao.report.gathering.health import Health
from pregao.report.markup import NOTHING, clock, count, duration, money, of, price, share

# One sentence on the health of a day: the same on the page and in the terminal.


class DayVerdict(NamedTuple):
    level: str  # good, warn, bad
    head: str
    rest: str


def verdict_of(health: Health) -> DayVerdict:
    """Bad: something is wrong that no loss explains. Warn: something is missing, and is marked; or nobody can
    know whether it is, which is not complete either."""
    wrong = [
        of(number, what, many)
        for number, what, many in (
            (health.mismatches, "book differs from B3's snapshot", "books differ from B3's snapshots"),
            (health.unexplained, "figure differs from B3's for no known reason", "figures differ from B3's"),
            (health.errors, "other finding is an error", "other findings are errors"),
        )
        if number
    ]
    if wrong:
        return DayVerdict("bad", "Look closer:", "; ".join(wrong) + ".")
    if not health.feeds:
        return DayVerdict("warn", "Nothing to judge:", "there is no packet of the incremental stream.")
    missing = ""
    if health.lost or health.gaps or health.stale:
        gaps = f"{of(health.gaps, 'gap')} that no feed could fill ({of(health.lost, 'packet')})"
        missing = f"{gaps}; {_healed(health)}"
    if health.unknown:
        unknown = f"{_unknown(health)}; {missing or _arrived(health)}"
        return DayVerdict("warn", "Not all is known:", f"{unknown}{_proof(health)}.")
    if missing:
        return DayVerdict("warn", "Complete but for what is marked:", f"{missing}{_proof(health)}.")
    return DayVerdict("good", "Complete:", f"{_arrived(health)}{_proof(health)}.")


def _unknown(health: Health) -> str:
    whole = f"{of(health.unknown, 'book')} of {health.books:,}"
    return f"nothing tells what {whole} held before the captures began"


def _arrived(health: Health) -> str:
    if health.absent_feeds:
        other = "B" if "A" in health.absent_feeds else "A"
        return f"every packet came on {other}, the only feed that was captured"
    return "every packet came on one feed or the other"


def _healed(health: Health) -> str:
    """A book counts as often as it went stale."""
    stale = f"{of(health.stale, 'book')} went stale"
    if not health.stale:
        return "no book went stale"
    if not health.unhealed:
        return f"{stale}, all healed"
    return f"{stale}, {health.heals:,} healed, {health.unhealed:,} not until the end"


def _proof(health: Health) -> str:
    if not health.compared:
        return f"; {loops_without_comparison(health)}"
    equal = share(health.matches, health.compared)
    return f"; {equal} of {of(health.compared, 'book')} compared equal B3's snapshots"


def loops_without_comparison(health: Health) -> str:
    if health.telling_loops:
        return f"{of(health.telling_loops, 'snapshot loop')} told the books, none was left to compare with"
    return "no snapshot to compare with"


_MOST = 3


class ReportSummary(NamedTuple):
    title: str
    verdict: DayVerdict
    lines: tuple[tuple[str, str], ...]


def summarise(found: ReportFacts) -> ReportSummary:
    built = found.built
    title = f"{built.trade_date} · lake version {built.version} · {built.uri}"
    lines = [*_health(found), *_market(found), *_latency(found)]
    return ReportSummary(title, verdict_of(found.health), tuple(lines))


def _health(found: ReportFacts) -> list[tuple[str, str]]:
    health = found.health
    packets = sum(feed.packets for feed in health.feeds)
    lost = (health.lost_on("A"), health.lost_on("B"), health.lost)
    compared = health.agreeing + health.differing
    gaps = f"{count(health.gaps)} ({of(health.lost, 'packet')})"
    stale = f"{count(health.stale)}, {count(health.heals)}"
    proof = f"{_part(health.matches, health.compared)} in {of(health.loops, 'loop')}"
    days = _part(health.agreeing, compared)
    if health.differing:
        others = "the others miss messages" if not health.unexplained else "the others differ"
        days = f"{days}; {others}"
    return [
        (
            "packets",
            f"{count(packets)} on {of(len(health.feeds), source_word(each.source for each in health.feeds))}",
        ),
        ("lost on A / B / both", " / ".join(_lost(each, packets) for each in lost)),
        ("gaps that no feed could fill", gaps),
        ("books gone stale, healed", stale),
        ("books never told whole", _part(health.unknown, health.books) if health.unknown else "0"),
        ("books equal to B3's snapshots", proof if health.compared else loops_without_comparison(health)),
        ("days equal to B3's figures", days),
    ]


def _lost(packets: int | None, whole: int) -> str:
    if packets is None:
        return "not captured"
    return f"{count(packets)} ({share(packets, whole)})" if packets else "0"


def _part(part: int, whole: int) -> str:
    return f"{share(part, whole)} ({count(part)} of {count(whole)})" if whole else "nothing to compare"


def _market(found: ReportFacts) -> list[tuple[str, str]]:
    done = found.activity
    lines = [
        ("messages, trades", f"{count(done.all_messages)}, {count(done.all_trades)}"),
        ("instruments traded, amount", f"{count(done.instruments)}, {_amounts(found)}"),
    ]
    if done.messages:
        at, number = max(done.messages, key=lambda each: each[1])
        lines.append(("busiest minute", f"{clock(at)} with {of(number, 'message')}"))
    for place, each in enumerate(done.most_traded[:_MOST]):
        figures = (
            f"{money(each.amount, each.currency)} in {of(each.trades, 'trade')}, last {price(each.last)}"
        )
        lines.append(("most traded" if not place else "", f"{each.symbol}: {figures}"))
    all_ = sum(number for number, _ in found.auctions.by_kind.values())
    done_ = sum(number for _, number in found.auctions.by_kind.values())
    return [*lines, ("auctions, uncrossed, extended", f"{all_:,}, {done_:,}, {found.auctions.extended:,}")]


def _amounts(found: ReportFacts) -> str:
    return " and ".join(money(amount, currency) for currency, amount in found.activity.amounts) or NOTHING


def _latency(found: ReportFacts) -> list[tuple[str, str]]:
    mine = [feed for feed in found.delays.feeds if feed.source == found.delays.source]
    if not mine:
        return []
    medians = " / ".join(f"{feed.feed} {duration(feed.figures['send_to_receive_p50'])}" for feed in mine)
    return [(f"send to receive, median, {source_text(found.delays.source or '')}", medians)]
