"""Several trading days on one page: a row a day, the totals of all, and what is to be said of them.

report = make_span_report("lake", date(2026, 11, 16), date(2026, 11, 22))
report.html, report.summary
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.lake.quant.calendar import trading_days
from pregao.report.charts.days import DayValue, day_chart
from pregao.report.gathering.activity import activity
from pregao.report.gathering.built import Day, dates_of
from pregao.report.gathering.health import Health, health
from pregao.report.markup import (
    NOTHING,
    Child,
    Markup,
    compact,
    count,
    figure,
    label,
    money,
    nothing,
    of,
    section,
    share,
    table,
    tag,
    tiles,
    verdict,
)
from pregao.report.page import ReportPage, document, open_lake
from pregao.report.summary import DayVerdict, ReportSummary, verdict_of

MOST_DAYS: Final = 366
_LEVELS: Final = ("good", "warn", "bad")  # from the best to the worst
_NAMED: Final = 3  # days that a verdict names


class DayFigures(NamedTuple):
    """What is kept of a day: numbers, so that a year of days is small."""

    day: date
    verdict: DayVerdict
    packets: int
    lost_a: int | None  # None: nobody captured this feed
    lost_b: int | None
    lost: int
    gaps: int
    stale: int
    unhealed: int
    matches: int
    compared: int
    agreeing: int
    judged: int  # instruments whose day was compared with B3's figures
    errors: int
    messages: int
    trades: int
    instruments: int
    amounts: tuple[tuple[str | None, Decimal], ...]  # by currency


@dataclass(frozen=True)
class SpanFacts:
    uri: str
    version: int
    first: date
    last: date
    days: tuple[DayFigures, ...]
    missing: tuple[date, ...]  # trading days that the lake does not have

    def total(self, name: str) -> int:
        """Of a figure; a feed that was not captured on a day adds nothing."""
        return sum(getattr(each, name) or 0 for each in self.days)

    def lost_on(self, name: str) -> int | None:
        known = [lost for each in self.days if (lost := getattr(each, name)) is not None]
        return sum(known) if known else None

    @property
    def amounts(self) -> tuple[tuple[str | None, Decimal], ...]:
        """Dollars are not added to reais."""
        sums: dict[str | None, Decimal] = {}
        for currency, amount in (pair for each in self.days for pair in each.amounts):
            sums[currency] = sums.get(currency, Decimal(0)) + amount
        return tuple(sorted(sums.items(), key=lambda pair: -pair[1]))


def gather_span(lake: Lake, first: date, last: date) -> SpanFacts:
    if last < first or (last - first).days >= MOST_DAYS:
        raise LakeError(
            f"from {first} to {last}: a report is of 1 to {MOST_DAYS} days, the first before the last"
        )
    known = dates_of(lake)
    wanted = [each for each in known if first <= each <= last]
    if not wanted:
        there = ", ".join(map(str, known[-10:])) or "none"
        raise LakeError(f"{lake.location.uri} has no trade date from {first} to {last}; there are {there}")
    missing = tuple(day for day in trading_days(first, last) if day not in wanted)
    days = tuple(_figures(Day(lake, each)) for each in wanted)
    return SpanFacts(lake.location.uri, lake.version.number, first, last, days, missing)


def _figures(day: Day) -> DayFigures:
    found, done = health(day), activity(day)
    return DayFigures(
        day.date, verdict_of(found), sum(feed.packets for feed in found.feeds), found.lost_on("A"),
        found.lost_on("B"), found.lost, found.gaps, found.stale, found.unhealed, found.matches,
        found.compared, found.agreeing, found.agreeing + found.differing, _errors(found),
        done.all_messages, done.all_trades, done.instruments, done.amounts,
    )  # fmt: skip


def _errors(found: Health) -> int:
    return found.mismatches + found.unexplained + found.errors


# What is to be said of all


def verdict_of_span(found: SpanFacts) -> DayVerdict:
    """As bad as its worst day; a trading day that is not there is not complete either."""
    worst = max((_LEVELS.index(each.verdict.level) for each in found.days), default=0)
    complete = sum(each.verdict.level == "good" for each in found.days)
    sentences = [f"{complete:,} of {of(len(found.days), 'day')} complete"]
    for level in ("bad", "warn"):
        mine = [each for each in found.days if each.verdict.level == level]
        sentences += [
            f"{each.day}: {each.verdict.head} {each.verdict.rest.rstrip('.')}" for each in mine[:_NAMED]
        ]
        if len(mine) > _NAMED:
            sentences.append(f"and {of(len(mine) - _NAMED, 'day')} more like these")
    if found.missing:
        named = ", ".join(map(str, found.missing[:_NAMED])) + (", …" if len(found.missing) > _NAMED else "")
        sentences.append(f"{of(len(found.missing), 'trading day')} not in this lake ({named})")
        worst = max(worst, 1)
    heads = ("Complete:", "Not all is there:", "Look closer:")
    return DayVerdict(_LEVELS[worst], heads[worst], "; ".join(sentences) + ".")


def summarise_span(found: SpanFacts) -> ReportSummary:
    title = f"{found.first} to {found.last} · lake version {found.version} · {found.uri}"
    lines = [
        (str(each.day), f"{each.verdict.head} {of(each.messages, 'message')}, {of(each.trades, 'trade')}")
        for each in found.days
    ]
    lines += [
        ("trading days not in this lake", ", ".join(map(str, found.missing)) or "none"),
        ("packets", count(found.total("packets"))),
        ("lost on A / B / both", " / ".join(_lost(found, name) for name in ("lost_a", "lost_b", "lost"))),
        ("gaps that no feed could fill", count(found.total("gaps"))),
        ("books gone stale, not healed", f"{count(found.total('stale'))}, {count(found.total('unhealed'))}"),
        ("books equal to B3's snapshots", _part(found.total("matches"), found.total("compared"))),
        ("days equal to B3's figures", _part(found.total("agreeing"), found.total("judged"))),
        ("messages, trades", f"{count(found.total('messages'))}, {count(found.total('trades'))}"),
        ("amount", _amounts(found.amounts)),
    ]
    return ReportSummary(title, verdict_of_span(found), tuple(lines))


def _lost(found: SpanFacts, name: str) -> str:
    lost = found.lost_on(name)
    return "not captured" if lost is None else count(lost)


def _part(part: int, whole: int) -> str:
    return f"{share(part, whole)} ({count(part)} of {count(whole)})" if whole else "nothing to compare"


def _amounts(amounts: Iterable[tuple[str | None, Decimal]]) -> str:
    return " and ".join(money(amount, currency) for currency, amount in amounts) or NOTHING


# The page

_HEAD: Final = (
    "trade date", "", "messages", "trades", "instruments", "amount", "packets", "lost on A", "lost on B",
    "lost on both", "gaps", "books stale", "not healed", "books equal to B3's", "days equal to B3's",
    "errors",
)  # fmt: skip
_NUMBERS: Final = "llrrrrrrrrrrrrrr"
_WORDS: Final = {"good": "complete", "warn": "not all", "bad": "look closer"}


def span_page(found: SpanFacts) -> str:
    title = f"Pregão: {found.first} to {found.last}"
    parts = (_days(found), _charts(found), _said(found.days))
    return document(title, found.version, _header(found), tag("main", *parts))


def _header(found: SpanFacts) -> Markup:
    where = f"{found.uri} · lake version {found.version}"
    amounts = [money(amount, currency) for currency, amount in found.amounts]
    return tag(
        "header",
        tag("p", "Pregão · trading days of B3", class_="kicker"),
        tag("h1", f"{found.first} to {found.last}"),
        tag("p", where, class_="kicker"),
        tiles(
            ("Trading days", count(len(found.days)), f"{count(len(found.missing))} not in this lake"),
            ("Messages", compact(found.total("messages")), of(found.total("packets"), "packet")),
            ("Trades", compact(found.total("trades")), f"in {of(len(found.days), 'day')}"),
            ("Amount traded", amounts[0] if amounts else NOTHING, ", ".join(amounts[1:]) or "of all days"),
        ),
    )  # fmt: skip


def _days(found: SpanFacts) -> Markup:
    rows = [_row(str(each.day), _mark(each.verdict), each, each.amounts) for each in found.days]
    rows += [
        [str(day), label("warn", "not in this lake"), *[NOTHING] * (len(_HEAD) - 2)] for day in found.missing
    ]
    rows.sort(key=lambda row: str(row[0]))
    whole = verdict_of_span(found)
    feeds = {name: found.lost_on(name) for name in ("lost_a", "lost_b")}
    sums: dict[str, Any] = {name: found.total(name) for name in DayFigures._fields[2:-1]} | feeds
    all_days = DayFigures(found.last, whole, **sums, amounts=found.amounts)
    rows.append(_row("all", _mark(whole), all_days, found.amounts))
    note = "A row for each trade date. Instruments are counted once a day; sums of money by currency."
    made = table(_HEAD, rows, caption="Day by day", numbers=_NUMBERS)
    return section("days", "Day by day", note, verdict(*whole), made)


def _mark(judged: DayVerdict) -> Markup:
    return label({"good": "calm"}.get(judged.level, judged.level), _WORDS[judged.level])


def _row(
    name: str, mark: Markup, each: DayFigures, amounts: Sequence[tuple[str | None, Decimal]]
) -> list[Child]:
    lost = ("not captured" if number is None else count(number) for number in (each.lost_a, each.lost_b))
    figures = (each.lost, each.gaps, each.stale, each.unhealed)
    return [
        name, mark, count(each.messages), count(each.trades), count(each.instruments), _amounts(amounts),
        count(each.packets), *lost, *map(count, figures), f"{count(each.matches)} of {count(each.compared)}",
        f"{count(each.agreeing)} of {count(each.judged)}", count(each.errors),
    ]  # fmt: skip


def _charts(found: SpanFacts) -> Markup:
    """One below the other, with the same place for each day. Money is that of the currency that has most."""
    currency = found.amounts[0][0] if found.amounts else None
    figures: list[tuple[str, str, str, Callable[[DayFigures], tuple[float, str]]]] = [
        ("messages", "Messages a day", "messages", lambda day: (day.messages, of(day.messages, "message"))),
        ("trades", "Trades a day", "trades", lambda day: (day.trades, of(day.trades, "trade"))),
        ("lost", "Packets lost on both feeds", "lost", lambda day: (day.lost, of(day.lost, "packet"))),
    ]  # fmt: skip
    if found.amounts:

        def traded(day: DayFigures) -> tuple[float, str]:
            amount = dict(day.amounts).get(currency, Decimal(0))
            return float(amount), money(amount, currency)

        title = f"Amount traded a day, {currency or 'no currency told'}"
        figures.insert(2, ("amounts", title, "volume", traded))
    known = {each.day: each for each in found.days}
    drawn = []
    for key, title, class_, figure_of in figures:
        values = [
            DayValue(day, *figure_of(known[day])) if day in known else DayValue(day, None, "not in this lake")
            for day in sorted({*known, *found.missing})
        ]
        chart = day_chart(values, key=f"days-{key}", title=title, class_=class_)
        drawn.append(figure(chart, caption=title))
    return section("charts", "The days beside each other", "", *drawn)


def _said(days: Sequence[DayFigures]) -> Markup:
    rows = [(str(each.day), _mark(each.verdict), f"{each.verdict.head} {each.verdict.rest}") for each in days]
    made = table(("trade date", "", "verdict"), rows, caption="What is to be said of each day", numbers="lll")
    note = "For the charts of a day: pregao report --date with that date."
    return section("verdicts", "Verdicts", note, made if rows else nothing("No day."))


def make_span_report(
    path: str, first: date, last: date, *, as_of: int | None = None, system: str | None = None
) -> ReportPage:
    """Of all trade dates of the lake from the first to the last."""
    found = gather_span(open_lake(path, as_of, system), first, last)
    return ReportPage(span_page(found), summarise_span(found))
